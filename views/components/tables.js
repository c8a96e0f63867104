const makeButton = (cls, kind) => { const b = el("button", cls); b.type = "button"; attr(b, "data-select", kind); return b; };

function present({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  attr(root, "data-roomy", data.roomy);
  head(root, data.title, data.rows.length ? data.hint : "");
  const makeRow = () => { const row = el("div", "row"); row.append(makeButton("who", "request"), el("div", "groups")); return row; };
  const makeGroup = () => { const group = el("div", "group"); group.append(el("span", "kind"), el("div", "cells")); return group; };
  sync(part(root, "rows"), data.rows, makeRow, (node, row) => {
    const [who, groups] = node.children;
    say(who, row.request); attr(who, "data-request", row.request);
    sync(groups, row.groups, makeGroup, (group, { name, items }) => {
      say(group.firstChild, name);
      sync(group.lastChild, items, makeCell, (cell, item) => setCell(cell, item, data));
    });
    rove(groups, ".cell:not(:disabled)");
  });
  say(part(root, "empty"), data.empty); say(part(root, "quiet"), data.more);
  link(root, data, setTriggerValue);
}

function makeCell() {
  const cell = makeButton("cell", "block"), block = el("span", "block");
  block.append(el("span"), el("sup")); cell.append(el("span", "index"), block);
  return cell;
}

// A place of the table, or what stands for those that are folded.
function setCell(node, item, data) {
  const [index, block] = node.children, isFold = item.block === undefined, isHole = item.block === 0;
  node.disabled = isFold; block.hidden = isFold; attr(node, "data-hidden", isFold); attr(node, "data-hole", isHole);
  attr(node, "data-block", isFold ? null : item.block);
  if (isFold) {
    say(index, item.holes ? fill(data.holes_word, { n: item.holes }) : fill(data.hidden_word, { n: item.hidden }));
    attr(node, "title", null); attr(node, "aria-label", null);
    return;
  }
  say(index, String(item.index));
  say(block.children[0], isHole ? "∅" : String(item.block)); say(block.children[1], item.ref ? `×${item.ref}` : "");
  attr(block, "data-state", item.state); attr(block, "data-touched", item.touched); attr(block, "data-hit", item.hit);
  const label = fill(isHole ? data.hole_label : data.cell_label, item) + (item.hit ? `, ${data.hit_label}` : "");
  attr(node, "title", label); attr(node, "aria-label", label);
}
