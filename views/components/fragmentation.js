// Three memories of the same requests, slot by slot, to scale; curves over the steps; the requests to choose from.
const LOOKS = 6, TALL = 24, LOW = 16, GAP = 3, MAX_ROWS = 12, DASHES = { reserved: [2, 3], growing: [7, 4], paged: [] };
const format = new Intl.NumberFormat("en-US"), n = (value) => format.format(value), clampTo = (value, low, high) => Math.max(low, Math.min(high, value));
const percent = (value) => value.toFixed(value > 0 && value < 1 ? 2 : 1);
const memoryOf = () => kept("fragmentation", () => ({ step: 0, source: undefined, chosen: null, playing: false }));

function present({ data, parentElement }) {
  const root = parentElement.querySelector(".root"), memory = memoryOf();
  head(root, data.title, data.note);
  const said = part(root, "complaints"); said.hidden = !data.complaints.length; attr(said, "role", "status");
  sync(said, data.complaints, () => el("p"), (line, sentence) => say(line, sentence));
  const last = Math.max(0, data.num_steps - 1), source = data.address.lengths;
  if (memory.source !== source) { memory.step = (memory.source === undefined ? data.at : null) ?? data.start; memory.chosen = null; halt(memory); }
  if (memory.root !== root) halt(memory);
  Object.assign(memory, { root, data, source, last, step: clampTo(memory.step, 0, last), folds: data.allocators.map(() => ({ at: -1, regions: new Map() })) });
  say(part(root, "nothing"), data.empty); part(root, "nothing").hidden = !data.empty;
  for (const cls of ["verdict", "time", "cards", "readout", "keys", "charts", "requests"]) part(root, cls).hidden = Boolean(data.empty);
  if (data.empty) return undefined;
  time(memory); cards(memory); legend(part(root, "keys"), ["used", "held_empty", "too_short", "free"].map((kind) => [kind, data.words[kind]]));
  charts(memory); requests(memory);
  if (!memory.resize || memory.watched !== root) { memory.resize?.disconnect(); memory.watched = root; memory.resize = new ResizeObserver(() => show(memory)); memory.resize.observe(part(root, "cards")); }
  show(memory);
  return () => { if (memory.root === root) halt(memory); };
}

// Time ---------------------------------------------------------------------------------------------
function time(memory) {
  const { root, data, last } = memory, line = part(root, "time"), { words } = data;
  attr(line, "role", "group"); attr(line, "aria-label", words.slider);
  if (!line.firstChild) {
    for (const [name, sign] of [["first", "|<"], ["back", "<"], ["play", ""], ["forward", ">"], ["last", ">|"]]) { const b = actButton(name); say(b, sign); line.append(b); }
    const slider = el("input", "range"); slider.type = "range"; slider.min = 0; line.append(slider, el("span", "where"));
  }
  const [first, back, play, forward, end, slider] = line.children;
  const go = (step) => { halt(memory); move(memory, step); };
  [[first, "first", () => go(0)], [back, "back", () => go(memory.step - 1)], [forward, "forward", () => go(memory.step + 1)], [end, "last", () => go(memory.last)]]
    .forEach(([button, name, act]) => { attr(button, "aria-label", words[name]); attr(button, "title", words[name]); button.onclick = (e) => { act(); released(e); }; });
  play.onclick = (e) => { if (memory.playing) halt(memory); else begin(memory); say(play, memory.playing ? words.pause : words.play); released(e); };
  say(play, memory.playing ? words.pause : words.play);
  attr(slider, "aria-label", words.slider); attr(slider, "max", String(last));
  slider.oninput = () => go(Number(slider.value));
}
function begin(memory) {
  if (memory.step >= memory.last) memory.step = 0;
  memory.playing = true;
  memory.timer = setInterval(() => {
    if (!memory.root.isConnected || memory.step >= memory.last) halt(memory); else move(memory, memory.step + 1);
  }, clampTo(20_000 / Math.max(1, memory.last), 60, 600));
}
function halt(memory) {
  clearInterval(memory.timer); memory.playing = false;
  const play = memory.root?.querySelector(".time > .play"); if (play && memory.data) say(play, memory.data.words.play);
}
function move(memory, step) { memory.step = clampTo(step, 0, memory.last); show(memory); }

// The address: written when nothing has moved for a moment, because browsers allow few changes a second.
function address(memory) {
  clearTimeout(memory.writing);
  memory.writing = setTimeout(() => {
    if (!memory.root.isConnected) return;
    const url = new URL(location.href);
    const wanted = { ...memory.data.address, at: memory.step };
    for (const name of ["example", "run", ...Object.keys(wanted)]) if (wanted[name] === undefined) url.searchParams.delete(name); else url.searchParams.set(name, wanted[name]);
    if (url.href !== location.href) history.replaceState(history.state, "", url);
  }, 250);
}

// What stands where in a step: the changes up to it, one after the other -----------------------------
function regionsAt(memory, which) {
  const fold = memory.folds[which], { changes } = memory.data.allocators[which], to = Math.min(memory.step, changes.length - 1);
  if (to < fold.at) { fold.at = -1; fold.regions.clear(); }
  for (; fold.at < to; fold.at += 1) {
    const flat = changes[fold.at + 1];
    for (let i = 0; i < flat.length; i += 4) if (flat[i + 1]) fold.regions.set(flat[i], flat.slice(i, i + 4)); else fold.regions.delete(flat[i]);
  }
  return [...fold.regions.values()].sort((one, other) => one[0] - other[0]);
}
const at = (memory, series) => series[Math.min(memory.step, series.length - 1)];
const requestName = (memory, number) => memory.data.requests[number].id;

function show(memory) {
  const { root, data, step, last } = memory, { words } = data;
  if (data.empty || !root.isConnected) return;
  const [, , , , , slider, where] = part(root, "time").children;
  slider.value = step; say(where, fill(words.step, { step: n(step), last: n(last) })); attr(slider, "aria-valuetext", where.textContent);
  const live = Object.fromEntries(data.allocators.map((one) => [one.kind, n(at(memory, one.live) ?? 0)]));
  say(part(root, "verdict"), fill(words.verdict, { step: n(step), come: data.requests.filter((request) => request.arrival <= step).length, all: data.requests.length, ...live }));
  memory.now = data.allocators.map((_, which) => regionsAt(memory, which));
  const ink = inks(root);
  data.allocators.forEach((one, which) => { facts(memory, which); strip(memory, which, ink); });
  [...part(root, "charts").children].forEach((node) => curve(memory, node, ink));
  states(memory); readout(memory); address(memory);
}

// The three cards ----------------------------------------------------------------------------------
function cards(memory) {
  const make = () => {
    const card = el("section", "card"), title = el("h3"), counts = el("p", "counts"), facts = el("div", "facts");
    title.append(el("span", "name"), el("i", "line")); facts.append(...["waste", "internal", "external", "extra"].map((cls) => el("p", cls)));
    card.append(title, el("p", "how"), counts, el("canvas", "strip"), facts, el("p", "total"));
    return card;
  };
  sync(part(memory.root, "cards"), memory.data.allocators, make, (card, one, which) => {
    const [title, how, , canvas, , total] = card.children;
    attr(card, "data-kind", one.kind); say(title.firstChild, one.name); say(how, one.how); say(total, one.total.join(" · "));
    attr(canvas, "role", "img");
    canvas.onpointermove = (e) => { memory.pointed = under(memory, which, e); readout(memory); };
    canvas.onpointerleave = () => { memory.pointed = null; readout(memory); };
    canvas.onclick = (e) => { const found = under(memory, which, e); choose(memory, found?.region ? found.region[3] : null); };
  });
}
function facts(memory, which) {
  const { data } = memory, one = data.allocators[which], { words } = data, card = part(memory.root, "cards").children[which];
  const [, , counts, canvas, lines] = card.children, [waste, internal, external, extra] = lines.children;
  const { used = 0, internal: empty = 0, external: short = 0, free = 0 } = Object.fromEntries(Object.entries(one.usage).map(([name, series]) => [name, at(memory, series)]));
  const taken = used + empty + short, next = at(memory, one.next), copied = at(memory, one.copied), preempted = at(memory, one.preempted);
  say(counts, fill(words.live, { live: n(at(memory, one.live) ?? 0), waiting: n((at(memory, one.waiting) ?? []).length) }));
  say(waste, taken ? fill(words.waste, { percent: percent(100 * (empty + short) / taken), wasted: n(empty + short), taken: n(taken) }) : words.no_waste);
  say(internal, fill(words.internal, { n: n(empty) }));
  const about = one.kind === "paged" ? words.remainder : next ? words.external : words.nobody_next;
  say(external, fill(about, { n: n(short), piece: next && n(next[1]), request: next && requestName(memory, next[0]) }));
  say(extra, [copied || one.kind === "growing" ? fill(words.copied, { n: n(copied ?? 0) }) : "", preempted ? fill(words.preempted, { n: n(preempted) }) : ""].filter(Boolean).join(" · "));
  attr(canvas, "aria-label", fill(words.picture, { name: one.name, used: n(used), internal: n(empty), external: n(short), free: n(free) }));
}

// A memory, wrapped into rows like a text. All three have the same scale.
function plan(memory, width) {
  const { capacity, block_size: size } = memory.data, wanted = clampTo(Math.ceil(capacity * 2.2 / Math.max(1, width)), 1, MAX_ROWS);
  const least = Math.ceil(capacity / wanted), perRow = size < least ? Math.ceil(least / size) * size : least, rows = Math.ceil(capacity / perRow);
  const height = rows > 4 ? LOW : TALL;
  return { perRow, rows, height, slot: width / perRow, tall: rows * (height + GAP) - GAP };
}
function sized(canvas, width, height) {
  const scale = globalThis.devicePixelRatio || 1, context = canvas.getContext("2d");
  canvas.width = Math.round(width * scale); canvas.height = Math.round(height * scale); canvas.style.height = `${height}px`;
  context.scale(scale, scale);
  return context;
}
// The parts of a range of slots, one for each row that it touches: (x, y, width).
function pieces({ perRow, height, slot }, start, stop, each) {
  for (let from = start; from < stop;) {
    const row = Math.floor(from / perRow), to = Math.min(stop, (row + 1) * perRow);
    each((from - row * perRow) * slot, row * (height + GAP), (to - from) * slot); from = to;
  }
}
function strip(memory, which, ink) {
  const { data } = memory, canvas = part(memory.root, "cards").children[which].querySelector(".strip"), width = canvas.clientWidth;
  if (!width) return;
  const shape = plan(memory, width), context = sized(canvas, width, shape.tall), { height } = shape, regions = memory.now[which], next = at(memory, data.allocators[which].next);
  const area = (start, stop, paint) => pieces(shape, start, stop, (x, y, w) => { context.fillStyle = paint; context.fillRect(x, y, w, height); });
  area(0, data.capacity, ink.ground);
  for (const [start, stop] of holes(regions, data.capacity)) if (isShort(memory, which, stop - start, next)) { area(start, stop, ink.short); }
  for (const [start, size, tokens, number] of regions) {
    const look = number % (2 * LOOKS), stop = start + tokens;
    area(start, stop, look < LOOKS ? ink.used : ink.computed); area(start, stop, ink.looks[look]);
    if (tokens < size) { area(stop, start + size, ink.page); area(stop, start + size, ink.empty); }
  }
  context.fillStyle = ink.page;
  const thick = shape.slot * (data.block_size > 1 ? data.block_size : 4) > 6 ? 1 : .5;
  for (const [start, size] of regions) pieces(shape, start + size, Math.min(data.capacity, start + size + 1), (x, y) => context.fillRect(x - thick, y, thick, height));
  names(memory, { context, shape, regions, ink });
  if (memory.chosen !== null) for (const [start, size, , number] of regions) if (number === memory.chosen) pieces(shape, start, start + size, (x, y, w) => { context.strokeStyle = ink.text; context.lineWidth = 2; context.strokeRect(x + 1, y + 1, Math.max(1, w - 2), height - 2); });
}
// A name stands once where regions of one request follow each other, and again where a new row begins.
function names(memory, { context, shape, regions, ink }) {
  const runs = [];
  for (const [start, , tokens, number] of regions) {
    const run = runs[runs.length - 1];
    if (run?.number === number && run.stop === start) run.stop = start + tokens; else runs.push({ start, stop: start + tokens, number });
  }
  context.font = `600 10.5px ${ink.font}`; context.textBaseline = "middle";
  for (const { start, stop, number } of runs) {
    const text = requestName(memory, number), wide = context.measureText(text).width + 6, paint = number % (2 * LOOKS) < LOOKS ? "used" : "computed";
    let isNamed = false;
    pieces(shape, start, stop, (x, y, w) => {
      if ((isNamed && x > 1) || w < wide) return;
      context.fillStyle = ink[paint]; context.fillRect(x + 1, y + 2, wide - 1, shape.height - 4); isNamed = true;
      context.fillStyle = ink[`${paint}-ink`]; context.fillText(text, x + 4, y + shape.height / 2 + .5);
    });
  }
}
function holes(regions, capacity) {
  const found = []; let end = 0;
  for (const [start, size] of regions) { if (start > end) found.push([end, start]); end = start + size; }
  if (end < capacity) found.push([end, capacity]);
  return found;
}
// The engine counted them; here they are only found again to be drawn.
const isShort = (memory, which, size, next) => {
  const { kind } = memory.data.allocators[which];
  return kind === "paged" ? size < memory.data.block_size : Boolean(next) && size < next[1];
};
function inks(root) {
  const probe = part(root, "probe", "i"), ink = { font: getComputedStyle(root).fontFamily, text: getComputedStyle(root).color }, key = ink.text + (globalThis.devicePixelRatio || 1);
  const known = memoryOf(); if (known.ink?.key === key && known.ink.root === root) return known.ink;
  const take = (name, colour) => { probe.style.color = colour; ink[name] = getComputedStyle(probe).color; };
  for (const name of ["used", "used-ink", "computed", "computed-ink", "lost-line-ink", "quiet-ink"]) take(name, `var(--pw-${name})`);
  take("ground", "color-mix(in srgb, var(--st-text-color) 6%, var(--st-background-color))"); take("page", "var(--st-background-color)");
  ink.empty = pattern(8, ink["lost-line-ink"], 1, (c) => { for (const at of [-8, 0, 8]) { c.moveTo(at, 8); c.lineTo(at + 8, 0); } });
  ink.short = pattern(6, ink["lost-line-ink"], 1, (c) => { for (const at of [-6, 0, 6]) { c.moveTo(at, 6); c.lineTo(at + 6, 0); c.moveTo(at, 0); c.lineTo(at + 6, 6); } });
  const signs = [() => {}, (c) => { c.moveTo(3, 0); c.lineTo(3, 6); }, (c) => { c.moveTo(0, 3); c.lineTo(6, 3); }, (c) => { c.rect(2, 2, 1.4, 1.4); }, (c) => { c.moveTo(3, 0); c.lineTo(3, 6); c.moveTo(0, 3); c.lineTo(6, 3); }, (c) => { c.rect(1, 1, 3, 3); }];
  ink.looks = [...signs.map((sign) => pattern(6, ink["used-ink"], .45, sign)), ...signs.map((sign) => pattern(6, ink["computed-ink"], .4, sign))];
  known.ink = Object.assign(ink, { key, root });
  return ink;
}
// A tile of lines, sharp on every screen.
function pattern(size, colour, alpha, lines) {
  const scale = globalThis.devicePixelRatio || 1, tile = document.createElement("canvas"), context = tile.getContext("2d");
  tile.width = tile.height = Math.round(size * scale); context.scale(tile.width / size, tile.width / size);
  context.strokeStyle = colour; context.globalAlpha = alpha; context.lineWidth = 1.1; context.beginPath(); lines(context); context.stroke();
  const made = context.createPattern(tile, "repeat"); made.setTransform(new DOMMatrix().scale(size / tile.width));
  return made;
}

// What lies under the pointer, and what is chosen ------------------------------------------------------
function under(memory, which, event) {
  const box = event.currentTarget.getBoundingClientRect(), shape = plan(memory, box.width), row = Math.floor((event.clientY - box.top) / (shape.height + GAP));
  const slot = row * shape.perRow + Math.floor((event.clientX - box.left) / shape.slot);
  if (slot < 0 || slot >= memory.data.capacity) return null;
  const regions = memory.now[which], region = regions.find(([start, size]) => start <= slot && slot < start + size);
  return region ? { which, region } : { which, hole: holes(regions, memory.data.capacity).find(([start, stop]) => start <= slot && slot < stop) };
}
function readout(memory) {
  const { data, pointed } = memory, { words } = data, line = part(memory.root, "readout");
  attr(line, "aria-live", "polite");
  if (pointed?.region) {
    const [start, size, tokens, number] = pointed.region, isBlock = data.allocators[pointed.which].kind === "paged";
    say(line, fill(isBlock ? words.block : words.region, { request: requestName(memory, number), block: n(start / data.block_size + 1), start: n(start), stop: n(start + size - 1), tokens: n(tokens), empty: n(size - tokens) }));
  } else if (pointed?.hole) { const [start, stop] = pointed.hole; say(line, fill(words.hole, { start: n(start), stop: n(stop - 1), size: n(stop - start) })); }
  else if (memory.chosen !== null) say(line, fill(words.chosen, { request: requestName(memory, memory.chosen), ...Object.fromEntries(data.allocators.map((one, which) => [one.kind, words[`is_${stateOf(memory, which, memory.chosen)}`]])) }));
  else say(line, words.pointer);
}
function choose(memory, number) { memory.chosen = memory.chosen === number ? null : number; show(memory); }
function stateOf(memory, which, number) {
  const one = memory.data.allocators[which];
  if (one.refused.includes(number)) return "refused";
  if ((at(memory, one.waiting) ?? []).includes(number)) return "waiting";
  return memory.present[which].has(number) ? "live" : "away";
}

// The requests: one button each, with a sign for each memory --------------------------------------------
function requests(memory) {
  const { data, root } = memory, box = part(root, "requests");
  if (!box.firstChild) { const line = el("p", "about"); line.append(el("b"), el("span", "quiet")); box.append(line, el("div", "list")); }
  say(box.firstChild.firstChild, data.words.requests); say(box.firstChild.lastChild, data.words.requests_hint);
  const make = () => { const b = el("button", "request"); b.type = "button"; b.append(el("b"), el("span", "size"), el("i"), el("i"), el("i")); return b; };
  sync(box.lastChild, data.requests, make, (button, request, number) => {
    say(button.children[0], request.id); say(button.children[1], request.label); attr(button, "title", request.hint);
    button.onclick = (e) => { choose(memory, number); released(e); };
  });
  rove(box.lastChild, ".request");
}
function states(memory) {
  const { data, root } = memory, { words } = data;
  memory.present = memory.now.map((regions) => new Set(regions.map((region) => region[3])));
  [...part(root, "requests").lastChild.children].forEach((button, number) => {
    const found = data.allocators.map((_, which) => stateOf(memory, which, number));
    found.forEach((state, which) => attr(button.children[2 + which], "data-state", state));
    attr(button, "aria-pressed", String(memory.chosen === number));
    const said = Object.fromEntries(data.allocators.map((one, which) => [one.kind, words[`is_${found[which]}`]]));
    attr(button, "aria-label", `${fill(words.chosen, { request: data.requests[number].id, ...said })}; ${data.requests[number].hint}`);
  });
}

// Curves over all steps, one line a memory; a click or a drag goes to that step ---------------------------
const CHARTS = ["internal", "external", "live"], TOP = 6, FOOT = 16, CHART = 104;
function charts(memory) {
  const make = () => {
    const figure = el("figure", "chart"), words = el("figcaption"), values = el("div", "values");
    values.append(...memory.data.allocators.map(() => { const one = el("span"); one.append(el("i", "line"), el("span")); return one; }));
    figure.append(words, values, el("canvas", "curve"));
    return figure;
  };
  sync(part(memory.root, "charts"), CHARTS, make, (figure, name) => {
    const canvas = figure.lastChild;
    figure.dataset.series = name; say(figure.firstChild, memory.data.words[`chart_${name}`]); attr(canvas, "aria-hidden", "true");
    const go = (e) => { const box = canvas.getBoundingClientRect(); halt(memory); move(memory, Math.floor((e.clientX - box.left) / box.width * (memory.last + 1))); };
    canvas.onpointerdown = (e) => { canvas.setPointerCapture(e.pointerId); go(e); };
    canvas.onpointermove = (e) => { if (e.buttons & 1) go(e); };
  });
}
const ceiling = (value) => [1, 2, 4, 5, 8, 10, 15, 20, 25, 30, 40, 50, 75, 100].find((most) => most >= value) ?? Math.ceil(value / 50) * 50;
function curve(memory, figure, ink) {
  const { data, step, last } = memory, name = figure.dataset.series, canvas = figure.lastChild, width = canvas.clientWidth, isShare = name !== "live";
  const peak = Math.max(1, ...data.allocators.map((one) => one[name].reduce((most, value) => Math.max(most, value ?? 0), 0))), most = ceiling(peak);
  data.allocators.forEach((one, which) => {
    const value = at(memory, one[name]), node = figure.children[1].children[which], text = value == null ? data.words.unknown : isShare ? `${percent(value)}%` : n(value);
    attr(node.firstChild, "data-kind", one.kind); say(node.lastChild, `${one.name} ${text}`);
  });
  if (!width) return;
  const context = sized(canvas, width, TOP + CHART + FOOT), per = width / (last + 1), y = (value) => TOP + CHART * (1 - value / most);
  context.font = `10px ${ink.font}`; context.fillStyle = ink["quiet-ink"]; context.strokeStyle = ink["quiet-ink"];
  context.globalAlpha = .35; context.lineWidth = 1; context.beginPath(); for (const value of [0, most / 2, most]) { context.moveTo(0, Math.round(y(value)) + .5); context.lineTo(width, Math.round(y(value)) + .5); } context.stroke(); context.globalAlpha = 1;
  data.allocators.forEach((one) => line(context, one[name], { per, y, dash: DASHES[one.kind], colour: ink.text, thick: one.kind === "paged" ? 2 : 1.5 }));
  context.textBaseline = "top"; context.fillText(isShare ? `${n(most)}%` : n(most), 2, TOP + 2);
  const x = (step + .5) * per; context.fillRect(x - .5, TOP, 1, CHART + 4);
  context.textBaseline = "bottom"; const text = fill(data.words.chart_axis, { step: n(step) }), wide = context.measureText(text).width;
  context.fillText(text, clampTo(x + 4, 0, width - wide), TOP + CHART + FOOT);
}
// Steps, not slopes: a value holds until the next one. A gap stays a gap.
function line(context, series, { per, y, dash, colour, thick }) {
  context.setLineDash(dash); context.strokeStyle = colour; context.lineWidth = thick; context.beginPath();
  let before = null;
  series.forEach((value, i) => {
    if (value !== null) { if (before === null) context.moveTo(i * per, y(value)); else if (value !== before) context.lineTo(i * per, y(value)); context.lineTo((i + 1) * per, y(value)); }
    before = value;
  });
  context.stroke(); context.setLineDash([]);
}
