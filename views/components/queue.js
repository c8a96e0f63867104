function present({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  attr(root, "data-roomy", data.roomy);
  head(root, data.title, data.count);
  const list = part(root, "list"), items = [{ end: data.head_word }, ...data.items, { end: data.tail_word }];
  attr(list, "role", "list");
  sync(list, items, makeItem, (node, item, i) => {
    const [block, word, arrow] = node.children, isBlock = item.block !== undefined;
    block.hidden = !isBlock; word.hidden = isBlock; arrow.hidden = i === items.length - 1;
    word.className = item.more ? "word more" : "word end"; say(word, item.end ?? item.more ?? "");
    // The list goes round a ghost: its arrows are those that were cut.
    attr(node, "data-cut", item.ghost || items[i + 1]?.ghost);
    say(block, isBlock ? String(item.block) : "");
    const set = (name, value) => attr(block, name, isBlock ? value : null);
    set("data-block", item.block); set("data-hash", item.hash); set("data-state", item.state); set("data-ghost", item.ghost); set("data-joined", item.joined);
    set("data-victim", !item.ghost && item.block === data.victim_block); set("title", item.label); set("aria-label", item.label);
  });
  rove(list, ".block");
  say(part(root, "victim"), data.victim);
  sync(part(root, "moves"), data.moves, () => el("div"), say);
  link(root, data, setTriggerValue);
}

function makeItem() {
  const item = el("span", "item"), block = el("button", "block");
  block.type = "button"; attr(block, "data-select", "block"); attr(item, "role", "listitem");
  item.append(block, el("span", "word"), el("span", "arrow", "→"));
  return item;
}
