// A puzzle: its score against the aim, and six prompts whose order and parts are moved by clicks, keys or dragging, and rewritten.
const held = { what: null, focus: null, open: null };

function present({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root"), { words } = data;
  head(root, data.title);
  attr(root, "role", "region"); attr(root, "aria-label", words.page);
  const tabs = part(root, "puzzles"); attr(tabs, "role", "group"); attr(tabs, "aria-label", words.puzzles);
  sync(tabs, data.puzzles, () => { const b = el("button", "tab"); b.type = "button"; b.append(el("b"), el("span")); return b; }, (b, [number, word]) => {
    say(b.children[0], String(number)); say(b.children[1], word); attr(b, "aria-pressed", String(number === data.number)); b.onclick = (e) => { setTriggerValue("puzzle", number); released(e); };
  });
  say(part(root, "task", "p"), data.task); say(part(root, "rules", "p"), data.rules);
  score(part(root, "score"), data.score, words);
  buttons(part(root, "row"), data, setTriggerValue);
  const list = part(root, "prompts", "ol"); attr(list, "aria-label", words.prompts);
  const send = (prompts, focus) => { held.focus = focus; setTriggerValue("arranged", prompts); };
  sync(list, data.prompts, prompt, (node, each, place) => showPrompt(node, each, place, { data, send, write: (...text) => setTriggerValue("written", text), again: { data, parentElement, setTriggerValue } }));
  say(part(root, "move", "p"), words.move);
  link(root, data, setTriggerValue);
  refocus(list);
}

function score(node, found, words) {
  attr(node, "data-solved", found.is_solved);
  const line = part(node, "line");
  if (!line.firstChild) line.append(el("strong", "rate"), el("span", "quiet"), el("span", "quiet known"));
  const [rate, tokens, known] = line.children;
  say(rate, found.shown); attr(rate, "aria-label", titled(words.hits, found.shown)); say(tokens, found.tokens); say(known, found.best_shown);
  const bar = part(node, "bar"); attr(bar, "aria-hidden", "true");
  if (!bar.firstChild) bar.append(el("i", "now"), el("i", "aim"), el("i", "top"), el("span", "aim_word"));
  const [now, aim, top_, word] = bar.children, most = Math.max(found.best, found.target, found.rate) * 1.15;
  now.style.width = `${(100 * found.rate) / most}%`; aim.style.left = word.style.left = `${(100 * found.target) / most}%`; top_.style.left = `${(100 * found.best) / most}%`;
  say(word, words.target);
  const sentence = part(node, "sentence", "p"); attr(sentence, "role", "status"); say(sentence, found.sentence);
}

function prompt() {
  const node = el("li"), line = el("div", "about"), parts = el("div", "parts"), texts = el("div", "texts");
  const name = el("button", "name"), up = actButton("up"), down = actButton("down");
  name.type = "button"; attr(name, "data-select", "request"); say(up, "▲"); say(down, "▼");
  line.append(name, up, down, el("span", "found"), el("span", "out"), el("span", "quiet comes"), el("span", "quiet answer"), actButton("write"));
  attr(parts, "role", "group"); texts.hidden = true; node.append(line, parts, texts);
  return node;
}
function showPrompt(node, each, place, about) {
  const { data, send } = about, [line, parts, texts] = node.children, [name, up, down, found, out, comes, answer, write] = line.children, last = data.prompts.length - 1;
  say(name, each.id); attr(name, "data-request", each.id); say(found, each.found); say(out, each.preempted); out.hidden = !each.preempted; say(comes, each.comes); say(answer, each.answer);
  for (const [button, to, word] of [[up, place - 1, data.words.earlier], [down, place + 1, data.words.later]]) {
    const label = fill(word, { id: each.id }), off = to < 0 || to > last;
    attr(button, "aria-label", label); attr(button, "title", label); attr(button, "aria-disabled", off ? "true" : null);
    button.onclick = (e) => { if (!off) send(moved(arranged(data), place, to), e.detail > 0 ? null : { id: each.id, at: button === up ? ".up" : ".down" }); released(e); };
  }
  drags(name, { row: place }, node, (from) => { if (from.part === undefined && from.row !== place) send(moved(arranged(data), from.row, place)); });
  attr(parts, "aria-label", fill(data.words.parts, { id: each.id }));
  sync(parts, each.parts, chip, (b, one, at) => showPart(b, one, at, { ...about, each, place }));
  const refused = data.refused?.id === each.id ? data.refused : null;
  if (refused) held.open = each.id;
  const label = fill(data.words.write_hint, { id: each.id });
  say(write, data.words.write); attr(write, "aria-label", label); attr(write, "title", label); attr(write, "aria-expanded", String(held.open === each.id));
  write.onclick = (e) => { held.open = held.open === each.id ? null : each.id; present(about.again); if (held.open) texts.querySelector("input")?.focus(); released(e); };
  showTexts(texts, each, refused, about);
}

// One field for each part; Enter or leaving it sends the text, Escape takes back what was typed.
function showTexts(node, each, refused, { data, write }) {
  node.hidden = held.open !== each.id; if (node.hidden) return;
  const field = () => { const l = el("label"), i = el("input"); i.type = "text"; i.autocomplete = "off"; i.spellcheck = false; l.append(el("span", "quiet"), i); return l; };
  sync(part(node, "fields"), each.parts, field, (label, one) => {
    const [word, input] = label.children, said = refused?.part === one.part ? refused.typed : one.text;
    say(word, one.word); attr(input, "data-part", one.part); attr(input, "aria-invalid", refused?.part === one.part ? "true" : null); attr(input, "title", one.words);
    if (input.dataset.for !== `${data.name} ${each.id} ${one.part} ${said}`) { input.dataset.for = `${data.name} ${each.id} ${one.part} ${said}`; input.value = said; }
    const send = () => { if (input.value !== said) write(each.id, one.part, input.value); };
    input.onchange = send;
    input.onkeydown = (e) => { if (e.key === "Escape") { input.value = one.text; if (refused?.part === one.part) write(each.id, one.part, one.text); } if (e.key === "Enter" || e.key === "Escape") e.preventDefault(); if (e.key === "Enter") send(); e.stopPropagation(); };
  });
  const complaint = part(node, "complaint", "p"); complaint.hidden = !refused; attr(complaint, "role", "alert"); say(complaint, refused?.reason ?? "");
  say(part(node, "quiet", "p"), each.room);
}

function chip() { const b = el("button", "part"); b.type = "button"; b.append(el("span", "hit"), el("span", "rest")); return b; }
function showPart(b, one, at, { data, send, each, place }) {
  const [hit, rest] = b.children, of = each.parts.length;
  attr(b, "title", one.word); say(hit, one.text.slice(0, one.num_hit)); say(rest, one.text.slice(one.num_hit)); attr(b, "data-own", one.is_own); attr(b, "data-written", one.is_written); attr(b, "data-part", one.part);
  attr(b, "aria-label", titled(`${fill(data.words.part, { word: one.word, place: at + 1, of, id: each.id })}${one.is_written ? `, ${data.words.written}` : ""}`, one.text));
  const go = (to, keeps) => {
    const prompts = arranged(data); prompts[place][1] = moved(prompts[place][1], at, (to + of) % of);
    send(prompts, keeps ? { id: each.id, at: `[data-part="${one.part}"]` } : null);
  };
  b.onclick = (e) => { go(at + 1, e.detail === 0); released(e); };
  b.onkeydown = (e) => { const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key]; if (by) { if (at + by >= 0 && at + by < of) go(at + by, true); e.preventDefault(); e.stopPropagation(); } };
  drags(b, { row: place, part: at }, b, (from) => { if (from.row === place && from.part !== undefined && from.part !== at) { const prompts = arranged(data); prompts[place][1] = moved(prompts[place][1], from.part, at); send(prompts); } });
}

const arranged = (data) => data.prompts.map((each) => [each.id, each.parts.map((one) => one.part)]);
const moved = (list, from, to) => { const left = [...list], [one] = left.splice(from, 1); left.splice(to, 0, one); return left; };
// `handle` is what is dragged, `target` what it can be let go on.
function drags(handle, what, target, drop) {
  handle.draggable = true;
  handle.ondragstart = (e) => { held.what = what; e.dataTransfer.effectAllowed = "move"; e.dataTransfer.setData("text/plain", handle.textContent); e.stopPropagation(); };
  handle.ondragend = () => { held.what = null; };
  const fits = () => held.what && (held.what.part === undefined ? what.part === undefined : what.part !== undefined && held.what.row === what.row);
  target.ondragover = (e) => { if (!fits()) return; e.preventDefault(); attr(target, "data-over", "true"); };
  target.ondragleave = () => attr(target, "data-over", null);
  target.ondrop = (e) => { attr(target, "data-over", null); if (!fits()) return; e.preventDefault(); e.stopPropagation(); drop(held.what); held.what = null; };
}

function buttons(row, data, send) {
  if (!row.firstChild) for (const name of ["again", "best"]) row.append(actButton(name));
  const [again, best] = row.children, { words } = data;
  say(again, words.again); attr(again, "aria-disabled", data.is_given ? "true" : null); say(best, words.best); attr(best, "title", words.best_hint);
  again.onclick = (e) => { if (!data.is_given) send("begun_again", true); released(e); };
  best.onclick = (e) => { send("best_shown", true); released(e); };
}
// What was moved by a key keeps the focus where it went.
function refocus(list) {
  const wanted = held.focus; if (!wanted) return;
  const row = [...list.children].find((node) => node.querySelector(".name").textContent === wanted.id);
  row?.querySelector(wanted.at)?.focus(); held.focus = null;
}
