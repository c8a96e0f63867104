// Blocks over time, on one canvas in screen pixels: a few thousand runs are drawn in about a millisecond.
const pictures = new WeakMap(); // root -> what the picture needs between two payloads
const UNUSED = 0, FREE = 1, REMEMBERED = 2, USED = 3, SHARED = 4, EVICTED = 8, RUNNING = 1, PREEMPTED = 2, FINISHED = 3;
const AXIS = 16, GAP = 7, STEPS = [1, 2, 4, 5, 8, 10, 16, 20, 25, 32, 50, 64, 100, 128];

function present({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  const memory = pictures.get(root) ?? { at: [0, 0] };
  pictures.set(root, memory);
  Object.assign(memory, { data, send: setTriggerValue, rows: unpacked(data.cells, data.num_rows, data.targets.length), own: data.own && unpacked(data.own.cells, 1, data.targets.length)[0] });
  head(root, data.title, data.hint);
  zooms(root, data, setTriggerValue);
  say(part(root, "nothing"), data.empty); part(root, "nothing").hidden = !data.empty;
  const body = part(root, "body"), gutter = part(body, "gutter"), canvas = part(body, "strip", "canvas");
  body.hidden = Boolean(data.empty);
  say(part(root, "left"), data.left_out); part(root, "left").hidden = !data.left_out;
  const readout = part(root, "readout"); attr(readout, "aria-live", "polite"); if (memory.invites !== data.words.cursor) { memory.invites = data.words.cursor; say(readout, memory.invites); }
  memory.at = [Math.min(memory.at[0], data.targets.length - 1), memory.at[1]];
  memory.redraw = () => { plan(memory, canvas); labels(gutter, memory); link(root, memory.data, memory.send); onHover(root, (what) => { memory.hover = what; paint(canvas, memory, root); }); paint(canvas, memory, root); };
  if (!memory.resize) { memory.resize = new ResizeObserver(() => memory.redraw()); memory.resize.observe(canvas); }
  wire(canvas, memory, readout);
  memory.redraw();
  const statuses = ["waiting", "running", "preempted"].map((name, i) => [name, data.statuses[i]]).filter((_, i) => data.lanes.some((lane) => lane.some(([, runs]) => runs.some((value, k) => k % 2 && value === i))));
  legend(root, [...data.states, ...(memory.rows.some((row) => row.some((cell) => cell & EVICTED)) ? [["evicted", data.words.evicted]] : []), ...statuses]);
}

// Two cells a byte, row after row.
function unpacked(packed, rows, columns) {
  const bytes = atob(packed), cell = (i) => bytes.charCodeAt(i >> 1) >> (i % 2 ? 0 : 4) & 15;
  return Array.from({ length: rows }, (_, row) => Uint8Array.from({ length: columns }, (_, column) => cell(row * columns + column)));
}

function zooms(root, data, send) {
  const line = root.querySelector(".head"), group = part(line, "zooms");
  group.hidden = !data.zooms.length; attr(group, "role", "group");
  sync(group, data.zooms, () => actButton("zoom"), (node, [name, word, on]) => {
    say(node, word); attr(node, "aria-pressed", String(on));
    node.onclick = (e) => { if (!on) send("zoom", name); released(e); };
  });
}

// Heights and places, from the width that there is: lanes above, rows below, the axis at the foot.
function plan(memory, canvas) {
  const { data } = memory, columns = data.targets.length, width = canvas.clientWidth, own = data.own ? 1 : 0;
  const lane = data.lanes.length > 12 ? 8 : data.lanes.length > 6 ? 11 : 14, row = Math.max(2, Math.min(16, 264 / Math.max(1, data.num_rows)));
  const rowsTop = data.lanes.length * lane + (data.lanes.length ? GAP : 0) + own * 22;
  memory.plan = { columns, width, lane, row, rowsTop, column: Math.min(28, width / columns), height: rowsTop + data.num_rows * row + AXIS };
  canvas.style.height = `${Math.ceil(memory.plan.height)}px`;
}
const firstBlock = (data, row) => row * data.per_row + 1;
const rowOf = (data, block) => { const row = Math.floor((block - 1) / data.per_row); return block > 0 && row < data.num_rows ? row : -1; };
const rowName = (data, row) => data.per_row === 1 ? String(row + 1) : `${firstBlock(data, row)}–${Math.min((row + 1) * data.per_row, data.num_used)}`;
const valueAt = (runs, column) => { let value = 0; for (let i = 0; i < runs.length && runs[i] <= column; i += 2) value = runs[i + 1]; return value; };

// Names at the left, one for each lane and for as many rows as have room. Each is a button that selects.
function labels(gutter, memory) {
  const { data, plan: { lane, row, rowsTop } } = memory, places = [];
  data.lanes.forEach((requests, i) => { if (lane > 8 && requests.length === 1) places.push({ request: data.names[requests[0][0]], top: i * lane, height: lane }); });
  const every = STEPS.find((n) => n * row >= 11) ?? 256, chosen = data.lit?.own?.block;
  if (data.own) places.push({ block: data.own.block, top: rowsTop - 20, height: 14 });
  memory.rows.forEach((_, i) => { if (i % every === 0) places.push({ block: firstBlock(data, i), top: rowsTop + i * row, height: row }); });
  const mine = data.per_row === 1 && chosen ? rowOf(data, chosen) : -1;
  if (mine >= 0 && mine % every) {
    const near = places.find((place) => place.block && Math.abs(place.top - rowsTop - mine * row) < 11); if (near) places.splice(places.indexOf(near), 1);
    places.push({ block: chosen, top: rowsTop + mine * row, height: row });
  }
  sync(gutter, places, () => { const b = el("button", "name"); b.type = "button"; return b; }, (node, place) => {
    const kind = place.request === undefined ? "block" : "request", text = String(place[kind]);
    for (const name of ["block", "request"]) attr(node, `data-${name}`, place[name]);
    attr(node, "data-select", kind); say(node, text); attr(node, "title", text);
    attr(node, "aria-label", kind === "block" ? fill(data.words.block, { block: text }) : null);
    node.style.top = `${place.top + place.height / 2 - 7}px`;
  });
}

function paint(canvas, memory, root) {
  const { data, plan } = memory, { columns, width, lane, row, rowsTop, column, height } = plan;
  if (!width) return;
  const scale = globalThis.devicePixelRatio || 1, context = canvas.getContext("2d"), ink = inks(root);
  canvas.width = Math.round(width * scale); canvas.height = Math.round(height * scale); context.scale(scale, scale);
  const each = (runs, draw) => { for (let i = 0; i < runs.length; i += 2) { const end = i + 2 < runs.length ? runs[i + 2] : columns; draw(runs[i] * column, (end - runs[i]) * column, runs[i + 1], i + 2 >= runs.length); } };
  const rect = (colour, x, y, w, h) => { context.fillStyle = colour; context.fillRect(x, y, w, h); };
  rect(ink.ground, 0, rowsTop, columns * column, data.num_rows * row);
  data.lanes.forEach((requests, i) => requests.forEach(([, runs]) => each(runs, (x, w, status) => drawStatus(context, ink, { x, w, status, y: i * lane + 1.5, h: lane - 4 }))));
  const across = (cells, draw) => { for (let i = 0, end; i < cells.length; i = end) { const code = cells[i] % EVICTED; end = i + 1; while (end < cells.length && cells[end] % EVICTED === code) end++; draw(i * column, (end - i) * column, code); } };
  const bar = (y, h) => (x, w, code) => {
    const tall = { [FREE]: .3, [REMEMBERED]: .62, [USED]: 1, [SHARED]: 1 }[code], full = h > 5 ? h - 1 : h;
    if (code === UNUSED) return;
    rect([0, ink.free, ink.remembered, ink.used, ink.shared][code], x, y + full - Math.max(1, full * tall), w, Math.max(1, full * tall));
    if (code === SHARED && full >= 3) rect(ink["shared-ink"], x, y + full / 2 - .5, w, full > 9 ? 1.5 : 1);
  };
  if (data.own) across(memory.own, bar(rowsTop - 20, 15));
  memory.rows.forEach((cells, i) => across(cells, bar(rowsTop + i * row, row)));
  memory.rows.forEach((cells, i) => cells.forEach((cell, at) => { if (cell & EVICTED) rect(ink["lost-line-ink"], at * column - Math.min(1, column / 4), rowsTop + i * row, Math.min(2, column / 2), Math.max(2, row)); }));
  axis(context, memory, ink);
  const x = (data.at + .5) * column;
  context.globalAlpha = .5; rect(ink.page, x, 0, columns * column - x, height - AXIS); context.globalAlpha = 1;
  rings(context, memory, ink);
  rect(ink["touched-ink"], x - .75, 0, 1.5, height - AXIS + 3);
}

function drawStatus(context, ink, { x, w, status, y, h }) {
  const top = y + h / 2;
  if (status === RUNNING) { context.fillStyle = ink.computed; context.fillRect(x, y, w, h); context.fillStyle = ink.used; context.fillRect(x, y + h - 2, w, 2); }
  else if (status === FINISHED) { context.fillStyle = ink["quiet-ink"]; context.fillRect(x, y, 1.5, h); }
  else {
    context.strokeStyle = status === PREEMPTED ? ink["lost-line-ink"] : ink["quiet-ink"]; context.lineWidth = status === PREEMPTED ? 2 : 1;
    context.setLineDash(status === PREEMPTED ? [5, 3] : [1.5, 2.5]); context.beginPath(); context.moveTo(x, top); context.lineTo(x + w, top); context.stroke(); context.setLineDash([]);
  }
}

function axis(context, { data, plan: { columns, column, rowsTop, row } }, ink) {
  const y = rowsTop + data.num_rows * row; let free = -1;
  context.font = `10px ${ink.font}`; context.fillStyle = ink["quiet-ink"]; context.textBaseline = "top";
  for (let i = 0; i < columns; i++) {
    if (i && data.steps[i] === data.steps[i - 1]) continue;
    const x = i * column, text = (free < 0 ? `${data.words.axis} ` : "") + data.steps[i];
    if (columns * column / (data.steps[columns - 1] - data.steps[0] + 1) > 5) context.fillRect(x, y, 1, 4);
    if (x < free || x + context.measureText(text).width > columns * column) continue;
    context.fillRect(x, y, 1, 6); context.fillText(text, x + 3, y + 4); free = x + context.measureText(text).width + 16;
  }
}

// The chosen block and request, what is the same elsewhere, what the pointer is on, and the keyboard's place.
function rings(context, memory, ink) {
  const { data, plan: { columns, column, lane, row, rowsTop }, hover } = memory, lit = data.lit ?? {}, wide = columns * column;
  const ring = (y, h, dash) => { context.setLineDash(dash); context.strokeStyle = ink.text; context.lineWidth = dash.length ? 1 : 1.5; context.strokeRect(.75, y - 1, wide - 1.5, Math.max(4, h + 1)); context.setLineDash([]); };
  const block = (id, dash) => { const i = rowOf(data, id); if (i >= 0) ring(rowsTop + i * row, row, dash); };
  const request = (id, dash) => data.lanes.forEach((requests, i) => { if (requests.some(([number]) => data.names[number] === id)) ring(i * lane + 1, lane - 3, dash); });
  if (data.num_rows <= 64 || (lit.blocks ?? []).length < 9) (lit.blocks ?? []).forEach((id) => { if (id !== lit.own?.block) block(id, [4, 3]); });
  (lit.requests ?? []).forEach((id) => { if (id !== lit.own?.request) request(id, [4, 3]); });
  if (lit.own?.block !== undefined) block(lit.own.block, []);
  if (lit.own?.request !== undefined && lit.own.token === undefined) request(lit.own.request, []);
  if (hover?.block !== undefined) block(hover.block, [1, 1]);
  if (hover?.request !== undefined) request(hover.request, [1, 1]);
  if (memory.focused) {
    const [x, line] = memory.at, own = data.lanes.length; context.strokeStyle = ink.text; context.lineWidth = 2;
    const [y, h] = line < own ? [line * lane, lane] : [rowsTop + (line - own) * row, row];
    context.strokeRect(x * column - 3, y - 3, Math.max(column, 4) + 6, h + 6);
  }
}

function inks(root) {
  const probe = part(root, "probe", "i"), found = { font: getComputedStyle(root).fontFamily, text: getComputedStyle(root).color };
  const take = (name, colour) => { probe.style.color = colour; found[name] = getComputedStyle(probe).color; };
  for (const name of ["remembered", "used", "shared", "shared-ink", "computed", "lost-line-ink", "touched-ink", "quiet-ink"]) take(name, `var(--pw-${name})`);
  take("free", "color-mix(in srgb, var(--pw-free-ink) 55%, var(--pw-free))");
  take("ground", "color-mix(in srgb, var(--st-text-color) 4%, transparent)"); take("page", "var(--st-background-color)");
  return found;
}

// What lies under a place of the canvas: a column, and a line counted over lanes and rows.
function under(canvas, { plan: { column, columns, lane, row, rowsTop }, data }, event) {
  const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  const at = Math.max(0, Math.min(columns - 1, Math.floor(x / column))), own = data.lanes.length;
  if (y < own * lane) return { column: at, line: Math.floor(y / lane) };
  if (data.own && y < rowsTop && y > rowsTop - 22) return { column: at, own: true };
  const i = Math.floor((y - rowsTop) / row);
  return { column: at, line: i >= 0 && i < data.num_rows ? own + i : undefined };
}
function tell(memory, { column, line, own }) {
  const { data } = memory, step = fill(data.words.hover_step, { step: data.steps[column] }), lanes = data.lanes.length;
  if (own) return [`${fill(data.words.hover_state, { block: data.own.block, state: data.states[memory.own[column] % EVICTED][1] })} · ${step}`, { block: data.own.block }];
  if (line === undefined) return [step, null];
  if (line < lanes) {
    const found = data.lanes[line].find(([, runs]) => runs[0] <= column && (column <= runs[runs.length - 2] || runs[runs.length - 1] !== FINISHED)) ?? (data.lanes[line].length === 1 && column >= data.lanes[line][0][1][0] ? data.lanes[line][0] : null);
    if (!found) return [step, null];
    const request = data.names[found[0]];
    return [`${fill(data.words.hover_lane, { request, state: data.statuses[valueAt(found[1], column)] })} · ${step}`, { request }];
  }
  const row = line - lanes, cell = memory.rows[row][column], code = cell % EVICTED, taker = code !== UNUSED && data.takers ? data.names[valueAt(data.takers[row], column)] : undefined;
  const words = data.per_row > 1 ? data.words.hover_many : taker === undefined ? data.words.hover_state : data.words.hover;
  return [`${fill(words, { block: rowName(data, row), state: data.states[code][1], request: taker })} · ${step}${cell & EVICTED ? ` · ${data.words.evicted}` : ""}`, data.per_row === 1 ? { block: row + 1 } : null];
}

function wire(canvas, memory, readout) {
  canvas.tabIndex = 0; attr(canvas, "role", "application"); attr(canvas, "aria-label", `${titled(memory.data.title, memory.data.hint)}. ${memory.data.words.keys}`);
  const show = (place) => { const [text, what] = tell(memory, place); say(readout, text); return what; };
  canvas.onpointermove = (e) => { const what = show(under(canvas, memory, e)); if (JSON.stringify(what) !== JSON.stringify(memory.pointed)) { memory.pointed = what; pointAt(what); } };
  canvas.onpointerleave = () => { memory.pointed = null; pointAt(null); say(readout, memory.data.words.cursor); };
  canvas.onclick = (e) => {
    const place = under(canvas, memory, e); if (place.line !== undefined) memory.at = [place.column, place.line];
    memory.send("chosen", memory.data.targets[place.column]); canvas.blur();
  };
  canvas.onfocus = () => { memory.focused = canvas.matches(":focus-visible"); memory.redraw(); };
  canvas.onblur = () => { memory.focused = false; memory.redraw(); };
  canvas.onkeydown = (e) => {
    const by = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[e.key];
    if (e.key === "Enter") { memory.send("chosen", memory.data.targets[memory.at[0]]); e.preventDefault(); e.stopPropagation(); }
    if (!by || e.shiftKey) return;
    const { data, plan } = memory, lines = data.lanes.length + data.num_rows;
    memory.at = [Math.max(0, Math.min(plan.columns - 1, memory.at[0] + by[0])), Math.max(0, Math.min(lines - 1, memory.at[1] + by[1]))];
    memory.focused = true; show({ column: memory.at[0], line: memory.at[1] }); memory.redraw(); e.preventDefault(); e.stopPropagation();
  };
}
