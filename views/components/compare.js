// Two runs of one workload, moved through together. Both are here whole: a step asks the server nothing.
const memoryOf = () => kept("compare", () => ({ at: null, workload: undefined, playing: false, root: null, explained: false }));
const SIDES = ["left", "right"], STATES = ["hit", "computed", "now", "scheduled"], MAX_GROUPS = 96, PACE_MS = 900;
const EDITORS = "textarea, select, [contenteditable=true], [role=textbox], input:not([type=range])";
const OWN_KEYS = "[role=radio], [role=tab], [role=option], [role=menuitem], [data-own-keys]";
const OWN_SPACE = "button, a[href], summary, [role=button]";

function present({ data, parentElement, setStateValue, setTriggerValue }) {
  const root = parentElement.querySelector(".root"), memory = memoryOf(), isNew = memory.root !== root;
  if (isNew) { halt(memory); memory.root = root; memory.fresh = true; endWait(kept("time", () => null)); }
  Object.assign(memory, { data, send: (what) => setStateValue("compared", what), runs: data.sides.map((side) => side.run && unfolded(side.run)), places: [], last: Math.max(0, data.places.length - 1) });
  data.places.forEach((place) => memory.places.push(place ?? memory.places[memory.places.length - 1] ?? { blocks: [], tables: {}, facts: {}, say: "" }));
  if (memory.workload !== data.workload) { memory.selected = {}; memory.at = memory.workload === undefined ? data.at : null; memory.workload = data.workload; halt(memory); }
  if (memory.at === null) memory.at = data.reasons?.lines[0]?.step ?? 0;
  memory.at = clamped(memory.at, memory.last);
  if (memory.returned !== data.returned.number) { // from the stage, or by a link
    if (data.returned.at !== null) memory.at = clamped(data.returned.at, memory.last);
    Object.assign(memory, { returned: data.returned.number, selected: data.returned.selected });
  }
  memory.look = (side, moment) => { halt(memory); clearTimeout(memory.writing); clearTimeout(memory.again); setTriggerValue("closer", { side, at: memory.at, selected: memory.selected, ...moment }); };
  top(memory); form(memory); comparedTotals(memory, SIDES); shape(memory); reasons(memory); time(memory); show(memory);
  memory.fresh = false;
  return () => { if (memory.root === root) { halt(memory); renewed("compare-keys"); renewed("compare-back"); } };
}
const endWait = (player) => { if (player) player.gone = -Infinity; }; // a side that was on the stage hears no key any more
const within = (ranges, i) => ranges.some((start, n) => n % 2 === 0 && start <= i && i < ranges[n + 1]);
const clamped = (at, last) => Math.max(0, Math.min(last, at));

// Each frame says what changed; here every frame is whole again.
function unfolded(run) {
  const codes = [], seen = {}, frames = run.blocks.map((flat, step) => {
    for (let i = 0; i < flat.length; i += 2) codes[flat[i]] = flat[i + 1];
    for (const [id, now] of Object.entries(run.requests[step])) seen[id] = now[6] ? now : [...now.slice(0, 6), seen[id][6]];
    return { codes: [...codes], requests: { ...seen } };
  });
  return { ...run, frames };
}

// What is compared --------------------------------------------------------------------------------
function top(memory) {
  const { root, data } = memory, { words } = data, line = part(root, "top");
  if (!line.firstChild) {
    const label = el("label"), select = el("select", "workload"); select.id = "compare-workload"; label.htmlFor = select.id;
    line.append(el("h2"), label, select, el("span", "about"), actButton("swap"), actButton("reset"));
  }
  const [title, label, select, about, swap, reset] = line.children;
  say(title, data.title); say(label, words.workload); say(about, data.about);
  sync(select, data.workloads, () => el("option"), (option, [name, word]) => { option.value = name; say(option, word); });
  if (memory.fresh || select.value !== data.workload) select.value = data.workload;
  select.onchange = () => { memory.fresh = true; send(memory, { workload: select.value, ...(memory.own && { letters: memory.own.value }) }); };
  for (const [button, name] of [[swap, "swap"], [reset, "reset"]]) { say(button, words[name]); attr(button, "title", words[`${name}_hint`]); }
  swap.onclick = (e) => { const typed = settings(memory); put(memory, [typed.right, typed.left]); send(memory); released(e); };
  reset.onclick = (e) => { put(memory, data.starts); send(memory); released(e); };
  const said = part(root, "complaints"); attr(said, "role", "status"); said.hidden = !data.complaints.length;
  sync(said, data.complaints, () => el("p"), (node, sentence) => say(node, sentence));
  letters(memory);
}
function letters(memory) {
  const { root, data } = memory, { words } = data, box = part(root, "own");
  if (!box.firstChild) {
    const label = el("label"), area = el("textarea"), hint = el("p", "hint"), error = el("p", "error");
    area.id = "compare-letters"; label.htmlFor = area.id; hint.id = `${area.id}-hint`; error.id = `${area.id}-error`; area.rows = 4; area.spellcheck = false;
    attr(area, "aria-describedby", `${error.id} ${hint.id}`); attr(error, "aria-live", "polite");
    box.append(label, area, error, hint);
  }
  const [label, area, error, hint] = box.children;
  box.hidden = !data.has_letters; memory.own = area;
  say(label, words.letters); say(hint, words.letters_hint); say(error, data.letters_error); attr(area, "aria-invalid", data.letters_error ? "true" : null);
  if (memory.fresh) area.value = data.letters;
  area.oninput = () => send(memory, undefined, 400);
}

// One row a setting, one field a side. The fields are the browser's: an answer never overwrites what is being typed.
function form(memory) {
  const { data } = memory, { words } = data, box = part(part(part(memory.root, "main"), "aside"), "form");
  const line = box.querySelector(".titles") ?? box.appendChild(el("div", "titles"));
  sync(line, [words.setting, words.left, words.right], () => el("span"), (node, word, i) => { say(node, word); if (i) node.id = `compare-head-${i}`; });
  const list = part(box, "fields");
  sync(list, data.fields, () => el("div", "field"), (row, field) => {
    if (!row.firstChild) {
      const label = el("span", "label"); label.id = `compare-${field.name}`;
      const inputs = SIDES.map((side, i) => {
        const input = el(field.options ? "select" : "input"); input.dataset.side = side; input.dataset.name = field.name;
        attr(input, "aria-labelledby", `compare-${field.name} compare-head-${i + 1}`); attr(input, "aria-describedby", `compare-${field.name}-said`);
        if (!field.options) { input.type = "text"; input.inputMode = "numeric"; input.autocomplete = "off"; }
        input.oninput = () => { unlike(row); send(memoryOf(), undefined, field.options ? 0 : 300); };
        return input;
      });
      const said = el("div", "said"); said.id = `compare-${field.name}-said`; attr(said, "aria-live", "polite");
      row.append(label, ...inputs, said);
    }
    const [label, left, right, said] = row.children;
    say(label, field.label); attr(label, "title", field.hint);
    for (const input of [left, right]) if (field.options) sync(input, field.options, () => el("option"), (option, [value, word]) => { option.value = value; say(option, word); });
    const errors = data.sides.map((side) => side.errors[field.name]);
    [left, right].forEach((input, i) => attr(input, "aria-invalid", errors[i] ? "true" : null));
    sync(said, SIDES.filter((_, i) => errors[i]), () => { const p = el("p", "error"); p.append(el("b"), el("span")); return p; },
      (node, side) => { say(node.firstChild, words[side]); say(node.lastChild, errors[SIDES.indexOf(side)]); });
  });
  if (memory.fresh) put(memory, data.sides.map((side) => side.setting)); else [...list.children].forEach(unlike);
}
const unlike = (row) => attr(row, "data-unlike", row.children[1].value !== row.children[2].value);
const inputsOf = (memory) => [...memory.root.querySelectorAll(".field [data-side]")];
const settings = (memory) => {
  const typed = { left: {}, right: {} };
  inputsOf(memory).forEach((input) => { typed[input.dataset.side][input.dataset.name] = input.value; });
  return typed;
};
function put(memory, pair) {
  for (const input of inputsOf(memory)) {
    const value = pair[SIDES.indexOf(input.dataset.side)][input.dataset.name] ?? "";
    if (input.tagName === "SELECT" && ![...input.options].some((option) => option.value === value)) { const option = el("option", "", value); option.value = value; input.append(option); }
    input.value = value; unlike(input.closest(".field"));
  }
}
function send(memory, what, wait = 0) {
  clearTimeout(memory.sending);
  memory.sending = setTimeout(() => {
    if (what) return memory.send(what);
    const flat = { workload: memory.data.workload, letters: memory.own.value };
    for (const [side, all] of Object.entries(settings(memory))) for (const [name, value] of Object.entries(all)) flat[`${side}_${name}`] = value;
    memory.send(flat);
  }, wait);
}

// The two pictures ---------------------------------------------------------------------------------
const makeRow = (cls) => { const row = el("div", `row ${cls}`); row.append(...SIDES.map(() => el("div", "half"))); return row; };
function shape(memory) {
  const { root, data } = memory, { words } = data, stage = part(part(part(root, "main"), "right"), "stage");
  stage.hidden = data.is_empty;
  sideSwitch(part(stage, "look-at"), data.closer, (side) => { link_(memory); memory.look(side); });
  attr(part(stage, "say", "p"), "role", "status");
  if (!stage.querySelector(".heads")) stage.append(makeRow("heads"), makeRow("pools"));
  const [heads, pools] = [stage.querySelector(".heads"), stage.querySelector(".pools")];
  [...heads.children].forEach((half, i) => { if (!half.firstChild) half.append(el("h3"), el("span", "when"), el("p", "note")); say(half.firstChild, words[SIDES[i]]); attr(half, "data-side", SIDES[i]); });
  [...pools.children].forEach((half) => { if (!half.firstChild) half.append(el("div", "grid"), el("span", "quiet")); });
  sync(part(stage, "requests"), data.requests, () => {
    const row = makeRow("request");
    for (const half of row.children) { const line = el("div", "line"); const name = el("button", "name"); name.type = "button"; attr(name, "data-select", "request"); line.append(name, el("span", "status"), el("span", "facts")); half.append(line, el("div", "blocks")); }
    return row;
  }, (row, request) => attr(row, "data-request", request.id));
  say(part(stage, "more", "p"), data.more);
  legend(stage, [...data.legend.slice(2), ["hash", words.hash_legend], ...data.tokens.slice(0, 3), ["differs", words.differs]]);
}

function show(memory) {
  const { root, data, at, last } = memory, { words } = data;
  if (!root?.isConnected || !root.querySelector(".heads")) return; // a key came before the picture
  const stage = part(part(part(root, "main"), "right"), "stage"), place = memory.places[at] ?? { blocks: [], tables: {}, facts: {}, say: "" };
  say(part(stage, "say", "p"), place.say);
  SIDES.forEach((_, i) => {
    const run = memory.runs[i], frame = run?.frames[Math.min(at, run.num_steps)], pick = (row) => stage.querySelector(row).children[i];
    head_(pick(".heads"), run, memory); pool(pick(".pools"), { run, frame, place, data, side: SIDES[i] });
    [...part(stage, "requests").children].forEach((row, n) => request(row.children[i], data.requests[n], { run, frame, place, data }));
  });
  [...(root.querySelector(".reasons > .lines")?.children ?? [])].forEach((line, i) => attr(line, "data-ahead", data.reasons?.lines[i]?.step > at));
  const bar = part(root, "time"), slider = bar.querySelector(".range"), where = bar.querySelector(".where");
  slider.value = at; say(where, at < last ? fill(words.of, { step: at, last: last - 1 }) : fill(words.of_end, { last: last - 1 })); attr(slider, "aria-valuetext", where.textContent);
  bar.querySelector(".first").disabled = bar.querySelector(".back").disabled = at === 0; bar.querySelector(".forward").disabled = bar.querySelector(".last").disabled = at === last;
  light(memory); address(memory);
}
// What is selected is the same number on both sides; the blocks of a request are those of each side.
function light(memory) {
  const { root, selected = {}, at } = memory;
  link(root, { lit: { own: selected } }, (_, what) => { memory.selected = same(what, memory.selected) ? {} : what; light(memory); address(memory); });
  [...root.querySelectorAll(".pools .grid")].forEach((grid, i) => {
    const run = memory.runs[i], table = run?.frames[Math.min(at, run.num_steps)].requests[selected.request]?.[6] ?? [];
    linked(grid).lit = { own: selected, blocks: table }; relight(grid);
  });
}
function head_(half, run, { data: { words }, at, last }) {
  const [, when, note] = half.children, isOver = run && at >= run.num_steps, isLast = run && at === last && run.num_steps === last;
  say(when, !run ? words.no_run : isLast ? fill(words.end, { step: run.num_steps - 1 }) : isOver ? fill(words.over, { step: run.num_steps - 1 }) : fill(words.step, { step: at }));
  attr(half, "data-over", isOver); attr(half, "data-none", !run); say(note, isOver ? run.note : "");
}
function pool(half, { run, frame, place, data, side }) {
  const { words } = data, [grid, rest] = half.children, names = Object.fromEntries(data.legend);
  attr(grid, "role", "group"); attr(grid, "aria-label", run ? fill(words.pool, { side: words[side], num_blocks: run.num_blocks, block_size: run.block_size }) : words.no_run);
  const make = () => { const cell = el("button", "block"); cell.type = "button"; attr(cell, "data-select", "block"); cell.append(el("span"), el("sup"), el("i", "bar")); return cell; };
  attr(grid, "data-small", (frame?.codes.length ?? 0) > 12);
  sync(grid, frame?.codes ?? [], make, (cell, code, id) => {
    const state = data.legend[code & 7][0], hash = (code >> 3) & 3, ref = code >> 5;
    attr(cell, "data-state", state); attr(cell, "data-hashed", hash === 2 ? "valid" : hash ? "unwritten" : null); attr(cell, "data-block", id); attr(cell, "data-differs", within(place.blocks, id));
    say(cell.children[0], String(id)); say(cell.children[1], ref > 1 ? `×${ref}` : "");
    attr(cell, "title", fill(words.block, { block: id, state: names[state], ref }) + (hash ? words[hash === 2 ? "hashed" : "unwritten"] : ""));
  });
  rove(grid, ".block", () => columnsOf(grid));
  const hidden = run ? run.num_blocks - (frame?.codes.length ?? 0) : 0;
  say(rest, hidden > 0 ? fill(words.more_blocks, { n: hidden }) : "");
}
// How many cells stand in the first line.
const columnsOf = (grid) => [...grid.children].filter((cell) => cell.offsetTop === grid.firstChild.offsetTop).length;
function request(half, row, { run, frame, place, data }) {
  const { words } = data, [line, holder] = half.children, [name, status, facts] = line.children, found = frame?.requests[row.id], unlike = place.facts[row.id] ?? [];
  say(name, row.id); attr(name, "data-request", row.id); attr(half, "data-status", found?.[0] ?? "absent"); status.hidden = !run;
  say(status, !found ? words.absent : found[1] ? fill(words.place, { status: data.status[found[0]], place: found[1] }) : data.status[found[0]] ?? found[0]);
  attr(status, "data-differs", unlike.includes("status") || unlike.includes("there"));
  const said = !found ? [] : [["", fill(words.made, { prompt: row.prompt, n: found[3] - row.prompt })],
    ...(found[2][2] && !found[0].startsWith("FINISHED") ? [["computed", fill(words.cached, { n: found[2][2] })]] : []), ...(found[4] === null ? [] : [["hit", fill(words.hit, { n: found[4] })]]), ...(found[5] ? [["preempted", fill(words.preempted, { n: found[5] })]] : [])];
  sync(facts, said, () => el("span"), (node, [kind, word]) => { attr(node, "data-kind", kind); attr(node, "data-zero", kind === "hit" && !found[4]); attr(node, "data-differs", kind && unlike.includes(kind)); say(node, word); });
  groups(holder, row, { found, run, data, unlike: place.tables[row.id] ?? [] });
}
const stateAt = (spans, at) => STATES[spans.findIndex((end) => at < end)] ?? "pending";
// A request's tokens in its blocks; of a long one each block is one cell.
function groups(holder, row, { found, run, data, unlike }) {
  const { words } = data, size = run?.block_size ?? 1, table = found?.[6] ?? [], spans = found?.[2] ?? [], isGone = found?.[0].startsWith("FINISHED");
  const num = !found ? 0 : row.tokens ? Math.max(Math.ceil(found[3] / size), table.length) : table.length, names = Object.fromEntries(data.tokens);
  const make = () => { const group = el("span", "group"), number = el("span", "block"); attr(number, "data-select", "block"); group.append(number, el("span", "tokens")); return group; };
  sync(holder, Array.from({ length: Math.min(num, MAX_GROUPS) }), make, (node, _, i) => {
    const [number, tokens] = node.children, isHeld = i < table.length, first = stateAt(spans, i * size), held = found[3] - i * size;
    number.hidden = !isHeld; say(number, isHeld ? String(table[i]) : ""); attr(number, "data-differs", within(unlike, i)); attr(number, "data-block", isHeld ? table[i] : null);
    attr(node, "data-state", row.tokens ? null : first); attr(node, "title", row.tokens ? null : fill(words.many_tokens, { n: Math.min(size, held), block: table[i], state: names[first] ?? "" }));
    const drawn = (row.tokens ?? []).slice(i * size, Math.min((i + 1) * size, found[3])), empty = isHeld && row.tokens ? Math.min(8, size - drawn.length) : 0;
    sync(tokens, [...drawn, ...Array.from({ length: empty })], () => el("span"), (token, what, n) => {
      const at = i * size + n, state = isGone ? "gone" : stateAt(spans, at);
      if (!what) { token.className = "slot"; attr(token, "data-state", null); attr(token, "title", null); draw(token, ""); return; }
      token.className = "token"; draw(token, what[0]); attr(token, "data-state", state); attr(token, "data-kind", at >= row.prompt ? "output" : null);
      attr(token, "title", fill(words.token, { i: at, id: what[1], state: names[isGone ? "computed" : state] }));
    });
  });
}

// What comes out otherwise, and why ----------------------------------------------------------------
function reasons(memory) {
  const { root, data } = memory, { words } = data, box = part(part(part(root, "main"), "right"), "reasons"), found = data.reasons;
  box.hidden = !found || data.is_empty; if (box.hidden) return;
  head(box, words.differences, found.none);
  const make = () => { const line = el("button", "line"); line.type = "button"; line.append(el("span", "step"), el("span", "what"), el("span", "because")); return line; };
  sync(part(box, "lines"), found.lines, make, (line, { step, kind, request: id, text, because }) => {
    attr(line, "data-kind", kind); attr(line, "data-request", id); attr(line, "title", fill(words.go, { step }));
    [fill(words.step, { step }), text, because].forEach((word, i) => say(line.children[i], word));
    line.onclick = (e) => { halt(memory); move(memory, step); released(e); };
  });
  say(part(box, "quiet"), found.more);
}

// Time ---------------------------------------------------------------------------------------------
function time(memory) {
  const { root, data: { words, is_empty: isEmpty }, last } = memory, bar = part(root, "time");
  bar.hidden = isEmpty; root.append(bar); attr(bar, "role", "group"); attr(bar, "aria-label", words.time);
  if (!bar.firstChild) {
    for (const [name, sign] of [["first", "|<"], ["back", "<"], ["play", ""], ["forward", ">"], ["last", ">|"]]) { const b = actButton(name); say(b, sign); bar.append(b); }
    const slider = el("input", "range"); slider.type = "range"; slider.min = 0; bar.append(slider, el("span", "where"));
  }
  const [first, back, play, forward, end, slider] = bar.children, go = (at) => { halt(memory); move(memory, at); };
  [[first, "first", () => go(0)], [back, "back", () => go(memory.at - 1)], [forward, "forward", () => go(memory.at + 1)], [end, "last", () => go(memory.last)]]
    .forEach(([button, name, act]) => { attr(button, "aria-label", words[name]); attr(button, "title", words[name]); button.onclick = (e) => { act(); released(e); }; });
  play.onclick = (e) => { toggle(memory); released(e); }; say(play, memory.playing ? words.pause : words.play);
  attr(slider, "aria-label", words.slider); attr(slider, "max", String(last)); slider.oninput = () => go(Number(slider.value));
  window.addEventListener("keydown", (e) => press(memory, e), { signal: renewed("compare-keys") });
  window.addEventListener("popstate", (e) => { if (revisit(memory, e.state?.moment)) e.stopImmediatePropagation(); }, { signal: renewed("compare-back"), capture: true }); // before Streamlit
}
function press(memory, e) {
  const target = e.composedPath()[0];
  if (!memory.root?.isConnected || memory.data.is_empty || e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented || target.matches?.(`${EDITORS}, ${OWN_KEYS}`)) return;
  const isSlider = target.matches?.("input[type=range]"), to = { ArrowLeft: memory.at - 1, ArrowRight: memory.at + 1, Home: 0, End: memory.last }[e.key];
  if (e.key === " " && !target.matches?.(OWN_SPACE)) toggle(memory);
  else if (to !== undefined && !isSlider) { halt(memory); move(memory, to); }
  else if (e.key === "Escape" && Object.keys(memory.selected).length) { memory.selected = {}; light(memory); address(memory); } else return;
  e.preventDefault();
}
function toggle(memory) {
  if (memory.playing) return halt(memory);
  if (memory.at >= memory.last) memory.at = -1;
  memory.playing = true; say(memory.root.querySelector(".time > .play"), memory.data.words.pause); move(memory, memory.at + 1);
  memory.timer = setInterval(() => { if (!memory.root?.isConnected || memory.at >= memory.last) halt(memory); else move(memory, memory.at + 1); }, PACE_MS);
}
function halt(memory) {
  clearInterval(memory.timer); memory.playing = false;
  const play = memory.root?.querySelector(".time > .play"); if (play && memory.data) say(play, memory.data.words.play);
}
function move(memory, at) { memory.at = clamped(at, memory.last); show(memory); }

// The link: written when nothing has moved for a moment, because browsers allow few changes a second. Whoever was at a side
// comes back to it with the Back button, and from a side to both: each has an entry of its own, the last moment of it.
const REWRITTEN_MS = 700; // Streamlit puts the address of its last whole run back, also behind our own
function address(memory) {
  clearTimeout(memory.writing); clearTimeout(memory.again);
  const write = () => { if (memory.root?.isConnected) link_(memory); };
  memory.writing = setTimeout(write, 250); memory.again = setTimeout(write, REWRITTEN_MS);
}
function link_(memory) {
  const url = new URL(location.href), wanted = { ...memory.data.address, ...(memory.data.is_empty ? {} : { at: memory.at }), ...memory.selected };
  const names = ["workload", "example", "run", "letters", "at", "side", "step", "sub", "block", "hash", "request", "token", "lens", ...SIDES.flatMap((side) => memory.data.fields.map((field) => `${side}_${field.name}`))];
  const isFromSide = SIDES.includes(url.searchParams.get("side")) && history.state?.moment?.[0].side !== undefined;
  for (const name of names) if (wanted[name] === undefined) url.searchParams.delete(name); else url.searchParams.set(name, wanted[name]);
  memory.page = url.pathname;
  if (url.href === location.href && history.state?.moment) return;
  history[isFromSide ? "pushState" : "replaceState"]({ ...history.state, moment: [{ at: memory.at }, memory.at, 0] }, "", url);
}
const linked_ = () => Object.fromEntries(new URL(location.href).searchParams);
// Back and Forward of the browser, to a side or to where both stood.
function revisit(memory, moment) {
  if (!moment || !memory.root?.isConnected || location.pathname !== memory.page) return false;
  const [{ side }, step, sub] = moment;
  if (SIDES.includes(side)) memory.look(side, { step, sub, link: linked_() }); else { halt(memory); move(memory, step); }
  return true;
}
