// A moving picture of a run. Whoever has asked for no motion sees one frame, and can still play.
const FRAME_MS = 1500, pictures = new WeakMap();

function present({ data, parentElement }) {
  const root = parentElement.querySelector(".root"), film = pictures.get(root) ?? begin(root);
  film.data = data;
  attr(root, "role", "group"); attr(root, "aria-label", data.words.picture);
  for (const [name, title] of Object.entries(film.titles)) say(title, data.words[name]);
  show(film);
  return () => { clearInterval(film.timer); pictures.delete(root); };
}

function begin(root) {
  const film = { root, at: 0, playing: !matchMedia("(prefers-reduced-motion: reduce)").matches, titles: {} };
  const top = el("div", "top"), told = el("div", "told"), stage = el("div", "stage");
  film.step = el("span", "quiet"); film.sentence = el("span", "sentence");
  film.button = el("button", "act"); film.button.type = "button"; told.append(film.step, film.sentence); top.append(told, film.button);
  film.button.onclick = (e) => { film.playing = !film.playing; show(film); released(e); };
  for (const name of ["requests", "pool", "queue"]) {
    const part = el("div", `part ${name}`); film.titles[name] = el("h3"); film[name] = el("div", "held");
    part.append(film.titles[name], film[name]); stage.append(part);
  }
  root.append(top, stage);
  film.timer = setInterval(() => { if (film.playing && !document.hidden) { film.at = (film.at + 1) % film.data.frames.length; show(film); } }, FRAME_MS);
  if (!film.playing) film.at = null; // where something is shared
  pictures.set(root, film);
  return film;
}

function show(film) {
  const { frames, words, names } = film.data;
  film.at ??= Math.max(0, frames.findIndex((frame) => frame.blocks.some(([state]) => state === "shared")));
  const frame = frames[Math.min(film.at, frames.length - 1)];
  say(film.step, frame.step); say(film.sentence, frame.sentence); say(film.button, film.playing ? words.pause : words.play);
  sync(film.requests, names, request, (node, name, i) => showRequest(node, name, frame.requests[i], frame));
  sync(film.pool, frame.blocks, () => { const b = el("span", "block"); b.append(el("span"), el("sup")); return b; }, (node, [state, ref], i) => {
    say(node.firstChild, i ? String(i) : "∅"); say(node.lastChild, ref > 1 ? `×${ref}` : ""); attr(node, "data-state", state); attr(node, "data-touched", frame.touched.includes(i));
  });
  sync(film.queue, [words.head, ...frame.queue, words.tail], () => el("span"), (node, item) => {
    const isBlock = typeof item === "number"; node.className = isBlock ? "block" : "quiet end"; say(node, String(item)); attr(node, "data-state", isBlock ? frame.blocks[item][0] : null);
  });
}

function request() {
  const row = el("div", "request"), line = el("div", "line"), table = el("div", "table");
  line.append(el("b"), el("span", "status")); row.append(line, table);
  return row;
}

function showRequest(row, name, now, frame) {
  const [status, word, table] = now ?? ["", "", []], line = row.firstChild;
  say(line.firstChild, name); say(line.lastChild, word); attr(row, "data-status", status);
  sync(row.lastChild, table, () => { const group = el("span", "group"); group.append(el("span", "block"), el("span", "tokens")); return group; }, (group, [block, letters, states, empty]) => {
    const id = group.firstChild; id.hidden = block === null; say(id, String(block ?? ""));
    attr(id, "data-state", block === null ? null : frame.blocks[block][0]); attr(id, "data-touched", block !== null && frame.touched.includes(block));
    sync(group.lastChild, [...letters, ...Array(empty).fill("")], () => el("span", "token"), (token, letter, i) => { say(token, letter); attr(token, "data-state", states[i] ?? "empty"); });
  });
}
