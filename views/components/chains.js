export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  head(root, data.title, data.rows.length ? data.hint : "");
  const words = Object.fromEntries(data.legend);
  const makeLink = () => { const l = el("button", "link"); l.type = "button"; l.append(el("span", "hash"), el("sup")); return l; };
  const setLink = (node, link) => {
    const isText = link.words !== undefined;
    attr(node, "data-text", isText); attr(node, "disabled", isText || !link.blocks.length ? "true" : null);
    say(node.children[0], isText ? link.words : link.hash); say(node.children[1], !isText && link.blocks.length > 1 ? `×${link.blocks.length}` : "");
    attr(node, "data-state", link.state); attr(node, "data-stop", link.stop); attr(node, "data-full", link.full);
    attr(node, "data-id", isText ? null : link.blocks[0]); attr(node, "data-selected", !isText && data.selected !== null && link.blocks.includes(data.selected));
    const label = isText ? link.words : fill(data.link_label, { index: link.index, hash: link.full, state: words[link.state] }) + (link.stop ? `; ${data.stop_word}` : "");
    attr(node, "title", label); attr(node, "aria-label", label);
  };
  const rows = part(root, "rows");
  sync(rows, data.rows, () => { const r = el("div", "row"); const l = el("div", "line"); l.append(el("div", "links"), el("div", "why")); r.append(el("div", "who"), l); return r; }, (node, row) => {
    attr(node, "data-finished", row.finished); say(node.children[0], row.request); say(node.children[1].children[1], row.sentence);
    const links = [...row.head];
    if (row.num_hidden) links.push({ words: fill(data.hidden_word, { n: row.num_hidden }) }, ...row.tail);
    if (row.partial) links.push({ words: row.partial, state: "partial" });
    sync(node.children[1].children[0], links, makeLink, setLink);
  });
  rows.onclick = (e) => { const id = e.target.closest(".link")?.dataset.id; if (id !== undefined) setTriggerValue("selected", { block: Number(id) }); released(e); };
  // The same hash lights up in every chain.
  const light = (full) => rows.querySelectorAll(".link").forEach((link) => attr(link, "data-same", full !== undefined && link.dataset.full === full));
  rows.onmouseover = (e) => light(e.target.closest(".link")?.dataset.full);
  rows.onmouseleave = () => light(undefined);
  say(part(root, "empty"), data.empty); say(part(root, "quiet"), data.more);
  legend(root, data.rows.length ? [...data.legend, ["stop", data.stop_word]] : []);
}
