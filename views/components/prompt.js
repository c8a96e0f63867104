const drafts = new WeakMap(); // root -> timer, what was cleared last
// What was typed outlives a reload of the page in this tab; the server has forgotten it then.
const KEY = "pagewalk-draft";
const remember = (draft) => { try { if (draft.text) sessionStorage.setItem(KEY, JSON.stringify(draft)); else sessionStorage.removeItem(KEY); } catch { /* a browser that keeps nothing */ } };
const recall = () => { try { return JSON.parse(sessionStorage.getItem(KEY)); } catch { return null; } };

function present({ data, parentElement, setStateValue, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  head(root, data.words.title, data.words.language_hint);
  const state = drafts.get(root) ?? build(root, data);
  const { area, chat, raw, special, max_tokens, temperature, seed, add, here } = state.fields;
  if (data.cleared > state.cleared) { state.cleared = data.cleared; area.value = ""; remember({}); area.focus({ preventScroll: true }); }
  const draft = () => ({ text: area.value, mode: raw.checked ? "raw" : "chat", allow_special: special.checked, max_tokens: max_tokens.value, temperature: temperature.value, seed: seed.value });
  const tell = (wait) => { remember(draft()); clearTimeout(state.timer); state.timer = setTimeout(() => setStateValue("draft", draft()), wait); };
  area.oninput = () => tell(150);
  for (const field of [chat, raw, special]) field.onchange = () => tell(0);
  for (const field of [max_tokens, temperature, seed]) field.oninput = () => tell(300);
  const send = () => { if (!add.disabled) { clearTimeout(state.timer); setTriggerValue("added", draft()); } };
  add.onclick = send;
  here.onclick = () => { clearTimeout(state.timer); setTriggerValue("added_here", draft()); };
  area.onkeydown = (e) => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) { send(); e.preventDefault(); } };
  add.disabled = !data.can_add;
  if (state.isRecalled) { state.isRecalled = false; tell(0); }
  words(root, data);
  show(root, data);
}

function build(root, data) {
  const area = el("textarea"), field = (type, name) => { const i = el("input"); i.type = type; if (name) i.name = name; return i; };
  const option = (input, cls) => { const l = el("label", cls); l.append(input, el("span")); return l; };
  const chat = field("radio", "mode"), raw = field("radio", "mode"), special = field("checkbox");
  const max_tokens = field("text"), temperature = field("text"), seed = field("text"), add = el("button", "add"), here = actButton("here"); add.type = "button";
  max_tokens.inputMode = seed.inputMode = "numeric"; temperature.inputMode = "decimal"; area.rows = 3; area.spellcheck = false;
  const recalled = data.draft.text ? null : recall(), draft = { ...data.draft, ...recalled };
  area.value = draft.text; (draft.mode === "raw" ? raw : chat).checked = true; special.checked = draft.allow_special;
  max_tokens.value = draft.max_tokens; temperature.value = draft.temperature; seed.value = draft.seed;
  const modes = el("div", "modes"), numbers = el("div", "numbers"), bottom = el("div", "bottom");
  attr(modes, "role", "radiogroup"); modes.append(option(chat, "mode"), option(raw, "mode"), el("span", "quiet"));
  numbers.append(option(max_tokens, "number"), option(temperature, "number"), option(seed, "number"), el("div", "problems"));
  const label = el("label", "area"); label.append(el("span", "sr"), area);
  bottom.append(numbers, el("span", "where"), here, add);
  // What one does, and what one reads of it: the button stays where it is while the tokens grow.
  const form = part(root, "form"), write = part(form, "write"), read = part(form, "read");
  write.append(label, modes, option(special, "special"), part(write, "warning"), bottom);
  const state = { write, read, fields: { area, chat, raw, special, max_tokens, temperature, seed, add, here }, cleared: data.cleared, modes, isRecalled: Boolean(recalled) };
  drafts.set(root, state);
  return state;
}

function words(root, { words: w }) {
  const { fields: { area, chat, raw, special, max_tokens, temperature, seed, add }, modes } = drafts.get(root);
  say(root.querySelector(".area .sr"), w.label); attr(area, "placeholder", w.placeholder); attr(modes, "aria-label", w.mode);
  say(chat.nextSibling, w.mode_chat); say(raw.nextSibling, w.mode_raw); say(modes.lastChild, raw.checked ? w.mode_raw_hint : w.mode_chat_hint);
  say(special.nextSibling, w.special);
  say(max_tokens.nextSibling, w.max_tokens); say(temperature.nextSibling, w.temperature); say(seed.nextSibling, w.seed);
  attr(max_tokens.parentNode, "title", w.max_tokens_hint); attr(temperature.parentNode, "title", w.temperature_hint); attr(seed.parentNode, "title", w.seed_hint);
  say(add, w.add); attr(add, "title", w.add_hint);
}

function show(root, data) {
  const { fields, write, read } = drafts.get(root), count = part(read, "count"); say(count, data.count); attr(count, "data-error", data.error);
  attr(count, "aria-live", "polite");
  say(root.querySelector(".where"), data.where ?? ""); offer(fields.here, data.here);
  const wrong = data.problems ?? {};
  for (const name of ["max_tokens", "temperature", "seed"]) {
    attr(fields[name], "aria-invalid", wrong[name] ? "true" : null); attr(fields[name], "aria-describedby", wrong[name] ? `wrong-${name}` : null);
  }
  const problems = root.querySelector(".problems"); attr(problems, "aria-live", "polite");
  sync(problems, Object.entries(wrong), () => el("p"), (node, [name, sentence]) => { node.id = `wrong-${name}`; say(node, sentence); });
  const warning = part(write, "warning"); say(warning, data.warning ?? ""); attr(warning, "aria-live", "polite");
  const pieces = part(read, "pieces"); say(part(read, "legend-bytes"), data.legend_bytes ?? "");
  sync(pieces, data.pieces, () => el("span", "token"), (node, piece, i) => {
    if (piece.end !== undefined) { node.className = "cut"; say(node, ""); delete node.dataset.drawn; node.removeAttribute("title"); return; }
    if (piece.more) { node.className = "quiet"; say(node, piece.more); delete node.dataset.drawn; return; }
    node.className = "token"; draw(node, piece.drawn); attr(node, "data-kind", piece.special ? "special" : null);
    attr(node, "title", fill(data.words.token, { i: piece.i, id: piece.id }) + (piece.shared ? `, ${fill(data.words.piece, { whole: piece.shared })}` : ""));
  });
}
