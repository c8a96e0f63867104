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

// One thing, one light. What stands for a block, hash, request or token says so in data-block, data-hash,
// data-request, data-token; data-select="block|hash|request|token" makes it something to choose. link() marks what
// was chosen (data-lit=own), the same thing elsewhere (data-lit=linked), and what the pointer is on (data-hover).
const NAMED = "[data-block],[data-hash],[data-request]", links = new WeakMap();
const thing = (node, kind) => {
  const { block, hash, request, token } = node.dataset;
  return { block: { block: Number(block) }, hash: { hash }, request: { request }, token: { request, token: Number(token) } }[kind];
};
const kindOf = (node) => node.dataset.select ?? (node.dataset.token !== undefined ? "token" : node.dataset.block !== undefined ? "block" : node.dataset.hash !== undefined ? "hash" : "request");
const same = (one, other) => one && other && ["block", "hash", "request", "token"].every((name) => one[name] === other[name]);
const onHover = (root, show) => {
  const known = links.get(root) ?? {}; known.show = show; links.set(root, known);
  if (known.heard) return;
  known.heard = (event) => { if (root.isConnected) known.show(event.detail); else window.removeEventListener("pagewalk-hover", known.heard); };
  window.addEventListener("pagewalk-hover", known.heard);
};
const pointAt = (what) => window.dispatchEvent(new CustomEvent("pagewalk-hover", { detail: what ?? null }));
const hovered = (root, what) => root.querySelectorAll(NAMED).forEach((node) => {
  const { block, hash, request, token } = node.dataset;
  const is = what && (what.token !== undefined ? request === what.request && Number(token) === what.token
    : what.block !== undefined ? Number(block) === what.block : what.hash !== undefined ? hash === what.hash : request === what.request && token === undefined);
  attr(node, "data-hover", is ? "true" : null);
});
function link(root, data, send) {
  const { own = {}, blocks = [], hashes = [], requests = [], tokens = [] } = data.lit ?? {};
  const sets = { block: new Set(blocks.map(String)), hash: new Set(hashes), request: new Set(requests) };
  root.querySelectorAll(NAMED).forEach((node) => {
    const kind = kindOf(node), { request, token } = node.dataset;
    const linked = kind === "token" ? tokens.some(([id, start, stop]) => id === request && start <= Number(token) && Number(token) < stop)
      : ["block", "hash", ...(kind === "request" ? ["request"] : [])].some((name) => node.dataset[name] !== undefined && sets[name].has(node.dataset[name]));
    const isOwn = same({ ...own }, thing(node, kind));
    attr(node, "data-lit", isOwn ? "own" : linked ? "linked" : null);
    if (node.dataset.select && node.tagName === "BUTTON") attr(node, "aria-pressed", String(Boolean(isOwn)));
  });
  onHover(root, (what) => hovered(root, what));
  const known = links.get(root); known.send = send;
  if (known.wired) return;
  known.wired = true;
  root.addEventListener("click", (e) => {
    const node = e.target.closest("[data-select]");
    if (node && !node.hidden && root.contains(node)) { known.send("selected", thing(node, node.dataset.select)); released(e); }
  });
  root.addEventListener("pointerover", (e) => { const node = e.target.closest(NAMED); pointAt(node && thing(node, kindOf(node))); });
  root.addEventListener("pointerleave", () => pointAt(null));
}
