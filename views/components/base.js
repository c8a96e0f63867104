// Stands in front of every part's script, which defines present(). Text reaches the page through textContent alone.

// The parts of the stage arrive one by one; they are drawn at once when the last of them (the transport) is there:
// one layout and one painted frame a step, and no frame that shows two moments.
const PATIENCE_MS = 100; // where the transport has nothing new, and is not called
const stageOf = () => kept("stage", () => ({ parts: new Map(), ends: new Map(), measures: [], timer: 0, mounted: new Map(), newer: new Map() }));
function together(sent, { place, present, sheets }) {
  const given = JSON.parse(new TextDecoder().decode(sent.data)), [key, number, answered, session, desk] = given.drawn, { parentElement } = sent;
  if (isAnother(session)) return;
  if (!parentElement.adoptedStyleSheets.length) parentElement.adoptedStyleSheets = sheets;
  const stage = stageOf(), root = parentElement.querySelector(".root"), send = sent.setTriggerValue;
  asking.parts.set(key, { root, send }); hearAnswer(key, answered);
  sent = { ...sent, setTriggerValue: (what, value) => ask(key, desk, what, value) };
  // Once mounted, a part gets its new data with the transport's. Where Streamlit comes back with the old, the new counts.
  const draw = () => {
    const newer = stage.newer.get(key), data = newer?.number > number ? newer.data : given;
    attr(root, "data-still", stage.still);
    if (!isWithheld(root, data)) stage.ends.set(root, present({ ...sent, data }));
  };
  const measure = () => stage.measures.splice(0).forEach((each) => each());
  const flush = () => { clearTimeout(stage.timer); stage.timer = 0; const parts = [...stage.parts.values()]; stage.parts.clear(); parts.forEach((each) => each()); };
  if (place !== "last") stage.mounted.set(key, { root, draw });
  if (place === "part" && stage.ends.has(root)) { stage.parts.set(root, draw); stage.timer ||= setTimeout(() => { flush(); measure(); }, PATIENCE_MS); }
  else {
    if (place === "last") { // motion tells what one sub-step changed; a jump has none
      const { position } = given; stage.still = Math.abs(position - (stage.position ?? position)) > 1; stage.position = position;
      bring(stage, given.parts ?? {}, number); flush();
    }
    draw(); measure();
  }
  return () => {
    stage.ends.get(root)?.(); stage.ends.delete(root); stage.parts.delete(root);
    for (const known of [stage.mounted, asking.parts]) if (known.get(key)?.root === root) known.delete(key);
  };
}
// A part that a lesson keeps back: one sentence in its place, or nothing at all (piece.py withholding).
function isWithheld(root, { withheld, title }) {
  const cover = root.querySelector(":scope > .cover");
  root.hidden = withheld === ""; attr(root, "data-withheld", Boolean(withheld));
  if (!withheld) { cover?.remove(); return withheld === ""; }
  const shown = cover ?? root.appendChild(el("div", "cover"));
  say(part(shown, "name", "h2"), title); say(part(shown, "quiet", "span"), withheld);
  return true;
}
function bring(stage, parts, number) {
  for (const [key, data] of Object.entries(parts)) {
    stage.newer.set(key, { number, data });
    const mounted = stage.mounted.get(key);
    if (mounted) stage.parts.set(mounted.root, mounted.draw);
  }
}
// What asks for sizes and places waits until all parts are drawn: then the layout is made once.
const afterwards = (measure) => kept("stage").measures.push(measure);
// What nobody looks at waits until the picture is there.
const afterPicture = (act) => requestAnimationFrame(() => setTimeout(act));
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
// A name of ours and what is said of it, with the colon of the language that it is in.
const titled = (name, words) => `${name}${/[\u3040-\u30ff\u4e00-\u9fff]/.test(name) ? "：" : ": "}${words}`;
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
// What a viewer did to a part and its next mount must find: a part is mounted anew where the page around it changes.
// Not by the name of the product: a heading of that name is a global too, until it leaves the page.
const kept = (name, make) => { const all = globalThis.__pagewalk ??= {}; return all[name] ??= make(); };
// For listeners of a whole page that are made where a script is read: those of the reading before end.
const renewed = (name) => { const all = kept("signals", () => ({})); all[name]?.abort(); return (all[name] = new AbortController()).signal; };
// A click with the pointer leaves the keys to the transport; the keyboard keeps its focus.
const released = (event) => { if (event.detail > 0 && document.activeElement) event.target.blur?.(); };
const legend = (root, entries) => sync(part(root, "legend"), entries, () => { const s = el("span"); s.append(el("i"), el("span")); return s; },
  (node, [kind, text]) => { node.firstChild.className = kind; attr(node.firstChild, "data-state", kind); say(node.lastChild, text); });

// One thing, one light. What stands for a block, hash, request or token says so in data-block, data-hash,
// data-request, data-token; data-select="block|hash|request|token" makes it something to choose. link() marks what
// was chosen (data-lit=own), the same thing elsewhere (data-lit=linked), and what the pointer is on (data-hover).
const NAMED = "[data-block],[data-hash],[data-request]", KINDS = ["block", "hash", "request", "token"], links = new WeakMap();
const thing = (node, kind) => {
  const { block, hash, request, token } = node.dataset;
  return { block: { block: Number(block) }, hash: { hash }, request: { request }, token: { request, token: Number(token) } }[kind];
};
const kindOf = (node) => node.dataset.select ?? (node.dataset.token !== undefined ? "token" : node.dataset.block !== undefined ? "block" : node.dataset.hash !== undefined ? "hash" : "request");
const same = (one, other) => Boolean(one && other) && KINDS.every((name) => one[name] === other[name]);
// The names under which one element is known: a token's is not its request's. Read from attributes: `dataset` is slow.
const NAMES = ["data-block", "data-hash", "data-request", "data-token"];
const named = ([block, hash, request, token]) => {
  const names = [];
  if (block != null) names.push(`b${block}`);
  if (hash != null) names.push(`h${hash}`);
  if (request != null) names.push(token != null ? `t${token} ${request}` : `r${request}`);
  return names;
};
const namesOf = ({ block, hash, request, token }) => named([block, hash, request, token]);
const linked = (root) => {
  if (!links.has(root)) links.set(root, { root, lit: {}, what: null, index: null, hovered: [], lighted: new Map() });
  return links.get(root);
};
// What stands for each name; made when it is first asked for after a change.
const standing = (known, name) => {
  if (!known.index) {
    known.index = new Map();
    for (const node of known.root.querySelectorAll(NAMED)) {
      for (const each of named(NAMES.map((about) => node.getAttribute(about)))) {
        const nodes = known.index.get(each);
        if (nodes) nodes.push(node); else known.index.set(each, [node]);
      }
    }
  }
  return known.index.get(name) ?? [];
};
const hear = (root) => {
  const known = linked(root);
  if (known.heard) return known;
  known.heard = ({ detail }) => {
    if (!root.isConnected) return window.removeEventListener("pagewalk-hover", known.heard);
    known.what = detail; hover(known); known.show?.(detail);
  };
  window.addEventListener("pagewalk-hover", known.heard);
  return known;
};
// For a picture without elements: `show` gets what the pointer is on, anywhere on the page, or null.
const onHover = (root, show) => { hear(root).show = show; };
const pointAt = (what) => window.dispatchEvent(new CustomEvent("pagewalk-hover", { detail: what ?? null }));
const hover = (known) => {
  known.hovered.forEach((node) => node.removeAttribute("data-hover"));
  known.hovered = known.what ? namesOf(known.what).flatMap((name) => standing(known, name)) : [];
  known.hovered.forEach((node) => node.setAttribute("data-hover", "true"));
};
// A token brings its block along, so that a pointer on it finds where its K and V lie.
const pointed = (node) => {
  const what = thing(node, kindOf(node)), block = what.token === undefined ? undefined : node.closest("[data-block]")?.dataset.block;
  return block === undefined ? what : { ...what, block: Number(block) };
};
const lighted = (known) => {
  const { own = {}, blocks = [], hashes = [], requests = [], tokens = [] } = known.lit, found = new Map();
  const light = (names, is, kind) => names.forEach((name) => standing(known, name).forEach((node) => { if (is(kindOf(node))) found.set(node, kind); }));
  light([...blocks.map((id) => `b${id}`), ...hashes.map((hash) => `h${hash}`)], (kind) => kind !== "token", "linked");
  light(requests.map((id) => `r${id}`), (kind) => kind === "request", "linked");
  for (const [id, start, stop] of tokens) for (let at = start; at < stop; at++) light([`t${at} ${id}`], (kind) => kind === "token", "linked");
  light(namesOf(own), (kind) => own[kind] !== undefined && (kind !== "request" || own.token === undefined), "own");
  return found;
};
// Marks everything again; a component that adds or removes elements by itself calls it.
function relight(root) {
  const known = linked(root), before = known.lighted;
  known.index = null; known.lighted = lighted(known);
  const mark = (node, lit) => { attr(node, "data-lit", lit); if (node.hasAttribute("aria-pressed")) attr(node, "aria-pressed", String(lit === "own")); };
  root.querySelectorAll("button[data-select]:not([aria-pressed])").forEach((node) => node.setAttribute("aria-pressed", "false"));
  before.forEach((_, node) => { if (!known.lighted.has(node)) mark(node); });
  known.lighted.forEach((lit, node) => mark(node, lit));
  if (known.what || known.hovered.length) hover(known);
}
// A lens takes what is left of the screen above the transport, and scrolls inside itself.
const fitted = new WeakSet();
const fit = (root) => {
  afterwards(() => measureFit(root));
  if (fitted.has(root)) return;
  fitted.add(root);
  // What stands above grows and shrinks: texts, fonts, a card that folds, a note.
  const column = root.getRootNode().host?.closest("[data-testid=stVerticalBlock]");
  if (column) new ResizeObserver(() => measureFit(root)).observe(column);
  for (const ms of [50, 300, 1000, 2500]) setTimeout(() => measureFit(root), ms);
  const resized = () => { if (root.isConnected) measureFit(root); else window.removeEventListener("resize", resized); };
  window.addEventListener("resize", resized);
};
const measureFit = (root) => {
  if (!root.isConnected) return;
  claim(root);
  const scrolled = document.querySelector("[data-testid=stMain]")?.scrollTop ?? 0, bar = document.querySelector("[data-testid=stBottomBlockContainer]");
  const top = root.getBoundingClientRect().top + scrolled, left = innerHeight - top - (bar?.offsetHeight ?? 90) - 12;
  const height = innerWidth > 640 ? `${Math.max(180, left / (root.currentCSSZoom ?? 1))}px` : "";
  if (root.style.maxHeight !== height) root.style.maxHeight = height;
  if (root.style.overflow !== "auto") root.style.overflow = "auto";
};
// What the open lens needs, so that the requests above it get the rest (requests.css). One that draws as much as there is
// room for (data-adapts) has no height of its own. A change is known to the whole page, which then places everything anew.
const claim = (root) => {
  const column = root.getRootNode().host?.closest(".st-key-stage_requests"), { style } = document.documentElement;
  if (!column) return; // a card beside the lens
  const above = root.hasAttribute("data-adapts") ? null : column.querySelector(".st-key-requests");
  const gap = above && root.getBoundingClientRect().top - above.getBoundingClientRect().bottom;
  const px = above ? `${Math.ceil(gap + (root.scrollHeight + 3) * (root.currentCSSZoom ?? 1))}px` : "";
  if (style.getPropertyValue("--pw-need") === px) return;
  if (px) style.setProperty("--pw-need", px); else style.removeProperty("--pw-need");
};
function link(root, data, send) {
  if (data.fits) fit(root);
  const known = hear(root); known.lit = data.lit ?? {}; known.send = send;
  relight(root);
  if (known.wired) return;
  known.wired = true;
  root.addEventListener("click", (e) => {
    const node = e.target.closest("[data-select]");
    if (!node || node.hidden || !root.contains(node)) return;
    known.send("selected", thing(node, node.dataset.select));
    if (e.detail > 0) node.blur();
  });
  let last = null;
  root.addEventListener("pointerover", (e) => {
    const node = e.target.closest(NAMED), what = node && pointed(node);
    if (what === last || same(what, last)) return;
    last = what; pointAt(what);
  });
  root.addEventListener("pointerleave", () => { last = null; pointAt(null); });
}
// One tab stop for many: arrow keys move among what `selector` finds; `columns` says how far up and down go.
const rove = (holder, selector, columns = () => 1) => {
  const every = () => [...holder.querySelectorAll(selector)].filter((node) => !node.hidden);
  const nodes = every(), stop = nodes.find((node) => node.getAttribute("tabindex") === "0") ?? nodes[0];
  nodes.forEach((node) => attr(node, "tabindex", node === stop ? "0" : "-1"));
  holder.onkeydown = (e) => {
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns(), ArrowUp: -columns() }[e.key];
    if (!by || e.shiftKey || !e.target.matches(selector)) return;
    const all = every(), next = all[all.indexOf(e.target) + by];
    if (next) { e.target.tabIndex = -1; next.tabIndex = 0; next.focus(); }
    e.preventDefault(); e.stopPropagation();
  };
};
