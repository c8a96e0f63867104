function present({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root"), bar = part(root, "bar"), earlier = [...remembered(data), ...elsewhere(data)];
  drawn = data; barOf = root;
  attr(root, "role", "group"); attr(root, "aria-label", data.title);
  const holder = root.getRootNode().host?.closest("[data-testid=stElementContainer]"), isAlone = !earlier.length && data.runs.length < 2;
  if (holder) holder.style.display = isAlone ? "none" : "";
  sync(bar, [...data.runs, ...earlier], make, (node, run) => {
    const [turn, close] = node.children, isShown = run.id === data.shown, isEarlier = run.visitor !== undefined;
    const about = run.about || run.gist || "", number = isEarlier ? called(data, earlier, run) : run.name, there = { example: run.link.example };
    const name = isEarlier ? fill(data.earlier, { name: number, about }) : about ? titled(run.name, about) : run.name;
    attr(node, "data-shown", isShown ? "true" : null); attr(node, "data-earlier", isEarlier); attr(turn, "aria-pressed", isEarlier ? null : String(isShown));
    say(turn.children[0], number); say(turn.children[1], about); say(turn.children[2], isEarlier ? data.open : "");
    attr(turn, "title", name); attr(turn, "aria-label", isEarlier ? titled(data.open, name) : null);
    turn.onclick = (e) => { released(e); if (isEarlier) setTriggerValue("revisited", { names: run.link, number: run.number }); else if (!isShown) setTriggerValue("switched", run.id); };
    const word = isEarlier ? fill(data.forget, { name: number }) : run.close;
    close.hidden = !isEarlier && !run.can_close; attr(close, "aria-label", word); attr(close, "title", word);
    close.onclick = () => {
      if (!isEarlier) return setTriggerValue("dropped", run.id);
      write(there, stored(there).filter((each) => each.link.run !== run.link.run)); present({ data, parentElement, setTriggerValue });
    };
  });
}

// A number names one run: where another has it, the time at which an earlier one came stands for it.
function called(data, earlier, run) {
  if (run.link.example !== data.example) return data.examples[run.link.example];
  const isTaken = [...data.runs, ...earlier].some((other) => other !== run && other.number === run.number);
  return isTaken && run.at ? fill(data.before, { time: new Date(run.at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }) }) : run.name;
}

function make() {
  const node = el("div", "run"), turn = el("button", "turn"), close = el("button", "close", "\u00d7");
  turn.type = close.type = "button"; turn.append(el("b"), el("span", "quiet"), el("span", "again")); node.append(turn, close);
  return node;
}

// The runs of this tab with their links. Those of this visit follow the bar; what is left of a visit before a reload
// is what can be opened again.
let drawn = null, barOf = null;
const place = ({ example }) => `pagewalk-runs-${example}`;
function stored(data) {
  try { const found = JSON.parse(sessionStorage.getItem(place(data))); return Array.isArray(found) ? found.filter((run) => run?.link?.example && typeof run.name === "string" && typeof run.about === "string") : []; }
  catch { return []; } // nothing may be kept, or something else lies there
}
function write(data, runs) { try { sessionStorage.setItem(place(data), JSON.stringify(runs)); } catch { /* a reload will have no bar */ } }
function remembered(data) {
  const since = (id) => stored(data).find((run) => run.visitor === data.visitor && run.id === id)?.at ?? Date.now();
  const here = data.runs.filter((run) => run.link.example).map(({ id, name, number, about, gist, link }) => ({ id, name, number, about, gist, link, shown: id === data.shown, at: since(id), visitor: data.visitor }));
  const earlier = stored(data).filter((run) => run.visitor !== data.visitor && !here.some(({ link }) => link.run === run.link.run));
  write(data, [...here, ...earlier]);
  return earlier;
}
// A page that was loaded without the link of a run begins with another example: what stood there before this visit, the
// last run of each example, is offered here too.
function elsewhere(data) {
  return Object.keys(data.examples).filter((example) => example !== data.example).flatMap((example) => {
    const runs = stored({ example }), left = runs.filter((run) => run.link.run && run.link.example === example);
    if (runs.some((run) => run.visitor === data.visitor)) return []; // that example has been opened: its own bar says it
    return [left.find((run) => run.shown) ?? left[0]].filter(Boolean);
  });
}
// A run that came back goes on under another link, and its address says so before the bar is drawn again.
addEventListener("pagehide", () => {
  const run = new URLSearchParams(location.search).get("run"); if (!barOf?.isConnected || !run) return; // else the address is that of another page
  const isShown = (each) => each.visitor === drawn.visitor && each.id === drawn.shown;
  write(drawn, stored(drawn).map((each) => (isShown(each) ? { ...each, link: { ...each.link, run } } : each)));
}, { signal: renewed("runs") });
