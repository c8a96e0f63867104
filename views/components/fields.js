const forms = new WeakMap(); // root -> timer, the run whose settings stand in the fields
const TYPING_MS = 150;

function present({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  if (!forms.has(root)) forms.set(root, { timer: 0, run: null });
  const form = forms.get(root), isNew = form.run !== data.run;
  if (isNew) clearTimeout(form.timer);
  Object.assign(form, { run: data.run, timer: isNew ? 0 : form.timer });
  say(root.querySelector(":scope > h2") ?? root.appendChild(el("h2")), data.title);
  sync(part(root, "kinds"), data.kinds, makeKind, (kind, { title, fields }) => {
    say(kind.firstChild, title);
    sync(kind.lastChild, fields, makeField, (node, field) => setField(node, field, data.run, isNew || !form.timer));
  });
  const read = (input) => (input.type === "checkbox" ? input.checked : input.value);
  const tell = () => { form.timer = 0; setTriggerValue("typed", Object.fromEntries([...root.querySelectorAll("input, select")].map((input) => [input.name, read(input)]))); };
  const soon = (ms) => { clearTimeout(form.timer); form.timer = setTimeout(tell, ms); };
  root.oninput = (e) => soon(e.target.type === "text" ? TYPING_MS : 0);
  root.onchange = () => { if (form.timer) soon(0); }; // whoever leaves a field is about to press a button
}

function makeKind() { const kind = el("section", "kind"); kind.append(el("h3"), el("div", "grid")); return kind; }

function makeField() {
  const field = el("div", "field"), label = el("label");
  label.append(el("span", "label"), document.createTextNode(" "), el("span", "name")); // the space: between two words for whoever hears them
  field.append(label, el("input"), el("p", "hint"), el("p", "problem"));
  return field;
}

// What is being typed stays: the server has not heard of it yet.
function setField(node, field, run, mayWrite) {
  const isSwitch = field.kind === "switch", isChoice = field.kind === "choice";
  if (isChoice !== (node.children[1].tagName === "SELECT")) node.children[1].replaceWith(el(isChoice ? "select" : "input"));
  const [label, input, hint, problem] = node.children, id = `${field.key}-${run}`, has = input.name === field.key;
  if (isChoice) sync(input, field.options.map(([key, word]) => ({ key, word })), () => el("option"), (option, { key, word }) => { option.value = key; say(option, word); });
  if (!has && isChoice) input.name = field.key;
  else if (!has) { input.type = isSwitch ? "checkbox" : "text"; input.name = field.key; attr(input, "role", isSwitch ? "switch" : null); if (!isSwitch) { input.inputMode = "numeric"; input.autocomplete = "off"; } }
  input.id = id; label.htmlFor = id; hint.id = `${id}-hint`; problem.id = `${id}-problem`;
  say(label.firstChild, field.label); say(label.lastChild, field.name); say(hint, field.hint); say(problem, field.problem ?? "");
  if (isSwitch) { if (!has || mayWrite) input.checked = field.value; }
  else if ((!has || mayWrite) && input.value.trim() !== field.value) input.value = field.value;
  attr(input, "data-changed", field.changed); attr(input, "aria-invalid", field.problem ? "true" : null);
  attr(input, "aria-describedby", field.problem ? `${id}-problem ${id}-hint` : `${id}-hint`); attr(problem, "role", "status");
}
