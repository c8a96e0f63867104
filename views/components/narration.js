function present({ data, parentElement, setTriggerValue }) {
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
  afterwards(() => show(list));
  if (!sized.has(list)) { sized.set(list, new ResizeObserver(() => show(list))); sized.get(list).observe(list); document.fonts.ready.then(() => show(list)); }
}

const sized = new WeakMap(); // list -> who notices when its height changes
// Keeps the current line in sight, with a neighbour on either side, inside its own box: the page never moves.
function show(list) {
  const now = list.querySelector(":scope > [data-when=now]");
  list.style.removeProperty("--pw-after");
  if (!now) { list.scrollTop = 0; return; }
  const above = now.offsetTop, below = above + now.offsetHeight, room = Math.min(56, Math.max(0, (list.clientHeight - now.offsetHeight) / 2));
  if (above < list.scrollTop + room) list.scrollTop = Math.max(0, above - room);
  else if (below > list.scrollTop + list.clientHeight - room) list.scrollTop = below - list.clientHeight + room;
  // No line begins above the box: a function without its sentence says nothing.
  const cut = [...list.children].find((line) => line.offsetTop < list.scrollTop && line.offsetTop + line.offsetHeight > list.scrollTop);
  if (!cut) return;
  const top = cut === now ? above : cut.offsetTop + cut.offsetHeight, missing = top + list.clientHeight - list.scrollHeight;
  if (missing > 0) list.style.setProperty("--pw-after", `${missing}px`); // behind the last line
  list.scrollTop = top;
}
