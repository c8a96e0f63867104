const untils = new WeakMap(); // root -> its parts, and the share of work that was asked for last

function present({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root"), state = untils.get(root) ?? build(root), { words, options } = data;
  attr(root, "role", "group"); attr(root, "aria-label", words.label); attr(root, "data-running", data.running ? "true" : null);
  say(state.label, words.label); say(state.go, words.go); attr(state.go, "title", words.go_hint); say(state.stop, words.stop);
  choose(state, options, data.preferred);
  const wanted = () => options[state.select.selectedIndex] ?? options[0];
  state.go.onclick = (e) => { released(e); const { kind, request } = wanted(); setTriggerValue("until", { kind, request }); };
  state.stop.onclick = () => setTriggerValue("stopped", true);
  const hadFocus = state.go.getRootNode().activeElement;
  state.idle.hidden = Boolean(data.running); state.busy.hidden = !data.running;
  if (data.running && hadFocus === state.go) state.stop.focus({ preventScroll: true });
  if (!data.running && hadFocus === state.stop) state.go.focus({ preventScroll: true });
  say(state.what, data.running ?? ""); attr(state.what, "title", data.running); say(state.where, data.where);
  // Once what came is painted, the next share: a page that nobody sees any more asks for nothing.
  if (data.running && state.share !== data.share) { state.share = data.share; setTimeout(() => setTriggerValue("pursued", data.share)); }
}

const key = ({ kind, request }) => `${kind} ${request}`;
// A choice stays while it is offered; the start of a request that was just selected is chosen for it.
function choose(state, options, preferred) {
  const { select } = state, before = select.value, shown = options.map((o) => `${key(o)} ${o.text}`).join("|");
  if (state.shown !== shown) {
    state.shown = shown;
    select.replaceChildren(...options.map((o) => { const node = el("option", "", o.text); node.value = key(o); return node; }));
    if (options.some((o) => key(o) === before)) select.value = before;
  }
  const wish = preferred && preferred.join(" ");
  if (wish !== state.wish) { state.wish = wish; if (wish) select.value = wish; }
}

function build(root) {
  const label = el("label"), text = el("span"), select = el("select"), go = actButton("go"), stop = actButton("stop");
  const idle = el("div", "line"), busy = el("div", "line"), what = el("span", "what"), where = el("span", "quiet");
  label.append(text, select); idle.append(label, go); busy.append(what, where, stop); attr(what, "role", "status");
  root.append(idle, busy);
  const state = { label: text, select, go, stop, idle, busy, what, where, share: null, shown: "", wish: null };
  untils.set(root, state);
  return state;
}
