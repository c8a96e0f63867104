export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  attr(root, "data-roomy", data.roomy);
  head(root, data.title, data.rows.length ? data.hint : "");
  const makeCell = () => { const c = el("button", "cell"); c.type = "button"; c.append(el("span", "index"), el("span", "block")); return c; };
  const setCell = (node, cell) => {
    const [index, block] = node.children;
    node.hidden = false; say(index, cell.hidden ?? String(cell.index)); block.hidden = cell.hidden !== undefined;
    attr(node, "data-hidden", cell.hidden !== undefined);
    if (cell.hidden !== undefined) { attr(node, "data-id", null); attr(node, "disabled", "true"); return; }
    attr(node, "disabled", null);
    say(block, String(cell.block)); attr(block, "data-state", cell.state); attr(block, "data-touched", cell.touched);
    attr(block, "data-hit", cell.hit); attr(block, "data-selected", data.selected === cell.block); attr(node, "data-id", cell.block);
    if (cell.ref) block.append(el("sup", "", `×${cell.ref}`));
    const label = fill(data.cell_label, cell) + (cell.hit ? `, ${data.hit_label}` : "");
    attr(node, "title", label); attr(node, "aria-label", label);
  };
  const rows = part(root, "rows");
  sync(rows, data.rows, () => { const r = el("div", "row"); r.append(el("div", "who"), el("div", "cells")); return r; }, (node, row) => {
    say(node.children[0], row.group ? `${row.request} · ${row.group}` : row.request);
    const cells = row.num_hidden ? [...row.head, { hidden: fill(data.hidden_word, { n: row.num_hidden }) }, ...row.tail] : row.head;
    sync(node.children[1], cells, makeCell, setCell);
  });
  rows.onclick = (e) => { const id = e.target.closest(".cell")?.dataset.id; if (id !== undefined) setTriggerValue("selected", { block: Number(id) }); released(e); };
  say(part(root, "empty"), data.empty); say(part(root, "quiet"), data.more);
}
