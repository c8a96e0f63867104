function present({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root"), open = (name) => setTriggerValue("lesson", name);
  const go = part(root, "go", "button"); go.type = "button"; say(go, data.go); go.hidden = !data.first; go.onclick = () => open(data.first);
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
  sync(part(asked, "questions", "ul"), data.questions, () => { const li = el("li"); li.append(el("span"), el("span", "where")); return li; }, (li, { text, lessons }) => {
    say(li.firstChild, text);
    sync(li.lastChild, lessons, () => { const b = el("button", "act"); b.type = "button"; return b; }, (b, [name, word]) => { say(b, word); b.onclick = () => open(name); });
  });
}
function makeCard() {
  const card = el("button", "card"), words = el("span", "words"); card.type = "button";
  words.append(el("strong"), el("span", "goal")); card.append(el("span", "number"), words, el("span", "quiet"));
  return card;
}
