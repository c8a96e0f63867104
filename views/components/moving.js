// A moving picture of a run. Whoever has asked for no motion sees one frame, and can still play.
const FRAME_MS = 1300, pictures = new WeakMap();

function present({ data, parentElement }) {
  const root = parentElement.querySelector(".root"), film = pictures.get(root) ?? begin(root);
  film.data = data;
  attr(root, "role", "group"); attr(root, "aria-label", data.words.picture);
  say(film.pool_title, data.words.pool); say(film.queue_title, data.words.queue);
  show(film);
  return () => { clearInterval(film.timer); pictures.delete(root); };
}

function begin(root) {
  const film = { root, at: 0, playing: !matchMedia("(prefers-reduced-motion: reduce)").matches };
  const top = el("div", "top"), told = el("div", "told"); film.step = el("span", "quiet"); film.sentence = el("span", "sentence");
  film.button = el("button", "act"); film.button.type = "button"; told.append(film.step, film.sentence); top.append(told, film.button);
  film.button.onclick = (e) => { film.playing = !film.playing; show(film); released(e); };
  film.pool_title = el("h3"); film.queue_title = el("h3"); film.pool = el("div", "pool"); film.queue = el("div", "queue");
  root.append(top, film.pool_title, film.pool, film.queue_title, film.queue);
  film.timer = setInterval(() => { if (film.playing && !document.hidden) { film.at = (film.at + 1) % film.data.frames.length; show(film); } }, FRAME_MS);
  if (!film.playing) film.at = 12; // where something is shared
  pictures.set(root, film);
  return film;
}

function show(film) {
  const { frames, words } = film.data, frame = frames[Math.min(film.at, frames.length - 1)];
  say(film.step, frame.step); say(film.sentence, frame.sentence); say(film.button, film.playing ? words.pause : words.play);
  sync(film.pool, frame.blocks, () => { const b = el("span", "block"); b.append(el("span"), el("sup")); return b; }, (node, [state, ref], i) => {
    say(node.firstChild, i ? String(i) : "∅"); say(node.lastChild, ref > 1 ? `×${ref}` : ""); attr(node, "data-state", state); attr(node, "data-touched", frame.touched.includes(i));
  });
  sync(film.queue, [words.head, ...frame.queue, words.tail], () => el("span"), (node, item) => {
    const isBlock = typeof item === "number"; node.className = isBlock ? "block" : "quiet end"; say(node, String(item)); attr(node, "data-state", isBlock ? frame.blocks[item][0] : null);
  });
}
