function present({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root"), open = (name) => setTriggerValue("lesson", name);
  const go = part(root, "go", "button"); go.type = "button"; say(go, data.go); go.hidden = !data.first; go.onclick = () => setTriggerValue("resumed", true);
  remember(data, setTriggerValue);
  sync(part(root, "parts"), data.parts, () => { const s = el("section"); s.append(el("h2"), el("div", "cards")); return s; }, (section, { title, cards }) => {
    say(section.firstChild, title);
    sync(section.lastChild, cards, makeCard, (node, card) => {
      const [number, words, beside] = node.children;
      say(number, String(card.number)); say(words.children[0], card.title); say(words.children[1], card.goal);
      say(beside, card.done ? `✓ ${card.done}` : card.asks); attr(node, "data-done", Boolean(card.done)); attr(node, "data-next", card.is_next);
      node.onclick = () => open(card.name);
    });
  });
  const asked = part(root, "asked", "section");
  say(part(asked, "title", "h2"), data.questions_title);
  sync(part(asked, "questions", "ul"), data.questions, makeQuestion, (li, { text, answer, lessons, threads }) => {
    const [summary, words, where] = li.firstChild.children;
    say(summary, text);
    sync(words, answer, () => el("p"), (p, { spans }) => sync(p, spans, () => el("span"), (node, [kind, shown]) => { attr(node, "class", kind); say(node, shown); }));
    sync(where.firstChild, lessons, () => { const b = el("button", "act"); b.type = "button"; return b; }, (b, [name, word]) => { say(b, word); b.onclick = () => open(name); });
    sync(where.lastChild, threads, () => { const a = el("a"); a.target = "_blank"; a.rel = "noopener"; return a; }, (a, [word, url]) => { say(a, word); attr(a, "href", url); });
  });
}
function makeQuestion() {
  const li = el("li"), details = el("details"), where = el("div", "where");
  where.append(el("span", "lessons"), el("span", "threads")); details.append(el("summary"), el("div", "answer"), where); li.append(details);
  return li;
}
function makeCard() {
  const card = el("button", "card"), words = el("span", "words"); card.type = "button";
  words.append(el("strong"), el("span", "goal")); card.append(el("span", "number"), words, el("span", "quiet"));
  return card;
}
// The browser knows more than this session where its reader comes back without the link.
function remember(data, send) {
  const { done, lesson, chunk } = keptProgress(), bits = doneBits(done);
  if (((bits & ~data.done) || (lesson && !data.knows_place)) && !toldOnce("syllabus")) send("remembered", { done: bits.toString(16), lesson, chunk });
  else if (data.done & ~bits) keepProgress({ done: (bits | data.done).toString(16) });
}
