const forms = new WeakMap(); // root -> fields, timer

function present({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".root"), state = forms.get(root) ?? build(root, data);
  state.data = data;
  state.send = (wait = 0) => { clearTimeout(state.timer); state.timer = setTimeout(() => setStateValue("sized", typed(state)), wait); };
  lead(root, state); form(state); fields(state); result(root, data);
  write(data);
}

// The form is the browser's: a server's answer never overwrites what is being typed.
function build(root, data) {
  const state = { fields: {}, rows: {}, timer: 0 }, side = el("div", "form"), main = el("div", "main");
  const model = el("select"), config = el("textarea"), file = el("input");
  file.type = "file"; file.accept = ".json,application/json"; file.hidden = true;
  config.rows = 7; config.spellcheck = false;
  Object.assign(state, { side, file, tooLarge: false });
  state.fields.model = model; state.fields.config = config;
  forms.set(root, state); root.append(part(root, "top"), side, main);
  models(model, data);
  shape(state, data);
  put(state, data.inputs);
  listen(state);
  return state;
}

// Their names are in the language of the page.
const models = (select, data) => sync(select, data.models, () => el("option"), (option, [id, name, owner]) => { option.value = id; say(option, owner ? `${name} (${owner})` : name); });

function shape(state, data) {
  const row = (name, field) => {
    const box = el("div", "row"), label = el("label"), holder = el("span", "holder"), hint = el("p", "hint"), error = el("p", "error"), remark = el("p", "remark");
    field.id = `sizing-${name}`; label.htmlFor = field.id; hint.id = `${field.id}-hint`; error.id = `${field.id}-error`; remark.id = `${field.id}-remark`;
    attr(field, "aria-describedby", `${error.id} ${remark.id} ${hint.id}`); attr(remark, "aria-live", "polite"); attr(error, "aria-live", "polite");
    holder.append(field, el("span", "unit")); box.append(label, holder, hint, error, remark);
    state.rows[name] = { box, label, hint, error, remark, unit: holder.lastChild };
    return box;
  };
  const { model, config } = state.fields, open = actButton("open");
  state.open = open; state.configBox = row("config", config); state.configBox.classList.add("wide"); state.rows.config.hint.before(open, state.file);
  const first = row("model", model); first.classList.add("wide");
  state.side.append(first, state.configBox);
  for (const section of data.form) {
    state.side.append(el("h3", "", section.title));
    for (const field of section.fields) {
      const input = el(field.choices ? "select" : "input");
      if (field.choices) for (const choice of field.choices) input.append(el("option", "", choice));
      else { input.type = "text"; input.inputMode = "decimal"; input.autocomplete = "off"; }
      state.fields[field.name] = input; state.side.append(row(field.name, input));
    }
  }
}

function listen(state) {
  const { model, config, ...others } = state.fields;
  model.onchange = () => state.send();
  for (const field of Object.values(others)) field.oninput = () => state.send(field.tagName === "SELECT" ? 0 : 250);
  config.oninput = () => take(state, config.value.length, 400);
  state.open.onclick = () => state.file.click();
  state.file.onchange = () => { read(state, state.file.files[0]); state.file.value = ""; };
  config.ondragover = (e) => e.preventDefault();
  config.ondrop = (e) => { if (e.dataTransfer.files[0]) { e.preventDefault(); read(state, e.dataTransfer.files[0]); } };
}

// What is far too long is not even read, let alone sent.
async function read(state, file) {
  if (!file) return;
  const fits = file.size <= 4 * state.data.most, given = fits ? await file.text() : "";
  if (fits) state.fields.config.value = given;
  take(state, fits ? given.length : Infinity, 0);
}
function take(state, length, wait) {
  state.tooLarge = length > state.data.most;
  fields(state);
  if (!state.tooLarge) state.send(wait);
}

const typed = ({ fields: all }) => Object.fromEntries(Object.entries(all).map(([name, field]) => [name, field.value]));
const put = (state, inputs) => Object.entries(inputs).forEach(([name, value]) => {
  const field = state.fields[name];
  if (field.tagName === "SELECT" && ![...field.options].some((option) => option.value === value)) { const option = el("option", "", value); option.value = value; field.append(option); }
  field.value = value;
});

function lead(root, state) {
  const { data } = state, top = part(root, "top");
  if (!top.childElementCount) {
    const example = actButton("example"), fresh = actButton("fresh");
    example.onclick = () => { put(state, state.data.example); state.tooLarge = false; state.send(); };
    fresh.onclick = () => { put(state, state.data.fresh); state.tooLarge = false; state.send(); };
    top.append(el("h2"), el("span", "quiet"), example, fresh);
  }
  say(top.children[0], data.words.title); say(top.children[1], data.words.lead); say(top.children[2], data.words.example); say(top.children[3], data.words.fresh);
}

function form(state) {
  const { data: { words, form: sections }, rows, fields: { config }, open } = state;
  say(rows.model.label, words.model); say(rows.config.label, words.config); say(open, words.open); attr(config, "placeholder", words.config_hint);
  const titles = state.side.querySelectorAll("h3");
  sections.forEach((section, i) => {
    say(titles[i], section.title);
    for (const field of section.fields) {
      const row = rows[field.name];
      say(row.label, field.label); say(row.hint, field.hint); say(row.unit, field.unit); attr(state.fields[field.name], "placeholder", field.placeholder);
    }
  });
}

function fields(state) {
  models(state.fields.model, state.data);
  const { data: { errors, remarks, words, own, most }, rows, fields: all } = state;
  state.configBox.hidden = all.model.value !== own;
  for (const [name, row] of Object.entries(rows)) {
    const error = name === "config" && state.tooLarge ? fill(words.too_large, { most: most.toLocaleString("en") }) : errors[name] ?? "";
    say(row.error, error); say(row.remark, error ? "" : remarks[name] ?? ""); attr(all[name], "aria-invalid", error ? "true" : null);
  }
}

function result(root, data) {
  const main = root.querySelector(":scope > .main"), found = data.result, waiting = part(main, "waiting"), shown = part(main, "shown");
  attr(waiting, "aria-live", "polite"); say(waiting, found ? "" : data.waiting); attr(shown, "data-stale", !found);
  if (!found) return;
  numbers(part(shown, "numbers"), found.numbers);
  sync(part(shown, "warnings"), found.warnings, () => el("p"), (node, text) => say(node, text));
  bar(part(shown, "gpu"), found.bar);
  const lower = part(shown, "lower"), left = part(lower, "left"), right = part(lower, "right");
  steps(part(left, "box"), found);
  unfolded(part(right, "page"), found.page);
  groups(part(right, "groups"), found.groups);
}

const numbers = (box, all) => sync(box, all, () => { const n = el("div", "number"); n.append(el("span", "label"), el("span", "value"), el("span", "beside")); return n; },
  (node, item) => { attr(node, "data-key", item.key); say(node.children[0], item.label); say(node.children[1], [item.value, item.unit].filter(Boolean).join(" ")); say(node.children[2], item.beside); });

// Memory, a part as wide as its bytes.
function bar(box, data) {
  head(box, data.title, data.beside);
  const track = part(box, "track"), strip = part(track, "strip"), percent = (share) => `${(100 * share).toFixed(3)}%`;
  sync(strip, data.parts, () => el("span", "piece"), (node, item) => { attr(node, "data-key", item.key); attr(node, "title", titled(item.label, item.bytes)); node.style.width = percent(item.share); });
  const budget = part(track, "budget"), end = part(track, "end");
  budget.hidden = data.budget === null; if (data.budget !== null) { budget.style.left = percent(data.budget); say(part(budget, "mark", "span"), data.budget_label); }
  end.hidden = !data.over; end.style.left = percent(data.end); say(part(end, "mark", "span"), data.over);
  attr(track, "data-low", !data.over && data.budget === null);
  sync(part(box, "key"), data.parts, () => { const k = el("span"); k.append(el("i"), el("b"), el("span"), el("span", "quiet")); return k; },
    (node, item) => { attr(node.children[0], "data-key", item.key); say(node.children[1], item.label); say(node.children[2], item.gib); say(node.children[3], item.bytes); });
}

function steps(box, data) {
  head(box, data.steps_title);
  const list = part(box, "steps", "ol");
  sync(list, data.steps, () => { const li = el("li"), line = el("div", "said"); line.append(el("h4"), el("code")); li.append(line, el("div", "lines"), el("p", "note")); return li; },
    (node, step) => {
      say(node.querySelector("h4"), step.title); say(node.querySelector("code"), step.source); say(node.querySelector(".note"), step.note);
      sync(node.querySelector(".lines"), step.lines, () => el("div", "line"), formula);
    });
}
function formula(node, parts) {
  const key = JSON.stringify(parts);
  if (node.dataset.drawn === key) return;
  node.dataset.drawn = key;
  const drawn = parts.map((each, i) => {
    if (typeof each === "string") return el("span", "op", each);
    const term = el("span", `term${i === parts.length - 1 ? " last" : ""}`);
    term.append(el("span", "n", each[0]), el("span", "name", each[1]));
    return term;
  });
  if (drawn.length > 1) { const kept = el("span", "kept"); kept.append(...drawn.splice(-2)); drawn.push(kept); } // never a result without its =
  node.replaceChildren(...drawn);
}

// K and V of one block: a row a token, a column a head.
function unfolded(box, data) {
  head(box, data.title, data.beside);
  const panels = part(box, "panels"); attr(panels, "role", "img"); attr(panels, "aria-label", `${data.token}; ${data.cell}`);
  sync(panels, data.panels, () => { const p = el("div", "panel"); p.append(el("b"), el("div", "cells")); return p; }, (panel, name) => {
    say(panel.firstChild, name);
    const cells = panel.lastChild, names = ["", ...data.columns];
    cells.style.gridTemplateColumns = `auto repeat(${data.columns.length}, minmax(10px, ${data.columns.length === 1 ? 110 : 22}px))`;
    const all = [...names.map((column) => ["axis", column]), ...data.rows.flatMap((row) => names.map((column, i) => i === 0 ? ["axis", row] : row === "…" || column === "…" ? ["gap", ""] : ["cell", ""]))];
    const first = names.length + 1; // the cell of token 0 and head 0
    sync(cells, all, () => el("span"), (node, [cls, said], i) => { const name = i === first ? `${cls} own` : cls; if (node.className !== name) node.className = name; say(node, said); });
    attr(cells, "data-rows", data.rows.length);
  });
  sync(part(box, "facts"), [[`↓ ${data.row}`, data.column && `→ ${data.column}`].filter(Boolean).join("   "), data.token, data.cell], () => el("p"), (node, said) => say(node, said));
}

function groups(box, data) {
  box.hidden = !data; if (!data) return;
  head(box, data.title, data.beside);
  const table = part(box, "table"); table.tabIndex = 0; attr(table, "role", "group"); attr(table, "aria-label", data.title);
  sync(table, data.rows, () => { const r = el("div", "dealt"); r.append(el("span", "name"), el("span", "layers")); return r; }, (node, row) => {
    attr(node, "data-kind", row.kind); say(node.firstChild, row.name);
    sync(node.lastChild, row.layers, () => el("span"), (cell, layer, i) => { if (cell.className !== (layer ? "layer" : "pad")) cell.className = layer ? "layer" : "pad"; say(cell, layer); attr(cell, "title", layer ? `${data.tensor} ${i}` : data.padding); });
  });
}

// The link of this calculation.
function write(data) {
  const url = new URL(location.href);
  for (const name of Object.keys(data.fresh)) if (data.address[name] === undefined) url.searchParams.delete(name); else url.searchParams.set(name, data.address[name]);
  if (url.href !== location.href) history.replaceState(history.state, "", url);
}
