// Put in front of every component's script. Text reaches the page through textContent alone.
const el = (tag, cls = "", text) => {
  const node = document.createElement(tag);
  if (cls) node.className = cls;
  if (text !== undefined) node.textContent = text;
  return node;
};
const say = (node, text) => { if (node.textContent !== text) node.textContent = text; };
const attr = (node, name, value) => {
  if (value === undefined || value === null || value === false || value === "") node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
};
// As many children as items, kept and changed in place: focus, scroll position and motion survive.
const sync = (parent, items, make, update) => {
  while (parent.childElementCount > items.length) parent.lastElementChild.remove();
  items.forEach((item, i) => update(parent.children[i] ?? parent.appendChild(make()), item, i));
};
const fill = (template, values) => template.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);
// A drawn token: a plain text, or [text, kind] runs with signs and bytes.
const draw = (node, drawn) => {
  const key = typeof drawn === "string" ? drawn : JSON.stringify(drawn);
  if (node.dataset.drawn === key) return;
  node.dataset.drawn = key;
  if (typeof drawn === "string") node.textContent = drawn;
  else node.replaceChildren(...drawn.map(([text, kind]) => el("span", kind, text)));
};
// The title line of a card, made once: title, quiet words beside it.
const head = (root, title, beside) => {
  let line = root.querySelector(".head");
  if (!line) { line = el("div", "head"); line.append(el("h2"), el("span", "quiet")); root.prepend(line); }
  say(line.children[0], title); say(line.children[1], beside ?? "");
};
// A small button with a hint. One that is off stays reachable, so that its reason can be read.
const actButton = (cls) => { const b = el("button", `act ${cls}`); b.type = "button"; return b; };
const offer = (button, action) => {
  button.hidden = !action; if (!action) return;
  say(button, action.word); attr(button, "title", action.hint); attr(button, "aria-disabled", action.off ? "true" : null);
  attr(button, "aria-label", action.label); attr(button, "aria-description", action.hint);
};
const part = (root, cls, tag = "div") => root.querySelector(`:scope > .${cls}`) ?? root.appendChild(el(tag, cls));
// A click with the pointer leaves the keys to the transport; the keyboard keeps its focus.
const released = (event) => { if (event.detail > 0 && document.activeElement) event.target.blur?.(); };
const legend = (root, entries) => sync(part(root, "legend"), entries, () => { const s = el("span"); s.append(el("i"), el("span")); return s; },
  (node, [kind, text]) => { node.firstChild.className = kind; attr(node.firstChild, "data-state", kind); say(node.lastChild, text); });
