function present({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  const make = () => { const n = el("div", "notice"), c = el("button", "close", "×"); c.type = "button"; n.append(el("strong"), el("span", "words"), c, actButton("out")); return n; };
  sync(root, data.notices, make, (node, notice) => {
    attr(node, "data-kind", notice.kind); attr(node, "role", notice.kind === "error" ? "alert" : "status");
    say(node.children[0], notice.title); say(node.children[1], notice.text);
    const close = node.children[2]; close.hidden = !notice.can_close; attr(close, "aria-label", data.close); attr(close, "title", data.close);
    const out = node.children[3]; offer(out, notice.way_out);
    out.onclick = () => setTriggerValue(notice.way_out.what, notice.way_out.sent);
    close.onclick = () => setTriggerValue("closed", notice.kind);
  });
}
