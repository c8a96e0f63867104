// Above a side of a comparison that is on the stage: which settings it has, and what the other side has otherwise here.
function present({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root"), top = part(root, "top"), look = (side) => setTriggerValue("closer", { side });
  say(part(top, "title", "h2"), data.title);
  sync(part(top, "settings", "span"), data.settings, () => el("span"), say);
  sideSwitch(part(top, "look-at"), data.switch, look);
  const row = part(root, "here"), said = part(row, "said", "p"); attr(said, "role", "status");
  say(part(said, "when", "span"), data.when); say(part(said, "say", "span"), data.say);
  const cross = part(row, "cross", "button"); cross.type = "button"; cross.classList.add("act");
  cross.hidden = !data.other; say(cross, data.cross); cross.onclick = (e) => { look(data.other); released(e); };
  const make = () => { const b = el("button", "line"); b.type = "button"; b.append(el("span", "when"), el("b"), el("span")); return b; };
  const because = part(root, "because");
  sync(part(because, "lines"), data.lines, make, (line, { text, because: why, when, hint, position, request }) => {
    [when, text, why].forEach((word, i) => say(line.children[i], word));
    attr(line, "title", hint); attr(line, "data-request", request);
    line.onclick = (e) => { setTriggerValue("chosen", position); released(e); };
  });
  because.hidden = !data.lines.length; say(part(because, "more", "p"), data.more);
  link(root, { lit: {} }, () => {});
}
