const makeButton = (cls, kind) => { const b = el("button", cls); b.type = "button"; attr(b, "data-select", kind); return b; };

function present({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root"), { columns } = data, unfold = (row) => setTriggerValue("unfolded", row.key);
  attr(root, "data-roomy", data.roomy);
  root.style.setProperty("--columns", columns); root.style.setProperty("--who", Math.min(12, data.who));
  head(root, data.title, data.rows.length ? data.hint : "");
  const ruler = part(root, "ruler"); ruler.hidden = !columns || !data.rows.length;
  sync(ruler, Array.from({ length: columns }), () => el("span"), (node, _, i) => say(node, String(i)));
  sync(part(root, "rows"), data.rows, makeRow, (node, row) => {
    const [side, groups] = node.children, [who, again] = side.children;
    say(who, row.request); attr(who, "data-request", row.request); attr(who, "title", row.request.length > 12 ? row.request : null);
    again.hidden = !row.unfolded; say(again, data.fold_word); again.onclick = () => unfold(row);
    sync(groups, row.groups, makeGroup, (group, { name, items }) => {
      say(group.firstChild, name);
      const lines = linesOf(items, columns || items.length);
      sync(group.lastChild, lines, makeLine, (line, { at, items }) => {
        say(line.firstChild, columns && lines.length > 1 && at !== undefined ? String(at) : "");
        sync(line.lastChild, items, makeCell, (cell, item) => setCell(cell, item, data, () => unfold(row)));
      });
    });
    rove(groups, ".cell", () => columns);
  });
  say(part(root, "empty"), data.empty); say(part(root, "quiet"), data.more);
  link(root, data, setTriggerValue);
}

// A line is full, or ends where some are left out; what stands for those needs two columns.
function linesOf(items, columns) {
  const lines = []; let line = null;
  const begin = (at) => { line = { at, items: [] }; lines.push(line); };
  for (const item of items) {
    const isFold = item.block === undefined;
    if (!line || line.items.length > columns - (isFold ? 2 : 1)) begin(isFold ? undefined : item.index);
    line.items.push(item);
    if (isFold) line = null;
  }
  return lines;
}

function makeRow() {
  const row = el("div", "row"), side = el("div", "side");
  side.append(makeButton("who", "request"), actButton("again")); row.append(side, el("div", "groups"));
  return row;
}
function makeGroup() { const group = el("div", "group"); group.append(el("span", "kind"), el("div", "lines")); return group; }
function makeLine() { const line = el("div", "line"); line.append(el("span", "at"), el("div", "cells")); return line; }
function makeCell() {
  const cell = makeButton("cell", "block"), block = el("span", "block");
  block.append(el("span"), el("sup")); cell.append(el("span", "index"), block);
  return cell;
}

// A place of the table, or what stands for those that are folded.
function setCell(node, item, data, unfold) {
  const [index, block] = node.children, isFold = item.block === undefined, isHole = item.block === 0;
  block.hidden = isFold; attr(node, "data-hidden", isFold); attr(node, "data-hole", isHole); attr(node, "data-select", isFold ? null : "block");
  attr(node, "data-block", isFold ? null : item.block); node.onclick = isFold ? unfold : null;
  if (isFold) {
    const word = item.holes ? fill(data.holes_word, { n: item.holes }) : fill(data.hidden_word, { n: item.hidden });
    say(index, word); attr(node, "title", data.unfold_hint); attr(node, "aria-label", titled(word, data.unfold_hint)); attr(node, "aria-pressed", null);
    return;
  }
  say(index, data.columns ? "" : String(item.index));
  say(block.children[0], isHole ? "∅" : String(item.block)); say(block.children[1], item.ref ? `×${item.ref}` : "");
  attr(block, "data-state", item.state); attr(block, "data-touched", item.touched); attr(block, "data-hit", item.hit);
  const label = fill(isHole ? data.hole_label : data.cell_label, item) + (item.hit ? `, ${data.hit_label}` : "");
  attr(node, "title", label); attr(node, "aria-label", label);
}
