// Two whole runs in numbers, side by side: the better one is marked, and what each number is can be read below it.
function comparedTotals(memory, sides) {
  const { root, data } = memory, { words } = data, box = part(part(part(root, "main"), "aside"), "totals");
  box.hidden = data.is_empty;
  let line = box.querySelector(".titles");
  if (!line) {
    const title = el("span"), explain = actButton("explain"); line = box.appendChild(el("div", "titles"));
    title.append(el("b"), explain); line.append(title, el("span"), el("span"));
    explain.onclick = (e) => { memory.explained = !memory.explained; comparedTotals(memory, sides); released(e); };
  }
  const [title, left, right] = line.children; say(title.firstChild, words.total); say(left, words.left); say(right, words.right);
  attr(box, "data-explained", memory.explained); say(title.lastChild, words.explain); attr(title.lastChild, "aria-expanded", String(memory.explained));
  const rows = [...data.totals, ...data.finished.map((row) => ({ ...row, key: "finish", label: fill(row.is_cut ? words.finish_cut : words.finish, row) }))], list = part(box, "rows");
  const make = () => {
    const row = el("div", "sum"); row.append(el("span", "label"), ...sides.map(() => { const cell = el("span", "value"); cell.append(el("i"), el("span"), el("span", "sr")); return cell; }), el("p", "hint"));
    return row;
  };
  attr(list, "tabindex", rows.length > 14 ? "0" : null); attr(list, "role", "group"); attr(list, "aria-label", words.total);
  sync(list, rows, make, (row, sum) => {
    const hint = row.lastChild, said = memory.explained && sum.hint ? sum.hint : "";
    attr(row, "data-key", sum.key); attr(row, "title", said ? "" : sum.hint); attr(row, "data-request", sum.request); say(row.firstChild, sum.label);
    hint.hidden = !said; say(hint, said);
    sides.forEach((side, i) => {
      const cell = row.children[i + 1], isBetter = sum.better === side;
      attr(cell, "data-better", isBetter); say(cell.children[0], isBetter ? "✓" : ""); say(cell.children[1], sum.values[i]); say(cell.children[2], isBetter ? words.better : "");
    });
  });
}
