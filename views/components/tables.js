export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  attr(root, "data-roomy", data.roomy);
  head(root, data.title, data.rows.length ? data.hint : "");
  const makeCell = () => { const c = el("button", "cell"); c.type = "button"; attr(c, "data-select", "block"); c.append(el("span", "index"), el("span", "block")); return c; };
  const setCell = (node, cell) => {
    const [index, block] = node.children;
    node.hidden = false; say(index, cell.hidden ?? String(cell.index)); block.hidden = cell.hidden !== undefined;
    attr(node, "data-hidden", cell.hidden !== undefined);
    if (cell.hidden !== undefined) { attr(node, "data-block", null); attr(node, "disabled", "true"); return; }
    attr(node, "disabled", null);
    say(block, String(cell.block)); attr(block, "data-state", cell.state); attr(block, "data-touched", cell.touched);
    attr(block, "data-hit", cell.hit); attr(node, "data-block", cell.block);
    if (cell.ref) block.append(el("sup", "", `×${cell.ref}`));
    const label = fill(data.cell_label, cell) + (cell.hit ? `, ${data.hit_label}` : "");
    attr(node, "title", label); attr(node, "aria-label", label);
  };
  const rows = part(root, "rows");
  sync(rows, data.rows, () => { const r = el("div", "row"); r.append(who(), el("div", "cells")); return r; }, (node, row) => {
    attr(node.children[0], "data-request", row.request); say(node.children[0], row.group ? `${row.request} · ${row.group}` : row.request);
    const cells = row.num_hidden ? [...row.head, { hidden: fill(data.hidden_word, { n: row.num_hidden }) }, ...row.tail] : row.head;
    sync(node.children[1], cells, makeCell, setCell);
    rove(node.children[1], ".cell");
  });
  say(part(root, "empty"), data.empty); say(part(root, "quiet"), data.more);
  link(root, data, setTriggerValue);
}

function who() {
  const name = el("button", "who"); name.type = "button"; attr(name, "data-select", "request");
  return name;
}
