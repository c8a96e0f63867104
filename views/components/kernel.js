// The kernel's walk over one row: its source beside it, and the step that one stands on lit in both. Moving along
// the walk asks nobody: all steps are here.
const walker = kept("kernel", () => ({ at: 0, head: 0, stage: "", data: null, root: null }));
const FADE_PX = 28; // of an edge behind which more columns lie (kernel.css)
const number = (value) => value === null ? "−∞" : String(Number(value.toPrecision(4))).replace("-", "−");

function present({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  Object.assign(walker, { data, root, send: setTriggerValue });
  head(root, data.title, data.beside); attr(root, "data-still", "true");
  const tools = part(root, "tools"), body = part(root, "body"), source = part(body, "source"), walk = part(body, "walk"), empty = part(body, "empty", "p");
  setTools(tools, data); setSource(source, data);
  say(empty, data.empty ?? ""); attr(body, "data-empty", Boolean(data.empty));
  if (!data.empty) {
    walker.at = placeOf(data.steps); walker.head = Math.min(walker.head, data.heads.length - 1);
    setRows(part(walk, "rows"), data); setLaunch(part(walk, "launch"), data); setTable(part(walk, "table"), data);
    setStepper(part(walk, "stepper"), data); part(walk, "said", "p"); part(walk, "visit"); part(walk, "running"); part(walk, "notes");
    show();
  }
  link(root, data, setTriggerValue); keepAddress(data.address);
}

// Another row keeps the stage of the walk that one stood on.
function placeOf(steps) {
  const [stage, visit] = walker.stage.split(" "), same = (step) => step[0] === stage;
  const at = steps.findIndex((step) => same(step) && String(step[1]) === visit);
  return at >= 0 ? at : Math.max(0, steps.findIndex(same));
}

function setTools(tools, data) {
  if (!tools.firstChild) tools.append(el("span", "steps"), el("span", "groups"), el("span", "choosers"), el("span", "quiet sizes"));
  const [steps, groups, choosers, sizes] = tools.children, { step, words } = data;
  if (!steps.firstChild) steps.append(actButton("back"), el("b"), actButton("forward"), actButton("run"));
  const [back, here, forward, run] = steps.children, go = (to) => (e) => { if (to !== null) walker.send("target", { step: to, run: data.run }); released(e); };
  say(here, String(step.number));
  for (const [button, word, to] of [[back, "step_back", step.back], [forward, "step_forward", step.forward]]) {
    offer(button, { word: button === back ? "‹" : "›", label: words[word], hint: words[word], off: to === null }); button.onclick = go(to);
  }
  offer(run, step.run === null ? null : { word: words.run_next, hint: words.run_next }); run.onclick = go(step.run);
  const named = data.groups ?? []; groups.hidden = !named.length; attr(groups, "role", "group"); attr(groups, "aria-label", words.groups);
  sync(groups, named, () => actButton("choose"), (button, word, i) => { say(button, word); attr(button, "aria-pressed", String(i === data.group)); button.onclick = (e) => { walker.send("group", i); released(e); }; });
  const [count, kvHead] = data.kv_heads ?? [0, 0], place = () => Object.fromEntries([...choosers.querySelectorAll("[name=layer], [name=head]")].map((s) => [s.name, Number(s.value)]));
  const fields = data.empty ? [] : [
    ...(data.layers ? [["layer", words.layer, ...data.layers]] : []), ["head", words.kv_head, [...Array(count).keys()], kvHead],
    ...(data.numbers && data.heads.length > 1 ? [["query_head", words.head, data.heads, data.heads[Math.min(walker.head, data.heads.length - 1)]]] : []),
  ];
  sync(choosers, fields, () => { const label = el("label"); label.append(el("span"), el("select")); return label; }, (label, [name, word, options, value]) => {
    const [said, select] = label.children; say(said, word); select.name = name;
    sync(select, options, () => el("option"), (option, each) => { say(option, String(each)); option.value = each; });
    select.value = value;
    select.onchange = () => { if (name === "query_head") { walker.head = select.selectedIndex; show(); } else walker.send("kv", place()); select.blur(); };
  });
  say(sizes, [data.sizes, data.as_if].filter(Boolean).join("\n"));
}

function setSource(holder, data) {
  const { words, source } = data, name = part(holder, "path"), code = part(holder, "code"), shown = `${source.path} ${source.lines.length}`;
  say(name, source.path); attr(code, "role", "region"); attr(code, "aria-label", words.source); code.tabIndex = 0;
  if (code.dataset.shown === shown) return;
  code.dataset.shown = shown;
  code.replaceChildren(...source.lines.map((runs) => { const line = el("div", "line"); line.append(el("span", "text")); runs.forEach(([text, kind]) => line.firstChild.append(el("span", kind, text))); return line; }));
}

// The batch: every token is a row to choose.
function setRows(holder, data) {
  attr(holder, "role", "group"); attr(holder, "aria-label", data.words.rows);
  const make = () => { const line = el("div", "sequence"); line.append(el("b"), el("span", "tokens")); return line; };
  sync(holder, data.sequences, make, (line, sequence) => {
    const [name, tokens] = line.children; say(name, sequence.request ?? "");
    sync(tokens, sequence.items, () => { const b = el("button", "token"); b.type = "button"; attr(b, "data-select", "token"); return b; }, (button, item) => {
      const fold = !Array.isArray(item), [request, position] = fold ? [item.request, item.token] : [sequence.request, item[1]];
      button.className = fold ? "more" : "token"; if (fold) { delete button.dataset.drawn; say(button, item.fold); } else draw(button, item[2]);
      attr(button, "data-kind", fold ? null : item[4]); attr(button, "title", fold ? null : String(position));
      attr(button, "data-request", request); attr(button, "data-token", position);
      attr(button, "data-chosen", !fold && data.chosen[0] === request && data.chosen[1] === position ? "true" : null);
    });
  });
  rove(holder, "button");
}

// The programs of the launch: columns are tiles of queries, rows are KV heads.
function setLaunch(holder, data) {
  const { grid, words } = data;
  if (!holder.firstChild) holder.append(el("span", "name"), el("span", "grid"), el("b"));
  const [name, cells] = holder.children; say(name, words.grid); attr(cells, "aria-hidden", "true");
  cells.style.setProperty("--n", grid.kin.length);
  const all = Array.from({ length: grid.down * grid.kin.length }, (_, i) => [i % grid.kin.length + grid.first, Math.floor(i / grid.kin.length), grid.kin[i % grid.kin.length]]);
  sync(cells, all, () => el("i"), (cell, [x, y, kin]) => { cell.dataset.x = x; cell.dataset.y = y; attr(cell, "data-kin", kin); });
}

function setTable(holder, data) {
  if (!holder.firstChild) holder.append(el("span", "name"), el("span", "entries"));
  say(holder.firstChild, data.words.table);
  sync(holder.lastChild, data.table, () => { const s = el("span", "entry"); s.append(el("span", "index"), el("span", "block")); return s; }, (node, item) => {
    const fold = !Array.isArray(item), [index, block] = node.children; block.hidden = fold;
    if (fold) { say(index, `… ${item.fold} …`); attr(node, "data-entry", null); attr(block, "data-block", null); return; }
    say(index, `[${item[0]}]`); say(block, String(item[1])); attr(node, "data-entry", item[0]); attr(block, "data-block", item[1]); attr(block, "data-state", item[2]);
  });
}

function setStepper(holder, data) {
  const { words, steps } = data;
  if (!holder.firstChild) { const range = el("input"); range.type = "range"; holder.append(actButton("back"), range, actButton("forward"), el("span", "quiet place")); }
  const [back, range, forward] = holder.children;
  offer(back, { word: `← ${words.back}`, hint: words.back }); offer(forward, { word: `${words.forward} →`, hint: words.forward });
  back.onclick = (e) => { move(-1); released(e); }; forward.onclick = (e) => { move(1); released(e); };
  range.min = 0; range.max = steps.length - 1; attr(range, "aria-label", words.walk); range.oninput = () => { walker.at = Number(range.value); show(); };
}

function move(by) { walker.at = Math.max(0, Math.min(walker.data.steps.length - 1, walker.at + by)); show(); }

// What the step that one stands on changes: lines, sentence, cells.
function show() {
  const { data, root, at } = walker, [stage, visit, lines, words, filled, lit, folded] = data.steps[at];
  walker.stage = `${stage} ${visit}`;
  const walk = root.querySelector(".walk"), [back, range, forward, place] = walk.querySelector(".stepper").children;
  range.value = at; attr(back, "aria-disabled", at === 0 ? "true" : null); attr(forward, "aria-disabled", at === data.steps.length - 1 ? "true" : null);
  say(place, fill(data.words.place, { n: at + 1, total: data.steps.length })); attr(range, "aria-valuetext", place.textContent);
  const said = walk.querySelector(".said"); say(said, words); attr(said, "role", "status"); attr(said, "data-stage", stage);
  point(root.querySelector(".code"), lines);
  const program = data.grid.own + data.grid.split_of_visit[visit];
  walk.querySelectorAll(".grid i").forEach((cell) => attr(cell, "data-own", Number(cell.dataset.x) === program && Number(cell.dataset.y) === data.grid.kv_head));
  say(walk.querySelector(".launch b"), `(${program}, ${data.grid.kv_head}) / ${data.grid.across} × ${data.grid.down}`);
  const here = data.visits[visit], used = new Set(filled >= 3 ? here.rows.filter(Array.isArray).map((row) => row[3]) : []);
  walk.querySelectorAll(".entry").forEach((entry) => attr(entry, "data-used", entry.dataset.entry !== undefined && used.has(Number(entry.dataset.entry))));
  setVisit(walk.querySelector(".visit"), here, data.numbers?.folds[visit][walker.head], { filled, lit, folded, stage });
  setRunning(walk.querySelector(".running"), data.numbers?.folds[visit][walker.head], { folded, stage });
  say(walk.querySelector(".notes"), data.no_numbers ?? "");
  relight(root);
}

function point(code, [first, last]) {
  [...code.children].forEach((line, i) => attr(line, "data-now", i + 1 >= first && i + 1 <= last));
  const now = code.children[first - 1], end = code.children[last - 1];
  requestAnimationFrame(() => { if (now.offsetTop < code.scrollTop || end.offsetTop + end.offsetHeight > code.scrollTop + code.clientHeight) code.scrollTop = now.offsetTop - code.clientHeight / 3; });
}

function setVisit(holder, visit, fold, { filled, lit, folded, stage }) {
  const { data } = walker, title = part(holder, "visit-title"), scroll = part(holder, "scroll"), columns = data.columns;
  scroll.onscroll = () => edgesOf(scroll); if (!scroll.firstChild) new ResizeObserver(() => edgesOf(scroll)).observe(scroll);
  say(title, visit.title); scroll.tabIndex = 0; attr(scroll, "role", "region"); attr(scroll, "aria-label", visit.title);
  if (!scroll.firstChild) { const table = el("table"), top = el("thead"); top.append(el("tr")); table.append(top, el("tbody")); scroll.append(table); }
  const [top, body] = scroll.firstChild.children;
  sync(top.firstChild, columns, () => { const th = el("th"); th.scope = "col"; return th; }, (th, [name, word, hint]) => { say(th, word); attr(th, "title", hint); th.className = `c-${name}`; attr(th, "data-lit", null); attr(th, "data-focus", lit.includes(name)); });
  let loaded = -1;
  const make = () => { const tr = el("tr"); tr.append(...columns.map(([name]) => el("td", `c-${name}`)), el("td", "wide")); tr.lastChild.colSpan = columns.length; tr.lastChild.append(el("span")); tr.children[1].append(el("span", "token")); tr.children[3].append(el("span", "block")); return tr; };
  sync(body, visit.rows, make, (tr, row) => {
    const isFold = !Array.isArray(row), cells = [...tr.children];
    cells.slice(0, -1).forEach((cell) => { cell.hidden = isFold; }); cells.at(-1).hidden = !isFold; attr(tr, "data-fold", isFold);
    if (isFold) { say(cells.at(-1).firstChild, row.fold); for (const name of ["data-sight", "data-own", "title"]) attr(tr, name, null); attr(cells[3].firstChild, "data-block", null); return; }
    loaded += 1;
    const [position, drawn, kind, logical, block, state, offset, slot, at, sight] = row, knows = (i) => i < filled, masked = knows(7) && stage !== "scores" && sight !== "read";
    attr(tr, "data-sight", masked ? sight : null); attr(tr, "title", masked ? data.words[sight] : null); attr(tr, "data-own", position === data.chosen[1]);
    say(cells[0], knows(0) ? String(position) : "·"); draw(cells[1].firstChild, drawn); attr(cells[1].firstChild, "data-kind", kind); attr(cells[1].firstChild, "data-new", position >= data.first_new);
    say(cells[2], knows(2) ? String(logical) : "·");
    const chip = cells[3].firstChild; say(chip, knows(3) ? String(block) : "·"); attr(chip, "data-state", knows(3) ? state : "unused"); attr(chip, "data-block", knows(3) ? block : null);
    [offset, slot, at].forEach((value, i) => say(cells[4 + i], knows(4 + i) ? String(value) : "·"));
    say(cells[7], !knows(7) ? "·" : masked ? "−∞" : fold ? (fold.scores[loaded] === null ? "q · k" : number(fold.scores[loaded])) : "q · k");
    say(cells[8], !knows(8) ? "·" : masked ? "0" : fold ? number(fold.weights[loaded]) : "2^( )");
    columns.forEach(([name], i) => attr(cells[i], "data-focus", lit.includes(name)));
    attr(cells[8], "data-share", fold && knows(8) && !masked); cells[8].style.setProperty("--share", fold && knows(8) && !masked ? fold.weights[loaded] : 0);
  });
  bringIn(scroll, [...top.querySelectorAll("[data-focus]")]); edgesOf(scroll);
  const own = body.querySelector("[data-own]"), key = `${walker.data.chosen} ${visit.title}`;
  if (own && scroll.dataset.at !== key) { scroll.dataset.at = key; scroll.scrollTop = own.offsetTop - scroll.clientHeight + 2 * own.offsetHeight; }
}

// Where columns lie behind an edge the table fades; those that a step fills are brought before it.
function edgesOf(scroll) {
  attr(scroll, "data-left", scroll.scrollLeft > 2); attr(scroll, "data-right", scroll.scrollLeft + scroll.clientWidth < scroll.scrollWidth - 2);
}
function bringIn(scroll, lit) {
  if (!lit.length) return;
  const stuck = scroll.querySelector("th").offsetWidth, start = lit[0].cellIndex ? lit[0].offsetLeft - stuck : 0, end = lit.at(-1).offsetLeft + lit.at(-1).offsetWidth;
  if (start < scroll.scrollLeft) scroll.scrollLeft = start;
  else if (end > scroll.scrollLeft + scroll.clientWidth) scroll.scrollLeft = end + FADE_PX - scroll.clientWidth;
}

// What the program carries from tile to tile.
function setRunning(holder, fold, { folded, stage }) {
  const { data } = walker, { words } = data;
  if (!fold) { holder.replaceChildren(); return; }
  const change = ([before, after], is) => is && before !== after ? `${number(before)} → ${number(after)}` : number(is ? after : before);
  const facts = [[words.top, change(fold.top, folded >= 1)], [words.fade, folded >= 2 ? number(fold.fade) : "·"], [words.total, change(fold.total, folded >= 3)]];
  if (stage === "out" && data.numbers) facts.push([words.result, `${data.numbers.out[walker.head].map(number).join(", ")} …`]);
  sync(holder, facts, () => { const s = el("span"); s.append(el("span", "name"), el("b")); return s; }, (node, [name, value]) => { say(node.firstChild, name); say(node.lastChild, value); });
}

// The link of this row; what is not in it stays.
function keepAddress(wanted) {
  const url = new URL(location.href);
  for (const name of ["example", "run", "step", "sub", "live", "block", "hash", "request", "token"]) {
    if (wanted[name] === undefined) url.searchParams.delete(name); else url.searchParams.set(name, wanted[name]);
  }
  if (url.href !== location.href) history.replaceState(history.state, "", url);
}

document.addEventListener("keydown", (event) => {
  const { root, data } = walker, by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!by || !root?.isConnected || data.empty || event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return;
  const inside = event.composedPath()[0];
  if (inside.matches?.("input, select, textarea, [role=radio]")) return;
  move(by); event.preventDefault();
}, { signal: renewed("kernel") });
