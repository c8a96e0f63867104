export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  head(root, data.title);
  const list = part(root, "lines", "ol");
  const make = () => { const li = el("li"), b = el("button", "entry"); b.type = "button"; b.append(el("span", "words"), el("span", "function"), el("span", "departs")); li.append(b); return li; };
  sync(list, data.lines, make, (node, line, i) => {
    const entry = node.firstChild, [words, functions, departs] = entry.children;
    say(words, line.text); say(functions, line.functions.join(", ")); say(departs, line.departs ? data.departs : "");
    attr(node, "data-when", i < data.current ? "past" : i === data.current ? "now" : "later"); attr(node, "data-loss", line.loss);
    attr(entry, "aria-current", i === data.current ? "step" : null); attr(entry, "title", data.go); attr(entry, "data-position", line.position);
  });
  list.onclick = (e) => { const at = e.target.closest(".entry")?.dataset.position; if (at !== undefined) setTriggerValue("chosen", Number(at)); released(e); };
  say(part(root, "empty"), data.empty);
  const live = part(root, "sr"); attr(live, "aria-live", "polite"); say(live, data.lines[data.current]?.text ?? data.empty);
  const now = list.children[data.current]; // keep it in sight without moving the page
  if (now) {
    const above = now.offsetTop - list.offsetTop, below = above + now.offsetHeight;
    if (above < list.scrollTop + 24) list.scrollTop = Math.max(0, above - 60);
    else if (below > list.scrollTop + list.clientHeight - 24) list.scrollTop = below - list.clientHeight + 60;
  } else list.scrollTop = 0;
}
