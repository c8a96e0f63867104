export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  attr(root, "data-roomy", data.roomy);
  head(root, data.title, data.count);
  const list = part(root, "list"), items = [{ end: data.head_word }];
  data.head.forEach((node, i) => items.push({ ...node, victim: i === 0 }));
  if (data.more) items.push({ more: data.more });
  data.tail.forEach((node) => items.push(node));
  items.push({ end: data.tail_word });
  attr(list, "role", "list");
  sync(list, items, () => { const s = el("span", "item"); attr(s, "role", "listitem"); s.append(el("button", "block"), el("span", "word"), el("span", "arrow", "→")); s.firstChild.type = "button"; attr(s.firstChild, "data-select", "block"); return s; },
    (node, item, i) => {
      const [block, word, arrow] = node.children, isBlock = item.block !== undefined;
      block.hidden = !isBlock; word.hidden = isBlock; arrow.hidden = i === items.length - 1;
      word.className = item.more ? "word more" : "word end";
      say(word, item.end ?? item.more ?? "");
      attr(block, "data-block", item.block); if (!isBlock) return;
      say(block, String(item.block)); attr(block, "data-state", item.state); attr(block, "data-touched", item.touched);
      attr(block, "data-victim", item.victim);
      attr(block, "title", item.hash ? `${item.block} #${item.hash}` : String(item.block));
    });
  rove(list, ".block");
  say(part(root, "victim"), data.victim);
  sync(part(root, "moves"), data.moves, () => el("div"), say);
  link(root, data, setTriggerValue);
}
