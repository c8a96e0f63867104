function present({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root"), bar = part(root, "bar");
  attr(root, "role", "group"); attr(root, "aria-label", data.title);
  sync(bar, data.runs, make, (node, run) => {
    const [turn, close] = node.children, isShown = run.id === data.shown;
    attr(node, "data-shown", isShown ? "true" : null); attr(turn, "aria-pressed", String(isShown));
    say(turn.children[0], run.name); say(turn.children[1], run.about); attr(turn, "title", run.about ? `${run.name}: ${run.about}` : run.name);
    turn.onclick = (e) => { released(e); if (!isShown) setTriggerValue("switched", run.id); };
    close.hidden = !run.can_close; attr(close, "aria-label", run.close); attr(close, "title", run.close);
    close.onclick = () => setTriggerValue("dropped", run.id);
  });
}

function make() {
  const node = el("div", "run"), turn = el("button", "turn"), close = el("button", "close", "\u00d7");
  turn.type = close.type = "button"; turn.append(el("b"), el("span", "quiet")); node.append(turn, close);
  return node;
}
