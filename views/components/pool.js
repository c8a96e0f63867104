const painted = new WeakMap(); // root -> what a canvas needs between two pictures

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  head(root, data.title, data.summary);
  const pick = (id) => setTriggerValue("selected", { block: id });
  const holder = part(root, "holder");
  const kind = data.cells ? "grid" : "canvas";
  if (holder.dataset.kind !== kind) { holder.dataset.kind = kind; holder.replaceChildren(); }
  if (data.cells) cells(holder, data); else canvas(root, holder, data, pick);
  const entries = [...data.legend, ["touched", data.legend_touched]];
  if (data.cells) entries.push(["hash", data.legend_hashed], ["unwritten", data.legend_unwritten]);
  legend(root, entries);
  const foot = part(root, "foot"), reset = foot.querySelector(".reset") ?? foot.appendChild(actButton("reset"));
  say(part(foot, "quiet"), Object.keys(data.lit?.own ?? {}).length ? "" : data.hint); offer(reset, data.reset);
  reset.onclick = (e) => { if (!reset.hasAttribute("aria-disabled")) setTriggerValue("reset", true); released(e); };
  link(root, data, setTriggerValue);
}

function cells(holder, data) {
  const grid = part(holder, "grid"), n = data.cells.length, touched = new Set(data.touched);
  attr(grid, "role", "group"); attr(grid, "aria-label", data.title);
  attr(grid, "data-size", n > 128 ? "large" : n > 40 ? "medium" : n > 12 ? "small" : "tiny");
  const make = () => { const b = el("button", "block"); b.type = "button"; attr(b, "data-select", "block"); b.append(el("span"), el("sup"), el("i", "bar")); return b; };
  sync(grid, data.cells, make, (node, cell, i) => {
    attr(node, "data-state", cell.state); attr(node, "data-touched", touched.has(i)); attr(node, "data-hashed", cell.hash); attr(node, "data-block", i);
    say(node.children[0], String(i)); say(node.children[1], cell.ref > 1 ? `×${cell.ref}` : "");
    attr(node, "title", cell.label); attr(node, "aria-label", cell.label);
  });
  rove(grid, ".block", () => getComputedStyle(grid).gridTemplateColumns.split(" ").length);
}

function canvas(root, holder, data, pick) {
  const picture = part(holder, "picture", "canvas"), marks = part(holder, "marks", "canvas"), live = part(holder, "sr");
  const n = data.num_blocks, columns = Math.ceil(Math.sqrt(n * 1.6)), rows = Math.ceil(n / columns);
  const codes = atob(data.states), paint = palette(holder, data.names);
  const image = new ImageData(columns, rows), pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < n; i++) pixels[i] = paint[codes.charCodeAt(i)];
  if (picture.width !== columns || picture.height !== rows) { picture.width = columns; picture.height = rows; }
  picture.getContext("2d").putImageData(image, 0, 0);
  const label = (i) => fill(data.hover, { block: i, state: data.legend[codes.charCodeAt(i)][1] });
  const memory = painted.get(root) ?? { at: 0 };
  painted.set(root, memory);
  const redraw = () => mark(holder, marks, { columns, rows, touched: data.touched, lit: data.lit ?? {}, what: memory.what, at: memory.focused ? memory.at : null });
  redraw();
  onHover(root, (what) => { memory.what = what; memory.redraw(); });
  if (!memory.resize) { memory.resize = new ResizeObserver(() => memory.redraw()); memory.resize.observe(holder); }
  memory.redraw = redraw;
  const under = (e) => {
    const r = marks.getBoundingClientRect();
    const i = Math.floor((e.clientY - r.top) / r.height * rows) * columns + Math.floor((e.clientX - r.left) / r.width * columns);
    return i >= 0 && i < n ? i : -1;
  };
  marks.tabIndex = 0; attr(marks, "role", "application"); attr(marks, "aria-label", `${data.title}: ${data.summary}. ${data.keys}`);
  marks.onmousemove = (e) => { const i = under(e); attr(marks, "title", i < 0 ? "" : label(i)); if (i !== memory.under) { memory.under = i; pointAt(i < 0 ? null : { block: i }); } };
  marks.onclick = (e) => { const i = under(e); if (i >= 0) { memory.at = i; pick(i); marks.blur(); } };
  marks.onfocus = () => { memory.focused = marks.matches(":focus-visible"); memory.redraw(); };
  marks.onblur = () => { memory.focused = false; memory.redraw(); };
  marks.onkeydown = (e) => {
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[e.key];
    if (e.key === "Enter") { pick(memory.at); e.preventDefault(); e.stopPropagation(); }
    if (!by || e.shiftKey) return;
    memory.at = Math.max(0, Math.min(n - 1, memory.at + by)); say(live, label(memory.at)); attr(live, "aria-live", "polite");
    memory.redraw(); e.preventDefault(); e.stopPropagation();
  };
}

// Any CSS colour of the theme as one little-endian pixel.
function palette(holder, names) {
  const probe = el("i"), one = document.createElement("canvas"); one.width = one.height = 1;
  const context = one.getContext("2d", { willReadFrequently: true }); holder.append(probe);
  const pixels = names.map((name) => {
    probe.className = `probe ${name}`; context.clearRect(0, 0, 1, 1); context.fillStyle = getComputedStyle(probe).color;
    context.fillRect(0, 0, 1, 1); return new Uint32Array(context.getImageData(0, 0, 1, 1).data.buffer)[0];
  });
  probe.remove(); return pixels;
}

// Rings lie on a canvas of their own, in screen pixels, so that one block among 131,928 is seen.
function mark(holder, marks, { columns, rows, touched, lit, what, at }) {
  const width = marks.clientWidth, height = marks.clientHeight, scale = globalThis.devicePixelRatio || 1;
  if (!width) return;
  marks.width = width * scale; marks.height = height * scale;
  const context = marks.getContext("2d"), style = getComputedStyle(holder), cw = width / columns, ch = height / rows;
  context.scale(scale, scale);
  const ring = (i, colour, pad) => {
    const w = Math.max(cw, 5) + pad, h = Math.max(ch, 5) + pad, x = (i % columns + .5) * cw, y = (Math.floor(i / columns) + .5) * ch;
    context.strokeStyle = colour; context.lineWidth = 2; context.strokeRect(x - w / 2, y - h / 2, w, h);
  };
  const probe = el("i", "probe touched"); holder.append(probe); const hot = getComputedStyle(probe).color; probe.remove();
  touched.slice(0, 4000).forEach((i) => ring(i, hot, 1));
  (lit.blocks ?? []).forEach((i) => ring(i, style.color, i === lit.own?.block ? 5 : 3));
  if (what?.block !== undefined) ring(what.block, style.color, 7);
  if (at !== null) ring(at, style.color, 9);
}
