// An exercise: what the next click on a block or a request does, what was done, and what was said about it.
const DEED_MS = 800;

function present({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root"), { words } = data, isPlaying = data.playing !== null;
  head(root, data.title, data.seed);
  attr(root, "role", "region"); attr(root, "aria-label", words.page);
  const levels = part(root, "levels"); attr(levels, "role", "group"); attr(levels, "aria-label", words.levels);
  sync(levels, data.levels, () => { const b = el("button", "level"); b.type = "button"; b.append(el("b"), el("span")); return b; }, (b, [level, word]) => {
    say(b.children[0], String(level)); say(b.children[1], word); attr(b, "aria-pressed", String(level === data.level)); b.onclick = (e) => { setTriggerValue("exercise", level); released(e); };
  });
  say(part(root, "task", "p"), data.task); say(part(root, "situation", "p"), data.situation);
  const verbs = part(root, "verbs"); attr(verbs, "role", "radiogroup"); attr(verbs, "aria-label", words.verbs);
  say(part(root, "which", "p"), words.verbs); root.insertBefore(root.querySelector(".which"), verbs);
  sync(verbs, data.verbs, () => { const b = el("button", "verb"); b.type = "button"; attr(b, "role", "radio"); return b; }, (b, [verb, word, hint]) => {
    say(b, word); attr(b, "title", hint); attr(b, "aria-checked", String(verb === data.verb)); b.disabled = data.is_over || isPlaying; b.onclick = (e) => { setTriggerValue("verb", verb); released(e); };
  });
  rove(verbs, ".verb:not(:disabled)");
  say(part(root, "hint", "p"), data.verbs.find(([verb]) => verb === data.verb)?.[2] ?? "");
  const done = part(root, "done"); attr(done, "aria-label", words.done_so_far);
  say(part(done, "quiet", "span"), data.done.length ? words.done_so_far : titled(words.done_so_far, words.undone));
  sync(part(done, "deeds", "span"), data.done, () => { const s = el("span", "deed"); s.append(el("span", "quiet"), el("span", "block")); return s; }, (node, [verb, target], i) => {
    say(node.firstChild, i && data.done[i - 1][0] === verb ? "" : verb); say(node.lastChild, String(target)); attr(node.lastChild, "data-state", "used"); attr(node.lastChild, "data-block", typeof target === "number" ? target : null);
  });
  const said = part(root, "said", "p"); said.hidden = !data.said; attr(said, "role", "status"); if (data.said) { say(said, data.said.text); attr(said, "data-kind", data.said.kind); }
  const outcome = part(root, "outcome", "p"); outcome.hidden = !data.outcome; say(outcome, data.outcome);
  const row = part(root, "row");
  if (!row.firstChild) for (const name of ["commit", "show", "next", "again"]) { const b = el("button", name); b.type = "button"; row.append(b); }
  const [commit, show, next, again] = row.children;
  for (const [button, word, what, sent, off] of [[commit, words.commit, "finished_acting", true, data.is_over || isPlaying], [show, words.show, "solution", true, data.is_over || isPlaying], [next, words.next, "exercise", data.level, false], [again, words.again, "exercise_again", true, !data.done.length && !data.is_over && !isPlaying]]) {
    say(button, word); button.hidden = off; button.onclick = (e) => { setTriggerValue(what, sent); released(e); };
  }
  attr(next, "data-main", data.is_over);
  link(root, data, setTriggerValue);
  if (!isPlaying) return;
  // The engine plays its solution deed by deed; whoever has asked for no motion sees its end at once.
  const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const timer = setTimeout(() => setTriggerValue("played", [data.playing, isStill]), isStill ? 0 : DEED_MS);
  return () => clearTimeout(timer);
}
