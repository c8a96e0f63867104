function present({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  head(root, data.title, data.summary);
  say(part(root, "sentence", "p"), data.sentence); attr(part(root, "sentence", "p"), "data-walked", data.walked);
  const top = root.querySelector(":scope > .top") ?? root.insertBefore(el("div", "top"), root.firstChild), line = root.querySelector(".head");
  if (line.parentElement !== top) top.append(line);
  legend(top, data.legend.filter(([sign]) => data.signs.includes(sign)));
  const frame = part(root, "frame"), scroll = part(frame, "scroll"), canvas = part(scroll, "canvas"), { nodes } = data;
  frame.hidden = !nodes.length; attr(root, "data-recipe", data.recipe); attr(root, "data-adapts", true);
  attr(scroll, "role", "group"); attr(scroll, "aria-label", data.title);
  grow(part(canvas, "nodes"), data);
  rove(part(canvas, "nodes"), ".face, .block, .chip");
  say(part(root, "empty"), data.empty);
  depths(part(root, "depths"), data.depths);
  recipe(part(root, "recipe", "section"), data.recipe);
  link(root, data, setTriggerValue);
  onHover(root, (what) => follow(canvas, nodes, what));
  const known = trees.get(root) ?? watch(root, frame, scroll); known.data = data; known.canvas = canvas;
  afterwards(() => place(root, frame, scroll, known));
}

const trees = new WeakMap(); // root -> what it shows, for when its width changes
const SIDES = ["left", "right", "top", "bottom"];
function watch(root, frame, scroll) {
  const known = {}; trees.set(root, known);
  for (const side of SIDES) { const edge = frame.appendChild(el("i", "cut")); attr(edge, "data-side", side); attr(edge, "aria-hidden", "true"); edge.hidden = true; }
  scroll.onscroll = () => edgesOf(frame, scroll);
  new ResizeObserver(() => { if (scroll.isConnected && known.data) place(root, frame, scroll, known); }).observe(scroll);
  return known;
}
// Sizes are asked for before anything is placed: each question behind a change makes the whole layout anew.
function place(root, frame, scroll, known) {
  const { data, canvas } = known, width = scroll.clientWidth - PADDING.x;
  heighten(root, scroll, known);
  if (width <= 0) return;
  const [level, nodes] = levelFor(data, width, known.room);
  attr(root, "data-narrow", level === "narrow"); attr(root, "data-slim", level === "slim");
  arrange(canvas, data, level, nodes);
  seek(scroll, nodes, data, `${level} ${width}`);
  afterPicture(() => edgesOf(frame, scroll));
}

// As high as the lens has room, so that only one of the two scrolls; a recipe below wants its own.
const BESIDE_A_RECIPE = 210, PADDING = { x: 16, y: 17 }; // px
function heighten(root, scroll, known) {
  const { data } = known, most = parseFloat(root.style.maxHeight), top = scroll.getBoundingClientRect().top - root.getBoundingClientRect().top + root.scrollTop;
  const room = most && !data.recipe ? Math.max(110, most - top - 12) : 0;
  known.room = room || BESIDE_A_RECIPE;
  const height = room ? `${room}px` : "";
  if (scroll.style.maxHeight !== height) scroll.style.maxHeight = height;
}
// The first way to draw the tree that shows all of it: wide nodes with their hashes, narrow ones, or one line each.
// Their columns shrink, down to the blocks alone in the end. What fits in none scrolls.
const LEAST = { wide: Infinity, narrow: 58, slim: 24 }; // px to which a node may shrink
const LEVELS = ["wide", "narrow", "slim"];
const BOXES = {
  wide: (node) => node,
  narrow: (node) => ({ ...node, x: node.narrow[0], w: node.narrow[1] }),
  slim: ({ slim: [x, y, w, h, beside], ...node }) => ({ ...node, x, y, w, h, beside }),
};
function drawnAs(level, data, width) {
  const nodes = data.nodes.map(BOXES[level]), wide = Math.max(0, ...nodes.map((node) => node.w));
  if (extent(nodes) <= width || LEAST[level] > wide) return nodes;
  let [low, high] = [LEAST[level], wide];
  while (high - low > .5) { const most = (low + high) / 2; if (extent(atMost(nodes, most)) <= width) low = most; else high = most; }
  const shrunk = atMost(nodes, low);
  return extent(shrunk) <= width ? shrunk : nodes;
}
// Columns that are wider shrink to `most`, but not below their blocks; the roots keep their name.
function atMost(nodes, most) {
  const columns = [...new Map(nodes.map((node) => [node.x, node.w]))].sort(([one], [other]) => one - other), least = new Map();
  for (const node of nodes) least.set(node.x, Math.max(least.get(node.x) ?? 0, chipsOf(node) - 1));
  let left = 0;
  const moved = new Map(columns.map(([x, w]) => { const by = x ? Math.max(0, w - Math.max(most, least.get(x))) : 0, at = [x - left, w - by]; left += by; return [x, at]; }));
  return nodes.map((node) => { const [x, w] = moved.get(node.x); return { ...node, x, w, shrunk: w < node.w }; });
}
const extent = (nodes) => Math.max(0, ...nodes.map((node) => node.x + node.w + (node.beside ?? 0))) - .5; // px: a rounded end
const height = (nodes) => Math.max(0, ...nodes.map((node) => node.y + node.h));
// Its name, and the boxes of the nodes. On a phone a finger scrolls, and nothing shrinks.
function levelFor(data, width, room) {
  const isPhone = innerWidth <= 640, known = new Map();
  const drawn = (level) => known.get(level) ?? known.set(level, drawnAs(level, data, isPhone ? Infinity : width)).get(level);
  const fits = (level) => extent(drawn(level)) <= width, isLow = (level) => isPhone || height(drawn(level)) <= room - PADDING.y;
  const level = ["wide", "narrow"].find((each) => fits(each) && isLow(each)) ?? (!isPhone && fits("slim") ? "slim" : fits("wide") ? "wide" : "narrow");
  return [level, drawn(level)];
}
const chipsOf = (node) => (node.blocks ?? []).reduce((width, [id, , ref]) => width + 3 + Math.max(22, (ref ? 6 : 8) + 6.1 * String(id).length + (ref ? 4.9 * (1 + String(ref).length) : 0)), node.more ? 24 : 0);
function arrange(canvas, data, level, nodes) {
  canvas.style.width = `${extent(nodes)}px`; canvas.style.height = `${height(nodes)}px`;
  edges(canvas, nodes, data.gaps[LEVELS.indexOf(level)] / 2, level === "slim" ? 11 : LINE);
  [...canvas.querySelector(".nodes").children].forEach((child, i) => {
    const { x, y, w, narrow, beside, shrunk } = nodes[i], isSlim = level === "slim", free = w - chipsOf(nodes[i]);
    child.style.cssText = `left:${x}px;top:${y}px;width:${w}px`;
    attr(child, "data-bare", (level === "narrow" && (!narrow[2] || shrunk)) || (isSlim && free < 22)); attr(child, "data-beside", isSlim && beside > 0);
    child.firstChild.style.paddingRight = isSlim ? `${w - free + 2}px` : "";
  });
}
// More of the picture lies behind an edge: it fades there, with an arrow.
function edgesOf(frame, scroll) {
  const { scrollLeft: x, scrollTop: y, clientWidth: w, clientHeight: h, scrollWidth, scrollHeight } = scroll;
  const more = { left: x > 6, right: x + w < scrollWidth - 8, top: y > 6, bottom: y + h < scrollHeight - 8 };
  frame.querySelectorAll(":scope > .cut").forEach((edge) => { edge.hidden = !more[edge.dataset.side]; });
}

const LINE = 20; // px from the top of a node to where its edges are

function edges(canvas, nodes, half, line) {
  const space = "http://www.w3.org/2000/svg";
  const svg = canvas.querySelector(":scope > svg") ?? canvas.appendChild(document.createElementNS(space, "svg"));
  attr(svg, "aria-hidden", "true"); attr(svg, "width", canvas.style.width); attr(svg, "height", canvas.style.height);
  sync(svg, nodes, () => document.createElementNS(space, "path"), (path, node) => {
    const from = nodes[node.parent];
    const turn = from && from.x + from.w + half;
    attr(path, "d", from ? `M${from.x + from.w},${from.y + line}H${turn}V${node.y + line}H${node.x}` : null);
    attr(path, "data-path", node.path); attr(path, "data-state", node.state ?? node.kind);
  });
}

// A node keeps its element as long as it is drawn, wherever it moves to.
function grow(holder, data) {
  const known = new Map([...holder.children].map((child) => [child.dataset.k, child]));
  const wanted = new Set(data.nodes.map((node) => node.k));
  known.forEach((child, k) => { if (!wanted.has(k)) child.remove(); });
  data.nodes.forEach((node, i) => {
    const child = known.get(node.k) ?? makeNode();
    if (holder.children[i] !== child) holder.insertBefore(child, holder.children[i] ?? null);
    setNode(child, node, data);
  });
}

function makeNode() {
  const node = el("div", "node"), face = el("button", "face");
  face.type = "button";
  face.append(el("span", "label"), el("span", "foot"), el("i", "bar"), el("span", "mark"));
  node.append(face, el("div", "held"), el("div", "ends"));
  return node;
}

function setNode(child, node, data) {
  const [face, held, ends] = child.children, [label, foot, , mark] = face.children;
  child.dataset.k = node.k;
  attr(child, "data-kind", node.kind); attr(child, "data-state", node.state); attr(child, "data-path", node.path); attr(child, "data-mark", node.mark?.[0]);
  attr(face, "data-hash", node.hash); attr(face, "data-select", node.hash ? "hash" : null);
  attr(face, "aria-disabled", node.hash ? null : "true");
  draw(label, node.label); say(foot, node.short ?? node.below ?? "");
  say(mark, node.mark ? sign(node.mark) : "");
  const title = titleOf(node, data);
  attr(face, "title", title); attr(face, "aria-label", title);
  const blocks = node.blocks ?? [];
  attr(child, "data-twins", blocks.length > 1);
  sync(held, node.more ? [...blocks, [`+${node.more}`]] : blocks, makeBlock, (chip, [id, state, ref]) => {
    const isBlock = state !== undefined;
    chip.className = isBlock ? "block" : "more";
    attr(chip, "data-block", isBlock ? id : null); attr(chip, "data-select", isBlock ? "block" : null); attr(chip, "data-state", state); attr(chip, "disabled", !isBlock);
    say(chip.firstChild, String(id)); say(chip.lastChild, ref ? `×${ref}` : ""); const label = isBlock ? fill(data.block_label, { block: id, state: data.block_words[state] }) + (ref ? ` ×${ref}` : "") : null;
    attr(chip, "title", label); attr(chip, "aria-label", label);
  });
  const names = node.requests ?? [];
  sync(ends, node.more_requests ? [...names, [node.more_requests]] : names, makeChip, (chip, [id, rest, status]) => {
    const isRequest = status !== undefined, text = fill(data.request_label, { request: id, status, rest: rest ? rest.slice(1) : "0" });
    chip.className = isRequest ? "chip" : "more";
    attr(chip, "data-request", isRequest ? id : null); attr(chip, "data-select", isRequest ? "request" : null); attr(chip, "disabled", !isRequest);
    attr(chip, "data-walked", isRequest && data.walked === id); say(chip.children[0], id); say(chip.children[1], rest ?? "");
    attr(chip, "title", isRequest ? text : null); attr(chip, "aria-label", isRequest ? text : null);
  });
}

const makeBlock = () => { const chip = el("button", "block"); chip.type = "button"; chip.append(el("span"), el("sup")); return chip; };
const makeChip = () => { const chip = el("button", "chip"); chip.type = "button"; chip.append(el("span", "name"), el("span", "rest")); return chip; };
const sign = ([kind, first, last]) => ({ hit: `✓${last && last !== first ? `${first}-${last}` : first}`, hole: "–", miss: `✗${first}`, held: `■${first}` })[kind];
function titleOf(node, data) {
  const words = Object.fromEntries(data.legend);
  const tokens = node.text ?? (typeof node.label === "string" ? node.label : (node.label ?? []).map(([text]) => text).join(""));
  const title = node.title ?? fill(data.node_label, { place: node.place, tokens, hash: node.hash, state: words[node.state] });
  return node.mark ? `${title}; ${data.marks[node.mark[0]]}` : title;
}

// The path of the request under the pointer: from its end to the root.
function follow(canvas, nodes, what) {
  const on = new Set();
  if (what?.request !== undefined) nodes.forEach((node, i) => {
    if (node.requests?.some(([id]) => id === what.request)) for (let at = i; at >= 0; at = nodes[at].parent) on.add(at);
  });
  const [paths, boxes] = [canvas.querySelector("svg").children, canvas.querySelector(".nodes").children];
  nodes.forEach((_, i) => { attr(paths[i], "data-follow", on.has(i)); attr(boxes[i], "data-follow", on.has(i)); });
}

// Once for each new thing to look at, and only as far as the picture itself scrolls: the whole chain
// up to it if there is room for that, else its end.
function seek(scroll, nodes, data, drawnIn) {
  const node = nodes.find(({ k }) => k === data.focus), key = node ? [data.focus, node.x, node.y, drawnIn].join(" ") : "";
  if (scroll.dataset.focus === key) return;
  scroll.dataset.focus = key;
  if (!node) return;
  const chain = [node]; while (nodes[chain[0].parent]) chain.unshift(nodes[chain[0].parent]);
  const { scrollLeft: x, scrollTop: y, clientWidth: w, clientHeight: h } = scroll;
  const across = near(x, w, chain[0].x, node.x, node.x + node.w + 16), up = Math.min(...chain.map((each) => each.y));
  scroll.scrollTo({ left: across, top: near(y, h, up, node.y, node.y + node.h + 17) });
}
// The place nearest to `at` from where all between `first` and `end` is seen; or at least from `start` on.
function near(at, size, first, start, end) {
  const from = end - first <= size ? first : start - 24;
  return from < at ? from : end > at + size ? Math.max(0, end - size) : at;
}

function depths(holder, counts) {
  holder.hidden = !counts; if (!counts) return;
  say(part(holder, "why", "p"), counts.title);
  const rows = part(holder, "rows"); rows.tabIndex = 0; attr(rows, "role", "group"); attr(rows, "aria-label", counts.title);
  sync(rows, counts.rows, () => { const row = el("div", "row"); row.append(el("span", "place"), el("i"), el("span", "count")); return row; }, (row, [place, count, share]) => {
    say(row.children[0], place); row.children[1].style.width = `${Math.max(0.5, share * 100)}%`; say(row.children[2], count);
  });
}

function recipe(section, made) {
  section.hidden = !made; if (!made) return;
  const line = part(section, "line"), title = part(line, "title", "h3");
  say(title, made.title); say(part(line, "quiet", "span"), made.place);
  say(part(section, "how", "p"), made.how);
  sync(part(section, "steps"), made.steps, makeStep, setStep);
  say(part(section, "joined", "p"), made.joined); say(part(section, "unknown", "p"), made.unknown);
  sync(part(section, "facts", "dl"), made.facts, () => { const row = el("div"); const value = el("dd"); value.append(el("code"), el("span", "quiet")); row.append(el("dt"), value); return row; }, (row, [word, value, note]) => {
    say(row.children[0], word); say(row.children[1].children[0], value); say(row.children[1].children[1], note);
  });
  script(part(section, "script", "details"), made);
}

function makeStep() {
  const step = el("div", "step"), inputs = el("dl", "inputs"), bytes = el("div", "bytes-of");
  bytes.append(el("span", "word"), el("div", "parts"));
  const digest = el("div", "digest"); digest.append(el("span", "word"), el("code"), el("span", "verdict"));
  step.append(el("h4"), inputs, bytes, digest);
  return step;
}

function setStep(node, step) {
  const [title, inputs, bytes, digest] = node.children;
  say(title, step.title);
  sync(inputs, step.inputs, () => { const row = el("div"), value = el("dd"); const button = el("button", "value"); button.type = "button"; value.append(button, el("span", "quiet")); row.append(el("dt"), value); return row; }, (row, [word, value, hash], i) => {
    const [button, note] = row.children[1].children;
    say(row.children[0], word); say(button, value); say(note, step.notes[i]);
    attr(button, "data-hash", hash); attr(button, "data-select", hash ? "hash" : null); attr(button, "disabled", !hash);
  });
  bytes.hidden = !step.parts.length; say(bytes.children[0], step.bytes_word ?? "");
  sync(bytes.children[1], step.parts, () => { const cell = el("div", "cell"), code = el("code"); code.append(el("span"), el("span", "hidden"), el("span")); cell.append(code, el("span", "name")); return cell; }, (cell, [kind, name, first, hidden, last]) => {
    attr(cell, "data-part", kind); say(cell.children[1], name);
    const [start, gap, end] = cell.children[0].children; say(start, first); say(gap, hidden); say(end, last);
  });
  const [word, code, verdict] = digest.children;
  say(word, step.digest[0]); say(code, step.digest[1]);
  say(verdict, step.verdict ? `${step.verdict[0] ? "✓" : "✗"} ${step.verdict[1]}` : ""); attr(verdict, "data-equal", step.verdict?.[0]);
}

function script(holder, made) {
  holder.hidden = !made.script; if (!made.script) return;
  say(part(holder, "word", "summary"), made.script_word);
  const body = part(holder, "body"), code = part(body, "code-of", "pre"), copy = body.querySelector(".copy") ?? body.appendChild(actButton("copy"));
  say(code, made.script); code.tabIndex = 0; attr(code, "aria-label", made.script_word);
  if (copy.dataset.of !== made.hash) { copy.dataset.of = made.hash; say(copy, made.copy); }
  copy.onclick = async (e) => {
    released(e);
    try { await navigator.clipboard.writeText(made.script); say(copy, made.copied); }
    catch { getSelection().selectAllChildren(code); }
  };
}
