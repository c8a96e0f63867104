const readers = new WeakMap(); // root -> where the pointer or the keyboard reads in K and V
const UNKNOWN = "·";
const HEAT_PX = 144, MOST_ROW_PX = 13, LABEL_PX = 9; // height of a picture and of its rows; what a token's name takes

function present({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  root.hidden = Boolean(data.hidden);
  head(root, data.title, data.hint);
  const line = root.querySelector(".head"), chosen = data.block !== undefined;
  const state = part(line, "state", "span"), whole = line.querySelector(".whole") ?? line.appendChild(actButton("whole")), close = part(line, "close", "button");
  if (!state.childElementCount) { state.append(el("i", "block"), el("span")); close.type = "button"; say(close, "×"); }
  state.hidden = close.hidden = !chosen;
  if (chosen) { attr(state.firstChild, "data-state", data.state); say(state.lastChild, data.word); attr(close, "aria-label", data.close); attr(close, "title", data.close); }
  close.onclick = () => setTriggerValue("selected", null);
  offer(whole, data.whole); whole.onclick = (e) => { setTriggerValue("lens", "block"); released(e); };
  const there = line.querySelector(".there") ?? line.appendChild(actButton("there"));
  offer(there, data.there); there.onclick = (e) => { setTriggerValue("chosen", data.there.position); released(e); };
  tokens(part(root, "tokens"), data.tokens ?? []);
  attr(root, "data-whole", Boolean(data.life));
  sync(part(root, "facts", "dl"), data.facts, () => { const d = el("div"); d.append(el("dt"), el("dd")); return d; }, (node, [word, parts]) => {
    say(node.firstChild, word); attr(node, "data-wide", parts.some((item) => (item.text ?? "").length > 20 || item.length > 40)); sync(node.lastChild, parts, () => el("span", "part"), (item, about) => fact(item, about, data));
  });
  const page = part(root, "page"); page.hidden = !data.life;
  if (data.life) { life(part(page, "life"), data.life, setTriggerValue); numbers(part(page, "kv"), data, setTriggerValue); }
  link(root, data, setTriggerValue);
}

function tokens(holder, items) {
  sync(holder, items, () => { const b = el("button", "token"); b.type = "button"; return b; }, (node, [drawn, id, shared, request, place]) => {
    draw(node, drawn); attr(node, "title", shared ? `${id} · ${shared}` : String(id));
    attr(node, "data-request", request); attr(node, "data-token", request === null ? null : place); attr(node, "data-select", request === null ? null : "token"); node.disabled = request === null;
  });
}

// A text, or a block, request or hash that a click chooses.
function fact(node, item, words) {
  const kind = typeof item === "string" ? "text" : ["block", "request", "hash"].find((name) => item[name] !== undefined && item[name] !== null) ?? "text";
  if (node.dataset.kind !== kind) { node.dataset.kind = kind; node.replaceChildren(); if (kind !== "text") { const b = el("button", kind === "block" ? "block" : "thing"); b.type = "button"; node.append(b); } }
  if (kind === "text") { say(node, typeof item === "string" ? item : UNKNOWN); return; }
  const button = node.firstChild;
  for (const name of ["block", "request", "hash"]) attr(button, `data-${name}`, name === kind ? item[name] : null);
  attr(button, "data-select", kind); attr(button, "data-state", item.state);
  const text = String(item.text ?? item[kind]), { end, ref } = item;
  if (ref) { if (button.textContent !== `${text}×${ref}`) button.replaceChildren(text, el("sup", "", `×${ref}`)); }
  else if (!end) say(button, text);
  else if (button.textContent !== text || !button.firstElementChild) button.replaceChildren(text.slice(0, -end.length), el("b", "end", end));
  attr(button, "title", kind === "hash" ? fill(words.hash_end, { hash: item.hash, end: item.hash.slice(-6) }) : null);
}

function life(holder, data, send) {
  if (!holder.childElementCount) holder.append(el("h3"), el("div", "quiet before"), el("ol"), el("div", "quiet after"));
  const [title, before, list, after] = holder.children;
  say(title, data.title); say(before, data.empty || data.before); say(after, data.after);
  const make = () => { const li = el("li"), b = el("button", "moment"); b.type = "button"; b.append(el("i", "block"), el("span", "step"), el("span", "said")); li.append(b); return li; };
  sync(list, data.lines, make, (node, [position, step, sentence, state, isLater], i) => {
    const button = node.firstChild, [swatch, when, said] = button.children;
    attr(swatch, "data-state", state); say(when, `${data.step} ${step}`); say(said, sentence);
    attr(button, "data-later", isLater); attr(button, "aria-current", i === data.current ? "step" : null); attr(button, "title", isLater ? data.later : null);
    button.onclick = (e) => { send("chosen", position); released(e); };
  });
  const now = list.children[Math.max(0, data.current)]?.firstChild;
  if (now && list.dataset.at !== String(data.current)) {
    list.dataset.at = data.current;
    afterwards(() => { const top = now.offsetTop; if (top < list.scrollTop || top + now.offsetHeight > list.scrollTop + list.clientHeight) list.scrollTop = top - list.clientHeight / 2; });
  }
}

function numbers(holder, data, send) {
  const { kv } = data;
  if (!holder.childElementCount) holder.append(el("h3"), el("div", "choosers"), el("div", "quiet why"), el("div", "pictures"), el("div", "readout"));
  const [title, choosers, why, pictures, readout] = holder.children;
  say(title, kv.title); say(why, kv.why_not || kv.hint); attr(readout, "aria-live", "polite"); readout.hidden = !kv.pictures.length;
  if (!kv.pictures.length) { choosers.replaceChildren(); pictures.replaceChildren(); return; }
  const make = () => { const label = el("label"); label.append(el("span"), el("select")); return label; };
  sync(choosers, kv.choosers, make, (node, [name, word, options, value]) => {
    const [text, select] = node.children; say(text, word); select.name = name;
    sync(select, options, () => el("option"), (option, number) => { say(option, String(number)); option.value = number; });
    select.value = value;
    select.onchange = () => { send("kv", Object.fromEntries([...choosers.querySelectorAll("select")].map((s) => [s.name, Number(s.value)]))); select.blur(); };
  });
  sync(pictures, kv.pictures, makePicture, (node, picture) => show(node, picture, data, readout));
}

function makePicture() {
  const node = el("figure"), caption = el("figcaption"), holder = el("div", "heat"), scale = el("span", "scale");
  scale.append(el("span"), el("i"), el("span")); caption.append(el("b"), el("span", "quiet"), scale); holder.append(el("div", "slots"), el("canvas"));
  node.append(caption, holder); return node;
}

// Rows are slots, columns dimensions. A slot that was not written has no colour.
function show(node, picture, data, readout) {
  const { kv } = data, { rows, columns, full } = picture, [caption, holder] = node.children, [slots, canvas] = holder.children;
  const bytes = Uint8Array.from(atob(picture.values), (c) => c.charCodeAt(0)), values = new Float32Array(bytes.buffer);
  const short = (value) => Number(value.toPrecision(3)).toString().replace("-", "−");
  const ends = { lowest: short(picture.lowest), highest: short(picture.highest), full: short(full) }, px = Math.max(2, Math.min(MOST_ROW_PX, HEAT_PX / rows)), every = Math.ceil(LABEL_PX / px);
  say(caption.children[0], picture.name); say(caption.children[1], fill(kv.span, ends)); attr(caption, "title", fill(kv.range, ends));
  const scale = caption.children[2]; say(scale.children[0], `−${short(full)}`); say(scale.children[2], short(full));
  holder.style.setProperty("--heat", `${Math.round(rows * px)}px`); holder.style.setProperty("--rows", rows);
  sync(slots, Array.from({ length: rows }), () => el("span", "slot"), (slot, _, i) => {
    const token = data.tokens[i]; draw(slot, token ? token[0] : ""); attr(slot, "data-between", i % every > 0); // named once a pointer is on it
    attr(slot, "data-request", token?.[3]); attr(slot, "data-token", token && token[3] !== null ? token[4] : null);
  });
  const [low, zero, high] = ["var(--pw-negative)", "var(--st-background-color)", "var(--pw-positive)"].map((colour) => rgb(node, colour));
  const image = new ImageData(columns, rows);
  values.forEach((value, i) => {
    if (!Number.isFinite(value)) return;
    const share = full ? Math.min(1, Math.abs(value) / full) : 0, end = value < 0 ? low : high;
    for (let c = 0; c < 3; c++) image.data[4 * i + c] = zero[c] + share * (end[c] - zero[c]);
    image.data[4 * i + 3] = 255;
  });
  if (canvas.width !== columns || canvas.height !== rows) { canvas.width = columns; canvas.height = rows; }
  canvas.getContext("2d").putImageData(image, 0, 0);
  canvas.tabIndex = 0; attr(canvas, "role", "application"); attr(canvas, "aria-label", `${picture.name}, ${kv.hint} ${kv.keys}`);
  const token = (slot) => { const drawn = data.tokens[slot]?.[0] ?? ""; return typeof drawn === "string" ? drawn : drawn.map(([text]) => text).join(""); };
  // The tokens beside K stand for V as well.
  const mark = (slot) => node.parentNode.querySelectorAll(".slots").forEach((each) => [...each.children].forEach((s, i) => attr(s, "data-read", i === slot)));
  const read = (column, slot) => {
    const value = values[slot * columns + column];
    say(readout, fill(kv.hover, { name: picture.name, slot, token: token(slot), column, value: Number.isFinite(value) ? short(value) : kv.not_written }));
    mark(slot);
  };
  canvas.onpointermove = (e) => { const box = canvas.getBoundingClientRect(); read(Math.min(columns - 1, Math.max(0, Math.floor((e.clientX - box.left) / box.width * columns))), Math.min(rows - 1, Math.max(0, Math.floor((e.clientY - box.top) / box.height * rows)))); };
  canvas.onpointerleave = () => { say(readout, ""); mark(-1); };
  canvas.onkeydown = (e) => {
    const by = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[e.key]; if (!by || e.shiftKey) return;
    const [column, slot] = readers.get(canvas) ?? [-by[0], -by[1]], next = [Math.max(0, Math.min(columns - 1, column + by[0])), Math.max(0, Math.min(rows - 1, slot + by[1]))];
    readers.set(canvas, next); read(...next); e.preventDefault(); e.stopPropagation();
  };
}

// Any CSS colour of the theme as three bytes.
function rgb(holder, colour) {
  const probe = el("i"), one = document.createElement("canvas"); one.width = one.height = 1; probe.style.color = colour; holder.append(probe);
  const context = one.getContext("2d", { willReadFrequently: true }); context.fillStyle = getComputedStyle(probe).color; context.fillRect(0, 0, 1, 1); probe.remove();
  return context.getImageData(0, 0, 1, 1).data;
}
