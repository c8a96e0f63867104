// A lesson: one text, its question or the answer to it, and the way on. Enter goes on, Backspace back.
const EDITED = "textarea, select, input, [contenteditable=true], [role=textbox]";
const reader = { send: null, data: null };

function present({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  Object.assign(reader, { send: setTriggerValue, data, root });
  heading(root, data);
  const marks = part(root, "marks");
  attr(marks, "role", "group"); attr(marks, "aria-label", data.words.marks);
  sync(marks, data.marks, () => { const b = el("button", "mark"); b.type = "button"; return b; }, (node, mark, i) => {
    attr(node, "data-kind", mark.split(" ")[0]); attr(node, "aria-current", mark.endsWith("here") ? "step" : null);
    const label = fill(data.words.mark, { n: i + 1, of: data.marks.length, kind: data.mark_words[mark.split(" ")[0]] });
    attr(node, "aria-label", label); attr(node, "title", label);
    node.disabled = i > data.reach; node.onclick = (e) => { turn(i); released(e); };
  });
  rove(marks, ".mark:not(:disabled)");
  const body = part(root, "body");
  if (root.dataset.page !== data.page) { body.scrollTop = 0; root.dataset.page = data.page; }
  const written = part(body, "written", "p"); say(written, data.written); written.hidden = !data.written;
  paragraphs(part(body, "text"), data.text);
  bars(part(body, "bars", "ul"), data.bars);
  verdict(part(body, "verdict", "section"), data.verdict);
  card(part(body, "card", "section"), data, setTriggerValue);
  ending(part(body, "ending", "section"), data.ending);
  change(part(body, "change", "details"), data.change, setTriggerValue);
  sync(part(body, "badges"), data.badges, badge, (node, each) => showBadge(node, each, setTriggerValue));
  ways(part(root, "ways"), data, setTriggerValue);
  link(root, data, setTriggerValue);
  listen();
  keepUp(data.progress, setTriggerValue);
  // The page around follows (theme.py): a text alone takes its width, and on a phone the pool comes to the question.
  const page = document.documentElement;
  attr(page, "data-alone", data.is_alone); attr(root, "data-alone", data.is_alone); attr(page, "data-asks", data.asks_in_pool ? "pool" : null);
  return () => { recalling().delete(data.progress.lesson); attr(page, "data-alone", null); attr(page, "data-asks", null); };
}

// What was answered before, where the link knows only the text; else what is answered now is kept.
const recalling = () => kept("recalling", () => new Map()); // lesson -> whether the server was told, once it has asked
function keepUp({ lesson, chunk, recalls, done, answers, changes }, send) {
  const known = keptProgress(), before = known.answers?.[lesson] ?? {}, forms = known.changes?.[lesson] ?? {};
  if (!recalls) recalling().delete(lesson);
  else if (!recalling().has(lesson)) {
    const hasForms = Object.keys(forms).length > 0, tells = hasForms || Object.keys(before).length > 0;
    recalling().set(lesson, tells);
    if (hasForms) send("repeated", forms); // first: the answers are held against these runs
    if (tells) send("recalled", before);
  }
  if (recalls && recalling().get(lesson)) return; // until it has heard them
  keepProgress({ lesson, chunk, done: (doneBits(known.done) | doneBits(done)).toString(16), answers: { ...known.answers, [lesson]: answers }, changes: { ...known.changes, [lesson]: changes } });
}

function bars(node, list) {
  node.hidden = !list.length;
  sync(node, list, () => { const li = el("li"); li.append(el("b"), el("span", "row"), el("span", "quiet")); li.children[1].append(el("i")); return li; }, (li, bar) => {
    say(li.firstChild, bar.label); say(li.lastChild, bar.words);
    li.children[1].style.width = `${100 * bar.whole}%`; li.children[1].firstChild.style.width = `${(100 * bar.part) / bar.whole}%`;
  });
}

function heading(root, data) {
  head(root, data.head.title, data.head.number);
  attr(root.querySelector(".head"), "data-lesson", "true");
}

const MOST_ON_ONE_LINE = 24; // letters of code

/** A number keeps its counter beside it where no spaces part the words, and short code stays in one line. */
function span(kind, text) {
  if (kind === "code") return el("code", text.length <= MOST_ON_ONE_LINE ? "short" : "", text);
  return el({ strong: "strong", emphasis: "em" }[kind] ?? "span", "", text.replace(/(\d) (?=[\u3040-\u30ff\u4e00-\u9fff])/g, "$1\u00a0"));
}

function paragraphs(parent, list) {
  const key = JSON.stringify(list);
  if (parent.dataset.drawn === key) return;
  parent.dataset.drawn = key; parent.hidden = !list.length;
  const nodes = []; let items = null;
  for (const { kind, spans } of list) {
    const node = el(kind === "item" ? "li" : kind === "heading" ? "h3" : "p");
    node.append(...spans.map(([kind_, text]) => span(kind_, text)));
    if (kind !== "item") { items = null; nodes.push(node); continue; }
    if (!items) { items = el("ul"); nodes.push(items); }
    items.append(node);
  }
  parent.replaceChildren(...nodes);
}

function verdict(node, data) {
  node.hidden = !data; if (!data) return;
  attr(node, "data-kind", data.kind); attr(node, "role", "status");
  paragraphs(part(node, "asked"), data.asked); say(part(node, "found", "strong"), data.title); paragraphs(part(node, "sentence"), data.sentence);
}

function card(node, data, send) {
  const { question } = data;
  node.hidden = !question; if (!question) return;
  const { words } = question;
  attr(node, "aria-label", words.question);
  say(part(node, "label", "strong"), words.question);
  paragraphs(part(node, "asked"), question.text); say(part(node, "how"), question.how);
  const field = part(node, "field", "label"), isNumber = question.kind === "number";
  field.hidden = !isNumber;
  if (!field.firstChild) { const input = el("input", "number"); input.type = "text"; input.inputMode = "decimal"; input.autocomplete = "off"; field.append(el("span", "sr"), input, el("span", "unit")); }
  const [label, input, unit] = field.children;
  say(label, words.answer); say(unit, question.unit);
  if (input.dataset.for !== question.id) { input.dataset.for = question.id; input.value = question.typed; }
  const options = part(node, "options");
  options.hidden = !question.options.length; attr(options, "role", question.kind === "choice" ? "radiogroup" : "group"); attr(options, "aria-label", words.question);
  const isChoice = question.kind === "choice";
  if (options.dataset.for !== question.id) { options.dataset.for = question.id; options.dataset.value = ""; }
  sync(options, question.options, () => { const b = el("button", "option"); b.type = "button"; return b; }, (b, [name, shown]) => {
    say(b, shown); b.className = isChoice ? "option" : "option block";
    const at = question.picks.indexOf(name), isOn = isChoice ? options.dataset.value === String(name) : at >= 0;
    attr(b, "role", isChoice ? "radio" : null); attr(b, isChoice ? "aria-checked" : "aria-pressed", String(isOn)); b.removeAttribute(isChoice ? "aria-pressed" : "aria-checked");
    attr(b, "data-block", isChoice ? null : name); attr(b, "data-state", isChoice ? null : isOn ? "used" : "free");
    b.onclick = (e) => { if (isChoice) { options.dataset.value = String(name); card(node, data, send); } else send("picked", name); released(e); };
  });
  const order = part(node, "order");
  order.hidden = isNumber || isChoice || !question.picks.length;
  say(part(order, "quiet", "span"), question.kind === "order" ? words.your_order : words.answer);
  sync(part(order, "picks", "span"), question.picks, () => { const b = el("button", "block"); b.type = "button"; attr(b, "data-state", "used"); return b; }, (b, id) => {
    say(b, String(id)); attr(b, "data-block", id); attr(b, "title", words.take_back); attr(b, "aria-label", titled(id, words.take_back)); b.onclick = () => send("picked", id);
  });
  const complaint = part(node, "complaint"); say(complaint, question.complaint); attr(complaint, "role", "alert"); complaint.hidden = !question.complaint;
  const row = part(node, "row");
  if (!row.firstChild) { const commit = el("button", "commit"), skip = el("button", "skip"); commit.type = skip.type = "button"; row.append(commit, skip); }
  const [commit, skip] = row.children, given = () => (isNumber ? input.value : isChoice ? options.dataset.value : null);
  const isReady = () => (isNumber ? input.value.trim() !== "" : isChoice ? options.dataset.value !== "" : question.is_ready);
  const allow = () => { commit.disabled = !isReady(); };
  say(commit, words.commit); say(skip, words.skip); attr(skip, "title", words.skip_hint); allow();
  input.oninput = allow; input.onkeydown = (e) => { if (e.key === "Enter" && isReady()) { send("answered", given()); e.preventDefault(); e.stopPropagation(); } };
  commit.onclick = (e) => { if (isReady()) send("answered", given()); released(e); };
  skip.onclick = (e) => { send("skipped", question.id); released(e); };
}

function badge() { const n = el("div", "badge"); n.append(el("a"), el("p", "what"), el("div", "text"), actButton("switch")); return n; }
function showBadge(node, { id, title, what, text, url, switch: swap }, send) {
  const [link_, about, words, button] = node.children;
  say(link_, title); outward(link_, url); say(about, what); paragraphs(words, text); // no text while it would answer a question
  button.hidden = !swap; if (swap) { say(button, swap.word); attr(button, "aria-pressed", String(swap.is_on)); button.onclick = (e) => { send("later", id); released(e); }; }
}
const outward = (node, url) => { attr(node, "href", url); attr(node, "target", "_blank"); attr(node, "rel", "noopener"); };

function change(node, data, send) {
  node.hidden = !data; if (!data) return;
  const { words } = data;
  say(part(node, "what", "summary"), data.is_own ? words.title_own : words.title);
  node.ontoggle = () => { if (node.open) node.scrollIntoView({ block: "nearest" }); };
  const own = part(node, "own", "p"); say(own, data.waits || (data.is_own ? words.own : data.hint)); attr(own, "role", "status"); if (data.waits) node.open = true;
  const anew = node.dataset.for !== data.for;
  if (anew && node.dataset.for && !data.waits) { node.open = false; node.parentElement.scrollTop = 0; } // another run: its text is what to read now
  node.dataset.for = data.for;
  const field = () => { const l = el("label"), i = el("input"); i.type = "text"; i.autocomplete = "off"; i.spellcheck = false; l.append(el("span"), i); return l; };
  const fillIn = (label, name, word, value) => { label.lastChild.name = name; say(label.firstChild, word); if (anew || !label.lastChild.dataset.made) { label.lastChild.value = value; label.lastChild.dataset.made = "1"; } };
  sync(part(node, "settings"), data.settings, field, (label, [name, word, value]) => { fillIn(label, name, word, value); label.lastChild.inputMode = "numeric"; });
  sync(part(node, "texts"), data.requests.flatMap(([id, prompt, output]) => [[`prompts ${id}`, fill(words.prompt, { request: id }), prompt], [`outputs ${id}`, fill(words.output, { request: id }), output]].filter((row) => row[2] !== null)), field, (label, [name, word, value]) => fillIn(label, name, word, value));
  const complaint = part(node, "complaint"); say(complaint, data.complaint); complaint.hidden = !data.complaint; attr(complaint, "role", "alert");
  const row = part(node, "row");
  if (!row.firstChild) { const run = el("button", "commit"), back = el("button", "skip"); run.type = back.type = "button"; row.append(run, back); }
  const [run, back] = row.children; say(run, words.run); say(back, words.recorded); back.hidden = !data.is_own;
  const sent = () => {
    const all = { settings: {}, prompts: {}, outputs: {} };
    node.querySelectorAll(".settings input").forEach((i) => { all.settings[i.name] = i.value; });
    node.querySelectorAll(".texts input").forEach((i) => { const [kind, ...id] = i.name.split(" "); all[kind][id.join(" ")] = i.value; });
    return all;
  };
  run.onclick = (e) => { send("changed", sent()); released(e); };
  back.onclick = (e) => { send("recorded", true); released(e); };
}

function ending(node, data) {
  node.hidden = !data; if (!data) return;
  say(part(node, "sum", "p"), data.sum);
  list(node, "sources", data.sources_title, data.sources); list(node, "threads", data.threads_title, data.threads);
  say(part(node, "questions_title", "h3"), data.questions_title);
  sync(part(node, "questions", "ul"), data.questions, () => { const li = el("li"), d = el("details"); d.append(el("summary"), el("div", "answer"), el("div", "asked_at")); li.append(d); return li; }, (li, { text, answer, threads }) => {
    const [summary, words, where] = li.firstChild.children;
    say(summary, text); paragraphs(words, answer);
    sync(where, threads, () => el("a"), (a, [word, url]) => { say(a, word); outward(a, url); });
  });
}
function list(node, name, title, entries) {
  const heading = part(node, `${name}_title`, "h3"); say(heading, title); heading.hidden = !title;
  sync(part(node, name, "ul"), entries, () => { const li = el("li"); li.append(el("a"), el("span", "quiet")); return li; }, (li, [word, url, beside]) => {
    say(li.firstChild, word); outward(li.firstChild, url); say(li.lastChild, beside ? ` ${beside}` : "");
  });
}

function ways(node, data, send) {
  if (!node.firstChild) { const back = el("button", "way"), next = el("button", "way next"), other = actButton("leave"); back.type = next.type = "button"; node.append(back, next, other); }
  const [back, next, leave] = node.children;
  say(back, data.words.back); say(next, data.next.word); attr(next, "title", data.next.hint); attr(back, "title", data.words.back_hint);
  back.disabled = data.index === 0; attr(next, "aria-disabled", data.next.off ? "true" : null);
  back.onclick = (e) => { turn(data.index - 1); released(e); };
  next.onclick = (e) => { onward(); released(e); };
  say(leave, data.words.leave); leave.onclick = () => send("left_lesson", true);
}
// By the line of pages where it is there; a phone has it in a menu.
function leaveFor(page) {
  const way = [...document.querySelectorAll("a[href]")].find((a) => new URL(a.getAttribute("href"), location.href).pathname.endsWith(`/${page}`));
  const lang = new URLSearchParams(location.search).get("lang");
  if (way) way.click(); else location.assign(new URL(`${page}${lang ? `?lang=${lang}` : ""}`, location.href.replace(/[?#].*/, "")));
}
const motion = () => kept("motion", () => ({})); // of the stage, which the transport plays
function turn(index) { motion().leave?.(); reader.send("turned", index); }
function onward() {
  const { data, send } = reader;
  if (motion().finish?.()) return; // the stage is where this text says before the next begins
  if (data.next.off) { reader.root.querySelector(".card")?.querySelector("input:not([hidden]), .option")?.focus(); return; }
  if (data.next.page) { leaveFor(data.next.page); return; }
  if (data.next.lesson) send("lesson", data.next.lesson); else turn(data.index + 1);
}

function listen() {
  document.addEventListener("keydown", (e) => {
    const target = e.composedPath()[0];
    if (!reader.root?.isConnected || e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || !target.matches || target.matches(EDITED) || document.querySelector("[role=dialog]")) return;
    if (e.key === "Enter" && !target.matches("button, a[href], summary, [role=radio]")) { onward(); e.preventDefault(); }
    else if (e.key === "Backspace" && reader.data.index > 0) { turn(reader.data.index - 1); e.preventDefault(); }
  }, { signal: renewed("lesson") });
}
