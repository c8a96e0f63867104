const CELLS = ["row", "request", "token", "position", "table", "offset", "slot", "sample"];
const plain = (tag, cls) => { const b = el(tag, cls); if (tag === "button") b.type = "button"; return b; };
const makeBlock = () => { const block = plain("button", "block"); attr(block, "data-select", "block"); block.append(el("span"), el("sup")); return block; };
const setBlock = (block, id, state, ref, data) => {
  const label = fill(data.block_label, { block: id, state: data.block_words[state] }) + (ref ? ` ×${ref}` : "");
  attr(block, "title", label); attr(block, "aria-label", label);
  say(block.firstChild, String(id)); say(block.lastChild, ref ? `×${ref}` : ""); attr(block, "data-block", id); attr(block, "data-state", state);
};
const makeRow = () => {
  const tr = el("tr"), cells = CELLS.map((name) => el("td", `c-${name}`));
  const pick = plain("button", "pick"), request = plain("button", "request"), block = makeBlock();
  attr(pick, "data-select", "token"); attr(request, "data-select", "request");
  cells[0].append(pick); cells[1].append(request, el("span", "kind")); cells[2].append(el("span", "tok"));
  cells[4].append(el("span", "index"), block); cells[6].append(el("span", "sum"), el("span", "slot")); cells[7].append(el("span", "mark"));
  const more = plain("button", "more"), wide = el("td", "wide"); attr(more, "data-select", "token"); wide.colSpan = CELLS.length; wide.append(more);
  tr.append(...cells, wide);
  return tr;
};
const setFold = (tr, item) => {
  const cells = [...tr.children], more = cells[CELLS.length].firstChild;
  cells.slice(0, -1).forEach((cell) => { cell.hidden = true; }); cells[CELLS.length].hidden = false;
  for (const name of ["data-select", "data-request", "data-token", "data-block", "data-chosen", "data-lit", "data-hover"]) attr(tr, name, null);
  tr.className = "fold"; tr.querySelectorAll(".pick, .request, .block").forEach((b) => { b.hidden = true; for (const name of ["data-request", "data-token", "data-block"]) attr(b, name, null); });
  more.hidden = false; say(more, item.fold); attr(more, "data-request", item.request); attr(more, "data-token", item.token);
};
const setRow = (data, sequence) => (tr, item, i) => {
  if (!Array.isArray(item)) { setFold(tr, item); return; }
  const [row, position, drawn, id, kind, index, block, state, ref, offset, slot, mark] = item, cells = [...tr.children];
  cells.forEach((cell, n) => { cell.hidden = n === CELLS.length; });
  cells[CELLS.length].firstChild.hidden = true;
  for (const name of ["data-request", "data-token"]) attr(cells[CELLS.length].firstChild, name, null);
  tr.className = "row"; attr(tr, "data-request", sequence.request); attr(tr, "data-token", position); attr(tr, "data-select", "token");
  attr(tr, "data-chosen", data.chosen[0] === sequence.request && data.chosen[1] === position ? "true" : null);
  const pick = cells[0].firstChild; say(pick, String(row)); attr(pick, "data-request", sequence.request); attr(pick, "data-token", position);
  const [request, word] = cells[1].children; request.hidden = word.hidden = i > 0;
  if (i === 0) { say(request, sequence.request); say(word, sequence.kind); attr(request, "data-request", sequence.request); attr(cells[1], "title", sequence.note); }
  else { attr(request, "data-request", null); attr(cells[1], "title", null); }
  const token = cells[2].firstChild; draw(token, drawn); attr(token, "data-kind", kind); attr(token, "data-state", data.token_state); attr(token, "title", `${id}, ${data.token_word}`);
  say(cells[3], String(position));
  const [place, number] = cells[4].children; say(place, `[${index}] → `); setBlock(number, block, state, ref, data); pick.hidden = number.hidden = false;
  say(cells[5], String(offset));
  const [sum, result] = cells[6].children; say(sum, `${block} × ${data.size} + ${offset} = `); say(result, String(slot));
  const note = cells[7].firstChild; say(note, data.words[mark] ?? ""); attr(note, "data-mark", mark); attr(note, "title", data.words[mark]);
};
const makeEntry = () => {
  const entry = el("span", "entry"), where = el("span", "where"), block = makeBlock(), bar = el("span", "bar");
  where.append(el("span", "index"), block);
  bar.append(el("span", "ticks"), el("span", "me")); entry.append(where, bar, el("span", "gap"));
  return entry;
};
const setEntry = (data) => (entry, item) => {
  const [where, bar, gap] = entry.children, [ticks, me] = [bar.querySelector(".ticks"), bar.querySelector(".me")];
  where.hidden = bar.hidden = item.fold !== undefined; where.style.display = bar.style.display = item.fold === undefined ? "" : "none";
  gap.hidden = item.fold === undefined; say(gap, item.fold === undefined ? "" : `… ${item.fold} …`);
  const block = where.children[1];
  attr(block, "data-block", item.block); if (item.fold !== undefined) { attr(entry, "title", null); return; }
  attr(entry, "title", item.hint); say(where.children[0], `[${item.index}]`); setBlock(block, item.block, item.state, item.ref, data);
  while (bar.querySelectorAll(".run").length > item.runs.length) bar.querySelector(".run").remove();
  while (bar.querySelectorAll(".run").length < item.runs.length) bar.prepend(el("span", "run"));
  bar.querySelectorAll(".run").forEach((run, i) => { attr(run, "data-run", item.runs[i][0]); run.style.setProperty("--n", item.runs[i][1]); });
  bar.style.setProperty("--size", data.size); bar.style.setProperty("--slot", `${Math.max(2, Math.min(14, 112 / data.size))}px`);
  ticks.hidden = data.size > 32; ticks.style.display = ticks.hidden ? "none" : "";
  const own = item.index === data.reads.own; me.style.display = own ? "" : "none"; me.style.setProperty("--at", data.reads.at);
};
const setReads = (box, data) => {
  const reads = data.reads;
  if (!box.firstElementChild) {
    const line = el("div"), said = el("span", "say");
    said.append(el("span", "writes"), el("span"), el("b"), el("span"), el("span", "mask")); line.append(el("h3"), said);
    box.append(line, el("div", "strip"));
  }
  const [title, said] = box.firstElementChild.children;
  say(title, reads.title);
  [reads.writes, reads.comma, reads.sentence, reads.comma, reads.mask].forEach((words, i) => say(said.children[i], words));
  sync(box.children[1], reads.blocks, makeEntry, setEntry(data));
  legend(box, reads.legend);
};
// The chosen row comes into the little window of rows; the page itself does not move.
const reveal = (scroll, root, data) => {
  const key = data.chosen.join(" ");
  if (root.dataset.revealed === key) return;
  root.dataset.revealed = key;
  const row = scroll.querySelector("[data-chosen]"); if (!row) return;
  const top = row.offsetTop - scroll.querySelector("thead").offsetHeight, bottom = row.offsetTop + row.offsetHeight;
  if (top < scroll.scrollTop || bottom > scroll.scrollTop + scroll.clientHeight) scroll.scrollTop = (top + bottom - scroll.clientHeight) / 2;
};
const makeScroll = (root) => {
  const scroll = part(root, "scroll");
  if (scroll.firstElementChild) return scroll;
  const table = el("table"), top = el("thead"), line = el("tr");
  line.append(...CELLS.map((name) => { const th = el("th", `c-${name}`); th.scope = "col"; return th; })); top.append(line); table.append(top); scroll.append(table);
  scroll.tabIndex = 0; attr(scroll, "role", "region");
  return scroll;
};
function present({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  head(root, data.title, data.beside);
  const tools = part(root, "tools"), scroll = makeScroll(root), note = part(root, "note"), reads = part(root, "reads"), is = !data.empty;
  say(part(root, "empty"), data.empty ?? "");
  for (const node of [tools, scroll, note, reads]) { node.hidden = !is; node.style.display = is ? "" : "none"; }
  if (!is) { link(root, data, setTriggerValue); return; }
  if (!tools.firstElementChild) { const starts = el("span", "starts"); starts.append(el("span", "", "query_start_loc "), el("b")); const groups = el("span", "groups"); attr(groups, "role", "group"); tools.append(starts, groups); }
  say(tools.children[0].lastChild, data.starts);
  const groups = tools.children[1]; groups.hidden = !data.groups.length; attr(groups, "aria-label", data.group_label);
  sync(groups, data.groups, () => actButton("choose"), (button, words, i) => { say(button, words); attr(button, "aria-pressed", String(i === data.group)); });
  groups.onclick = (e) => { const i = [...groups.children].indexOf(e.target.closest("button")); if (i >= 0) { setTriggerValue("group", i); released(e); } };
  attr(scroll, "aria-label", data.scroll_label);
  const table = scroll.firstElementChild;
  [...table.tHead.rows[0].cells].forEach((th, i) => { say(th, data.columns[i]); attr(th, "title", data.column_hints[i]); });
  while (table.tBodies.length > data.sequences.length) table.tBodies[table.tBodies.length - 1].remove();
  data.sequences.forEach((sequence, i) => sync(table.tBodies[i] ?? table.appendChild(el("tbody")), sequence.items, makeRow, setRow(data, sequence)));
  rove(scroll, ".pick, .request, .block, .more", () => 2);
  say(note, data.note); setReads(reads, data); link(root, data, setTriggerValue); afterwards(() => reveal(scroll, root, data));
}
