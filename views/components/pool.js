const views = new WeakMap(); // root -> the view of a large pool

function present({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  head(root, data.title, data.summary);
  const pick = (id) => setTriggerValue("selected", { block: id });
  const holder = part(root, "holder");
  const kind = data.cells ? "grid" : "canvas";
  if (holder.dataset.kind !== kind) { holder.dataset.kind = kind; holder.replaceChildren(); views.delete(root); }
  const level = part(root, "level"); if (data.cells) say(level, "");
  if (data.cells) cells(holder, data); else { canvas(root, holder, data); views.get(root).pick = pick; }
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

// A large pool is one picture: an image with a pixel per block, scaled to the view, and on it, where
// cells are large enough, numbers. The view (zoom, and what lies at its corner) outlives every step.
// A very large one lies in tiles of consecutive blocks; where blocks are too small to be seen, a tile is one cell.
const MAX_CELL = 56, TEXT_CELL = 18, LINED_CELL = 22, LEAST_CELL = 3, SIDE = 8, MOST_PLAIN = 4096, MINI = 76, NAMES_OF = ["null", "unused", "free", "remembered", "used", "shared"];

function canvas(root, holder, data) {
  const view = views.get(root) ?? Object.assign(newView(root, holder), kept("pool", () => ({}))), n = data.num_blocks;
  if (view.n !== n) Object.assign(view, { n, zoom: 1, x: 0, y: 0, at: 0, seen: "" });
  view.side = n > MOST_PLAIN ? SIDE : 1; view.area = view.side ** 2; view.numTiles = Math.ceil(n / view.area);
  view.across = Math.ceil(Math.sqrt(view.numTiles * 1.6)); view.down = Math.ceil(view.numTiles / view.across);
  view.columns = view.across * view.side; view.rows = view.down * view.side;
  Object.assign(view, { data, codes: atob(data.codes), touched: data.touched.slice(0, 4000), image: null, tiles: null, mini: null });
  view.label = (i) => {
    const { state, ref, hash } = cellOf(view, i);
    return fill(data.words.hover, { block: i, state: Object.fromEntries(data.legend)[state], ref }) + (hash ? data.words[hash === 1 ? "unwritten" : "hashed"] : "");
  };
  attr(view.canvas, "aria-label", `${titled(data.title, data.summary)}. ${data.words.keys}`);
  for (const name of ["zoom_in", "zoom_out", "zoom_reset"]) { const b = view.buttons[name]; attr(b, "aria-label", data.words[name]); attr(b, "title", data.words[name]); }
  say(view.buttons.zoom_reset, data.words.zoom_reset);
  const own = JSON.stringify(data.lit?.own ?? {}), lit = data.lit?.blocks ?? [];
  if (own !== view.seen && lit.length && view.zoom > 1 && !lit.some((i) => isInView(view, i))) center(view, lit[0]);
  view.seen = own;
  afterwards(() => paint(view));
}

const cellOf = ({ codes, data }, i) => {
  if (i === 0) return { state: "null", ref: 0, hash: 0 };
  if (i >= codes.length) return { state: "unused", ref: 0, hash: 0 };
  const code = codes.charCodeAt(i), ref = code & 63, hash = code >> 6;
  return { state: ref > 1 ? "shared" : ref ? "used" : hash ? "remembered" : "free", ref: ref === data.max_ref ? `${ref}+` : ref, hash };
};

function newView(root, holder) {
  const view = { root, holder, zoom: 1, x: 0, y: 0, at: 0, canvas: part(holder, "picture", "canvas"), live: part(holder, "sr"), fingers: new Map(), buttons: {} };
  const tools = part(holder, "tools");
  for (const [name, sign] of [["zoom_out", "−"], ["zoom_in", "+"], ["zoom_reset", ""]]) {
    const b = el("button", `act ${name}`, sign); b.type = "button"; view.buttons[name] = tools.appendChild(b);
    b.onclick = (e) => { if (name === "zoom_reset") reset(view); else zoomBy(view, name === "zoom_in" ? 2 : .5); released(e); };
  }
  views.set(root, view);
  view.canvas.tabIndex = 0; attr(view.canvas, "role", "application"); attr(view.live, "aria-live", "polite");
  new ResizeObserver(() => { clamp(view); paint(view); }).observe(holder);
  onHover(root, (what) => { view.what = what; paint(view); });
  listen(view);
  return view;
}

// Geometry in CSS pixels: a block's cell is `cell` wide, and the view's corner lies at (x, y) of the zoomed picture.
const sizeOf = (view) => { const width = view.canvas.clientWidth, height = view.canvas.clientHeight; return { width, height, cell: view.zoom * Math.min(width / view.columns, height / view.rows) }; };
const gridOf = ({ across, side, area }, i) => { const tile = Math.floor(i / area), within = i % area; return [tile % across * side + within % side, Math.floor(tile / across) * side + Math.floor(within / side)]; };
function blockAt({ across, side, area, columns, rows, n }, column, row) {
  if (column < 0 || row < 0 || column >= columns || row >= rows) return -1;
  const i = (Math.floor(row / side) * across + Math.floor(column / side)) * area + row % side * side + column % side;
  return i < n ? i : -1;
}
const isFar = (view, cell) => view.side > 1 && cell < LEAST_CELL;
const placeOf = (view, i, cell) => { const [column, row] = gridOf(view, i); return [column * cell - view.x, row * cell - view.y]; };
const isInView = (view, i) => { const { width, height, cell } = sizeOf(view), [x, y] = placeOf(view, i, cell); return x > -cell / 2 && y > -cell / 2 && x < width - cell / 2 && y < height - cell / 2; };
function clamp(view) {
  const { width, height, cell } = sizeOf(view), over = (size, room) => Math.max(0, size - room);
  view.x = Math.min(Math.max(0, view.x), over(view.columns * cell, width)); view.y = Math.min(Math.max(0, view.y), over(view.rows * cell, height));
}
function zoomTo(view, zoom, px, py) {
  const before = sizeOf(view), most = Math.max(1, MAX_CELL / (before.cell / view.zoom)), to = Math.min(Math.max(1, zoom), most), by = to / view.zoom;
  view.x = (view.x + px) * by - px; view.y = (view.y + py) * by - py; view.zoom = to;
  clamp(view); paint(view);
}
// By a button or a key: to the block that matters, where one is in view, else around the middle.
const matters = (view) => (view.focused ? [view.at] : [...(view.data.lit?.blocks ?? []), ...view.touched, ...(view.zoom === 1 ? [used(view)] : [])]).find((i) => isInView(view, i)), used = ({ codes, n }) => { let i = 1; while (i < n && !(codes.charCodeAt(i) & 63)) i++; return i < n ? i : NaN; };
function zoomBy(view, by) {
  const { width, height } = sizeOf(view), i = matters(view); zoomTo(view, view.zoom * by, width / 2, height / 2);
  if (i !== undefined) { center(view, i); paint(view); }
}
function reset(view) { Object.assign(view, { zoom: 1, x: 0, y: 0 }); paint(view); }
function center(view, i) {
  const { width, height, cell } = sizeOf(view), [x, y] = placeOf(view, i, cell);
  view.x += x + cell / 2 - width / 2; view.y += y + cell / 2 - height / 2; clamp(view);
}

function listen(view) {
  const { canvas, fingers } = view;
  const at = (e) => { const r = canvas.getBoundingClientRect(); return [e.clientX - r.left, e.clientY - r.top]; };
  const under = (e) => {
    const [x, y] = at(e), { cell } = sizeOf(view), i = blockAt(view, Math.floor((x + view.x) / cell), Math.floor((y + view.y) / cell));
    return isFar(view, cell) && i >= 0 ? foremost(view, Math.floor(i / view.area)) : i;
  };
  canvas.addEventListener("wheel", (e) => {
    if (e.deltaY > 0 && view.zoom === 1) return; // nothing to zoom out of: the page scrolls
    e.preventDefault(); zoomTo(view, view.zoom * Math.exp(-e.deltaY / 300), ...at(e));
  }, { passive: false });
  canvas.onpointerdown = (e) => {
    if ((view.onMini = isOnMini(view, ...at(e)))) { view.moved = true; canvas.setPointerCapture(e.pointerId); return look(view, ...at(e)); }
    fingers.set(e.pointerId, at(e)); view.moved = fingers.size > 1; if (view.zoom > 1) canvas.setPointerCapture(e.pointerId);
  };
  canvas.onpointermove = (e) => {
    if (view.onMini) return look(view, ...at(e));
    const before = fingers.get(e.pointerId), [x, y] = at(e);
    if (!before) { const i = under(e); attr(canvas, "title", i < 0 ? "" : isFar(view, sizeOf(view).cell) ? tileLabel(view, Math.floor(i / view.area)) : view.label(i)); if (i !== view.under) { view.under = i; pointAt(i < 0 ? null : { block: i }); } return; }
    if (!view.moved && Math.hypot(x - before[0], y - before[1]) < 4) return;
    view.moved = true;
    const other = [...fingers].find(([id]) => id !== e.pointerId)?.[1];
    fingers.set(e.pointerId, [x, y]);
    view.x -= (x - before[0]) / fingers.size; view.y -= (y - before[1]) / fingers.size;
    if (other) zoomTo(view, view.zoom * Math.hypot(x - other[0], y - other[1]) / Math.max(1, Math.hypot(before[0] - other[0], before[1] - other[1])), (x + other[0]) / 2, (y + other[1]) / 2);
    else { clamp(view); paint(view); }
  };
  canvas.onpointerup = canvas.onpointercancel = (e) => { view.onMini = false; fingers.delete(e.pointerId); };
  canvas.onpointerleave = () => { if (view.under >= 0) { view.under = -1; pointAt(null); } };
  canvas.onclick = (e) => { const i = under(e); if (i < 0 || view.moved || e.detail > 1) return; view.at = i; view.pick(i); canvas.blur(); };
  canvas.ondblclick = (e) => { if (!view.moved) zoomTo(view, view.zoom * 3, ...at(e)); };
  canvas.onfocus = () => { view.focused = canvas.matches(":focus-visible"); paint(view); };
  canvas.onblur = () => { view.focused = false; paint(view); };
  canvas.onkeydown = (e) => press(view, e);
}

function press(view, e) {
  const by = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[e.key];
  if (e.ctrlKey || e.metaKey || e.altKey || (by && e.shiftKey)) return;
  if (by) {
    const [column, row] = gridOf(view, view.at), next = blockAt(view, column + by[0], row + by[1]);
    view.at = next < 0 ? view.at : next; say(view.live, view.label(view.at));
    if (!isInView(view, view.at)) center(view, view.at);
    paint(view);
  } else if (e.key === "Enter") view.pick(view.at);
  else if (e.key === "+" || e.key === "=") zoomBy(view, 2);
  else if (e.key === "-") zoomBy(view, .5);
  else if (e.key === "0") reset(view);
  else return;
  e.preventDefault(); e.stopPropagation();
}

// The theme's colours, as CSS and as one little-endian pixel each.
function palette(view) {
  const theme = getComputedStyle(view.holder).color;
  if (view.colours?.theme === theme) return view.colours;
  const one = document.createElement("canvas"); one.width = one.height = 1;
  const context = one.getContext("2d", { willReadFrequently: true }), probe = view.holder.appendChild(el("i")), colours = { theme, css: {}, pixel: {} };
  for (const name of [...NAMES_OF, "touched", "page", "line", ...NAMES_OF.map((state) => `${state}-ink`)]) {
    probe.className = `probe ${name}`; colours.css[name] = context.fillStyle = getComputedStyle(probe).color;
    context.clearRect(0, 0, 1, 1); context.fillRect(0, 0, 1, 1); colours.pixel[name] = new Uint32Array(context.getImageData(0, 0, 1, 1).data.buffer)[0];
  }
  probe.remove(); view.image = view.mini = null;
  return view.colours = colours;
}

// One pixel per block. A byte of the payload says which: the colours of all 256 are looked up once.
function imageOf(view, { pixel }) {
  if (view.image) return view.image;
  const { columns, rows, n, codes, side, area, across } = view, image = document.createElement("canvas"), data = new ImageData(columns, rows), pixels = new Uint32Array(data.data.buffer);
  const table = Uint32Array.from({ length: 256 }, (_, code) => pixel[(code & 63) > 1 ? "shared" : code & 63 ? "used" : code >> 6 ? "remembered" : "free"]);
  for (let tile = 0, i = 0; i < n; tile++) {
    const corner = Math.floor(tile / across) * side * columns + tile % across * side;
    for (let within = 0; within < area && i < n; within++, i++) pixels[corner + Math.floor(within / side) * columns + within % side] = i < codes.length ? table[codes.charCodeAt(i)] : pixel.unused;
  }
  pixels[0] = pixel.null;
  image.width = columns; image.height = rows; image.getContext("2d").putImageData(data, 0, 0);
  return view.image = image;
}

function paint(view) {
  const { canvas, columns, rows, n, data } = view, { width, height, cell } = sizeOf(view), scale = globalThis.devicePixelRatio || 1;
  if (!width || !data) return;
  const colours = palette(view), context = canvas.getContext("2d"), pixelsWide = Math.round(width * scale), pixelsHigh = Math.round(height * scale);
  if (canvas.width !== pixelsWide || canvas.height !== pixelsHigh) { canvas.width = pixelsWide; canvas.height = pixelsHigh; }
  context.setTransform(scale, 0, 0, scale, 0, 0); context.clearRect(0, 0, width, height); context.imageSmoothingEnabled = false;
  const far = isFar(view, cell);
  if (far) tiles(context, view, colours, cell); else context.drawImage(imageOf(view, colours), -view.x, -view.y, columns * cell, rows * cell);
  say(part(view.holder.parentElement, "level"), far ? fill(data.words.far, { n: view.area }) : data.words.near + (view.side > 1 ? fill(data.words.tiled, { n: view.area, side: view.side }) : "") + (cell < LINED_CELL ? "" : data.words.lined));
  const first = Math.max(0, Math.floor(view.y / cell)), last = Math.min(rows - 1, Math.floor((view.y + height) / cell)), left = Math.max(0, Math.floor(view.x / cell)), right = Math.min(columns - 1, Math.floor((view.x + width) / cell));
  if (cell >= 6) lines(context, view, colours, { cell, width, height, first, last, left, right });
  if (cell >= TEXT_CELL) for (let row = first; row <= last; row++) for (let column = left; column <= right; column++) {
    const i = blockAt(view, column, row); if (i >= 0) numbers(context, view, colours, i, cell);
  }
  const ring = (i, colour, pad, dash = []) => {
    const [x, y] = placeOf(view, i, cell), w = Math.max(cell, 5) + pad;
    if (x < -w || y < -w || x > width + w || y > height + w) return;
    context.strokeStyle = colour; context.lineWidth = 2; context.setLineDash(dash); context.strokeRect(x + cell / 2 - w / 2, y + cell / 2 - w / 2, w, w);
  };
  if (!far) view.touched.forEach((i) => ring(i, colours.css.touched, cell > 10 ? -3 : 1));
  (data.lit?.blocks ?? []).forEach((i) => ring(i, colours.theme, cell > 10 ? 0 : 4, i === data.lit.own?.block ? [] : [3, 2]));
  if (view.what?.block !== undefined) ring(view.what.block, colours.theme, cell > 10 ? 1 : 6);
  if (view.focused) ring(view.at, colours.theme, cell > 10 ? 4 : 9);
  context.setLineDash([]);
  minimap(context, view, colours);
  const { zoom, x, y, at, seen } = view; Object.assign(kept("pool", () => ({})), { n, zoom, x, y, at, seen });
  attr(view.holder, "data-zoomed", view.zoom > 1); view.buttons.zoom_reset.hidden = view.zoom === 1; view.buttons.zoom_out.disabled = view.zoom === 1;
  view.buttons.zoom_in.disabled = cell >= MAX_CELL - .01; attr(view.holder, "data-cell", cell.toFixed(1));
}

// How many blocks of each tile are in each state, worst first.
const WORST = ["shared", "used", "remembered", "free"];
function tilesOf(view) {
  if (view.tiles) return view.tiles;
  const { codes, area } = view, counts = new Uint16Array(view.numTiles * 4); for (let i = 1; i < codes.length; i++) { const code = codes.charCodeAt(i), ref = code & 63; counts[Math.floor(i / area) * 4 + (ref > 1 ? 0 : ref ? 1 : code >> 6 ? 2 : 3)]++; }
  return view.tiles = counts;
}
// A cell of many blocks is filled from below by the share of each state; what is in use shows, however little it is.
function tiles(context, view, { css }, cell) {
  const counts = tilesOf(view), size = cell * view.side, gap = size > 4 ? 1 : .5, touched = new Set(view.touched.map((i) => Math.floor(i / view.area)));
  for (let tile = 0; tile < view.numTiles; tile++) {
    const [x, y, right, bottom] = [tile % view.across, Math.floor(tile / view.across), tile % view.across + 1, Math.floor(tile / view.across) + 1].map((at, i) => Math.round(at * size - (i % 2 ? view.y : view.x)));
    const w = right - x - gap, h = bottom - y - gap;
    context.fillStyle = css.unused; context.fillRect(x, y, w, h);
    let from = y + h;
    for (let kind = 0; kind < 4; kind++) {
      const count = counts[tile * 4 + kind]; if (!count) continue;
      const high = Math.min(from - y, Math.max(kind < 2 ? 2 : 1, Math.round(count / view.area * h)));
      context.fillStyle = css[WORST[kind]]; context.fillRect(x, from - high, w, high); from -= high;
    }
  }
  context.strokeStyle = css.touched; context.lineWidth = 1.5; context.setLineDash([]);
  touched.forEach((tile) => context.strokeRect(tile % view.across * size - view.x - 1, Math.floor(tile / view.across) * size - view.y - 1, size + 1, size + 1));
}
function tileLabel(view, tile) {
  const [shared, used, remembered] = tilesOf(view).subarray(tile * 4, tile * 4 + 3), first = tile * view.area;
  return fill(view.data.words.tile, { first, last: Math.min(view.n, first + view.area) - 1, used: used + shared, shared, cached: remembered });
}
// The block that a click on a tile means: the first that changes now, is shared, in use, remembered, free.
function foremost(view, tile) {
  const first = tile * view.area, now = view.touched.find((i) => Math.floor(i / view.area) === tile), stop = Math.min(view.n, first + view.area); if (now !== undefined) return now;
  for (const state of WORST) for (let i = first; i < stop; i++) if (cellOf(view, i).state === state) return i;
  return first;
}

// Where one is, in the corner of a picture that is zoomed in: each pixel is a tile, in its worst state.
function miniOf(view) {
  if (view.zoom <= 1.01) return null;
  const { width, height } = sizeOf(view), by = MINI / Math.max(view.across, view.down);
  return { x: 5, y: height - view.down * by - 5, w: view.across * by, h: view.down * by, whole: view.columns * sizeOf(view).cell, width, height };
}
const isOnMini = (view, x, y) => { const m = miniOf(view); return Boolean(m) && x >= m.x && y >= m.y && x <= m.x + m.w && y <= m.y + m.h; };
function look(view, x, y) {
  const mini = miniOf(view), by = mini ? mini.whole / mini.w : 0; if (!mini) return;
  view.x = (x - mini.x) * by - mini.width / 2; view.y = (y - mini.y) * by - mini.height / 2; clamp(view); paint(view);
}
function minimap(context, view, colours) {
  const mini = miniOf(view); if (!mini) return; context.fillStyle = colours.css.page; context.fillRect(mini.x - 2, mini.y - 2, mini.w + 4, mini.h + 4); context.drawImage(miniImage(view, colours), mini.x, mini.y, mini.w, mini.h);
  const by = mini.w / mini.whole, [w, h] = [Math.max(4, Math.min(mini.w, mini.width * by)), Math.max(4, Math.min(mini.h, mini.height * by))];
  context.lineWidth = 1; context.strokeStyle = colours.theme; context.globalAlpha = .5; context.strokeRect(mini.x - 1.5, mini.y - 1.5, mini.w + 3, mini.h + 3);
  context.globalAlpha = 1; context.lineWidth = 1.5; context.strokeRect(mini.x + view.x * by, mini.y + view.y * by, w, h);
}
function miniImage(view, { pixel }) {
  if (view.mini) return view.mini;
  const image = document.createElement("canvas"), data = new ImageData(view.across, view.down), pixels = new Uint32Array(data.data.buffer), counts = tilesOf(view);
  for (let tile = 0; tile < view.numTiles; tile++) { const kind = WORST.findIndex((_, each) => counts[tile * 4 + each]); pixels[tile] = kind < 0 ? pixel.unused : pixel[WORST[kind]]; }
  image.width = view.across; image.height = view.down; image.getContext("2d").putImageData(data, 0, 0);
  return view.mini = image;
}

function lines(context, view, { css }, { cell, width, height, first, last, left, right }) {
  context.strokeStyle = css.line; context.lineWidth = 1; context.setLineDash([]); context.beginPath();
  for (let row = first; row <= last + 1; row++) { const y = row * cell - view.y; context.moveTo(0, y); context.lineTo(width, y); }
  for (let column = left; column <= right + 1; column++) { const x = column * cell - view.x; context.moveTo(x, 0); context.lineTo(x, height); }
  context.stroke();
}

// Block id, ref count where it is shared, and the bar of a hash, as in the cells of a small pool.
function numbers(context, view, { css }, i, cell) {
  const { state, ref, hash } = cellOf(view, i), [x, y] = placeOf(view, i, cell), id = String(i), isShared = state === "shared", room = cell - 4;
  const size = Math.min(12, room / (id.length * .61), isShared ? cell * .42 : cell * .6), font = getComputedStyle(view.holder).getPropertyValue("--st-code-font") || "monospace";
  context.fillStyle = css[`${state}-ink`]; context.textAlign = "center"; context.textBaseline = "middle";
  if (size >= 6.5) { context.font = `600 ${size}px ${font}`; context.fillText(id, x + cell / 2, y + cell * (isShared ? .62 : .48)); }
  if (isShared) { context.font = `600 ${Math.min(10, cell * .36)}px ${font}`; context.fillText(`×${ref}`, x + cell / 2, y + cell * .26); }
  if (!hash || cell < LINED_CELL) return;
  context.strokeStyle = css[`${state}-ink`]; context.lineWidth = 2; context.setLineDash(hash === 1 ? [3, 3] : []); context.beginPath();
  context.moveTo(x + cell * .18, y + cell - 4); context.lineTo(x + cell * .82, y + cell - 4); context.stroke();
}
