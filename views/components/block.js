export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  head(root, data.title, data.hint);
  const line = root.querySelector(".head");
  let state = line.querySelector(".state"), close = line.querySelector(".close");
  if (!state) {
    state = el("span", "state"); state.append(el("i", "block"), el("span"));
    close = el("button", "close", "×"); close.type = "button"; line.append(state, close);
  }
  const chosen = data.block !== undefined;
  state.hidden = close.hidden = !chosen;
  if (chosen) { attr(state.firstChild, "data-state", data.state); say(state.lastChild, data.word); attr(close, "aria-label", data.close); attr(close, "title", data.close); }
  close.onclick = () => setTriggerValue("selected", null);
  sync(part(root, "tokens"), data.tokens ?? [], () => el("span", "token"), (node, [drawn, id, shared]) => {
    draw(node, drawn); attr(node, "title", shared ? `${id} · ${shared}` : String(id));
  });
  sync(part(root, "facts", "dl"), data.facts ?? [], () => { const d = el("div"); d.append(el("dt"), el("dd")); return d; }, (node, [word, value]) => {
    say(node.children[0], word); say(node.children[1], value);
  });
}
