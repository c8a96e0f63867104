// The player: goal, what is under way, whether it plays. It outlives a mount, so that no press is lost with one.
const player = kept("time", () => ({ root: null, goal: null, underWay: null, sequence: 0, dirty: false, playing: false, stopAt: null }));
const BETWEEN_MOUNTS_MS = 2000; // what is pressed then still counts
const ICONS = {
  first: "M6 5h2v14H6zM20 5v14L10 12z", step_back: "M12 5v14L3 12zM21 5v14l-9-7z", back: "M16 5v14L6 12z", play: "M7 4v16l13-8z",
  pause: "M6 5h4v14H6zM14 5h4v14h-4z", forward: "M8 5v14l10-7z", step_forward: "M12 5v14l9-7zM3 5v14l9-7z", last: "M16 5h2v14h-2zM4 5v14l10-7z",
};
const EDITORS = "textarea, select, [contenteditable=true], [contenteditable=''], [role=textbox], input:not([type=range]):not([type=checkbox]):not([type=radio]):not([type=button])";
const OWN_ARROWS = "[role=radio], [role=tab], [role=slider], [role=option], [role=menuitem], [role=spinbutton], input[type=radio], [data-own-keys]";
const OWN_SPACE = "button, a[href], summary, [role=button], [role=checkbox], [role=radio], [role=switch], [role=option], input:not([type=range])";

function present({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  const isNew = player.root !== root;
  if (isNew) mount(player, root);
  player.data = data;
  player.send = (target) => setTriggerValue("target", target);
  player.clear = () => setTriggerValue("selected", {});
  player.revisit = (moment) => setTriggerValue("revisited", moment);
  if (player.run !== data.run) {
    if (player.run !== undefined) release();
    if (player.dirty) player.send({ ...player.goal, sequence: player.sequence, run: player.run }); // where the run that is left shall stand
    stop(player); Object.assign(player, { goal: null, underWay: null, dirty: false, run: data.run, interventions: data.num_interventions }); player.jump.value = "";
  }
  if (player.interventions !== undefined && data.num_interventions > player.interventions) { stop(player); player.dirty = false; }
  player.interventions = data.num_interventions;
  settle(player); move(player, data.motion);
  if (isNew && (player.underWay !== null || player.dirty)) { player.underWay = null; player.dirty = true; flush(player); }
  picture(root, player); room();
  const write = () => { if (player.root === root && player.data.address) address(player, player.data.address); };
  afterPicture(write);
  clearTimeout(player.later); player.later = setTimeout(write, REWRITTEN_MS);
  return () => { if (player.root === root) { stop(player); player.root = null; player.gone = performance.now(); } };
}

function go(player, target) {
  if (!target) return false;
  if (player.underWay === null) player.left = performance.now();
  player.goal = target; player.dirty = true; flush(player); picture(player.root, player);
  return true;
}
// One target is under way at a time; of those that come meanwhile only the newest is sent.
function flush(player) {
  if (player.underWay || !player.dirty || !player.root) return; // without a root, the next mount sends it
  player.dirty = false; player.underWay = player.sequence = Math.max(player.sequence + 1, Date.now());
  player.send({ ...player.goal, sequence: player.underWay, run: player.data.run });
}
function settle(player) {
  if (player.underWay === null || player.data.sequence < player.underWay) return;
  player.underWay = null;
  if (player.dirty) flush(player); else { player.goal = null; if (player.playing) schedule(player); }
}
function schedule(player) { clearTimeout(player.timer); player.timer = setTimeout(() => tick(player), Number(player.speed.value)); }
// A lesson plays to a place, once and in a few seconds; whoever has asked for no motion is there at once.
function move(player, motion) {
  if (player.stopAt !== null && motion?.number !== player.moved) stop(player); // its text was left
  if (!motion || player.moved === motion.number) return;
  player.moved = motion.number; stop(player);
  if (motion.to === player.data.position) return;
  if (matchMedia("(prefers-reduced-motion: reduce)").matches || motion.to < player.data.position) { go(player, { position: motion.to }); return; }
  player.stopAt = motion.to; player.stride = Math.ceil((motion.to - player.data.position) / MOST_TICKS); player.playing = true; schedule(player);
}
const MOST_TICKS = 16; // of a lesson's motion
// For whoever goes on before it is over (false where none plays), and for whoever leaves its text: no press follows them.
Object.assign(kept("motion", () => ({})), {
  finish: () => { const to = player.stopAt; stop(player); return to !== null && go(player, { position: to }); },
  leave: () => { stop(player); player.dirty = false; if (player.underWay === null) player.goal = null; },
});
function tick(player) {
  if (!player.playing || player.underWay) return;
  const { stopAt } = player, at = placeOf(player, goalOf(player)) ?? Infinity;
  if (stopAt !== null && at < stopAt) { go(player, { position: Math.min(stopAt, at + player.stride) }); return; }
  if (stopAt !== null || !go(player, player.unit.value === "step" ? byStep(player, 1) : bySubStep(player, 1))) { stop(player); picture(player.root, player); }
}
function stop(player) { player.playing = false; player.stopAt = null; clearTimeout(player.timer); }
function toggle(player) {
  if (player.playing) stop(player); else { player.playing = true; tick(player); }
  picture(player.root, player);
}

function act(player, name) {
  const { data } = player;
  if (name === "play") return toggle(player);
  stop(player);
  if (name === "first") go(player, { position: 0 });
  else if (name === "last") go(player, { position: data.last });
  else if (name === "back" || name === "forward") go(player, bySubStep(player, name === "back" ? -1 : 1));
  else if (name === "ask" || name === "step_forward") go(player, byStep(player, 1));
  else if (name === "step_back") go(player, byStep(player, -1));
  picture(player.root, player);
}

// To the end of a step; one that the run has not reached is asked for only where the engine can go on.
function jump(player) {
  const given = player.jump.value.trim(), step = /^\d+$/.test(given) ? Number(given) : null, { data } = player, num_steps = data.ends.length;
  if (step === null) return complain(player, fill(given ? data.words.jump_bad : data.words.jump_empty, { given: given.slice(0, MAX_SAID), last: Math.max(0, num_steps - 1) }), true);
  stop(player);
  const isBeyond = step >= num_steps && !data.can_go_on;
  complain(player, isBeyond ? fill(data.words.jump_beyond, { step, last: Math.max(0, num_steps - 1) }) : "");
  player.jump.value = ""; // where it stands is beside it
  go(player, step < num_steps ? { position: data.ends[step] } : data.can_go_on ? { step, plus: 0 } : { position: data.last });
}
const MAX_SAID = 20, SAID_MS = 6000; // characters of what was typed; how long a sentence stays
function complain(player, sentence, isBad) {
  const said = player.jump.nextSibling;
  clearTimeout(player.forget); attr(player.jump, "aria-invalid", isBad); say(said, sentence);
  if (sentence && !isBad) player.forget = setTimeout(() => say(said, ""), SAID_MS);
}
// For those who sit far away. The link keeps it, and all pages have it until it is switched off.
function enlarge(player) {
  const root = document.documentElement; attr(root, "data-large", !root.hasAttribute("data-large"));
  picture(player.root, player); if (player.data.address) address(player, player.data.address);
  window.dispatchEvent(new Event("resize")); // what is as large as the room that is left measures it again
}

function mount(player, root) {
  document.removeEventListener("keydown", player.onkey); window.removeEventListener("popstate", player.onpop, true);
  player.root = root; player.awaited = undefined;
  const buttons = el("div", "buttons");
  for (const name of ["first", "step_back", "back", "play", "forward", "step_forward", "last", "ask"]) {
    const b = el("button", name === "play" ? "round" : name); b.type = "button"; b.dataset.name = name;
    if (name === "ask") b.append(el("span")); else b.append(icon(name));
    b.onclick = (e) => { act(player, name); if (e.detail > 0) b.blur(); };
    buttons.append(b);
  }
  player.slider = el("input", "slider"); player.slider.type = "range"; player.slider.min = 0;
  player.slider.oninput = () => { stop(player); go(player, { position: Number(player.slider.value) }); };
  player.jump = el("input", "jump"); player.jump.type = "text"; player.jump.inputMode = "numeric";
  player.jump.onkeydown = (e) => { if (e.key === "Enter") { jump(player); if (!player.jump.hasAttribute("aria-invalid")) player.jump.blur(); } };
  player.unit = el("select"); player.speed = el("select");
  for (const name of ["unit", "speed"]) {
    const select = player[name];
    select.onpointerdown = () => { select.dataset.by = "pointer"; }; select.onkeydown = () => { select.dataset.by = "keys"; };
    select.onchange = () => { player[`chosen_${name}`] = select.value; if (select.dataset.by === "pointer") select.blur(); };
  }
  player.large = el("button", "large"); player.large.type = "button"; player.large.append(el("span", "small", "A"), el("span", "", "A"));
  player.large.onclick = (e) => { enlarge(player); released(e); };
  const help = el("button", "help", "?"), keys = el("dl", "keys"); help.type = "button"; keys.hidden = true;
  help.onclick = (e) => { keys.hidden = !keys.hidden; attr(help, "aria-expanded", String(!keys.hidden)); if (e.detail > 0) help.blur(); };
  const stands = el("span", "stands"), choose = el("span", "choose"), place = el("span", "place"), said = el("span", "said"); stands.append(el("span", "where"), el("span", "begin")); choose.append(player.unit, player.speed, player.large, help);
  attr(said, "role", "status"); place.append(player.jump, said); player.jump.oninput = () => complain(player, "");
  root.append(buttons, player.slider, stands, place, choose, keys);
  if (new URL(location.href).searchParams.get("type") === "large") attr(document.documentElement, "data-large", "true");
  player.onkey = (event) => press(player, event, help);
  document.addEventListener("keydown", player.onkey);
  player.onpop = (event) => { if (location.pathname === player.page && revisit(player, event.state?.moment)) event.stopImmediatePropagation(); };
  window.addEventListener("popstate", player.onpop, true); // before Streamlit, for which every entry is another page
}

function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  svg.setAttribute("viewBox", "0 0 24 24"); svg.setAttribute("aria-hidden", "true"); path.setAttribute("d", ICONS[name]); svg.append(path); return svg;
}

function press(player, event, help) {
  const target = event.composedPath()[0];
  if (!player.root && performance.now() - player.gone > BETWEEN_MOUNTS_MS) return; // another page is open
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || !target.matches || target.matches(EDITORS)) return;
  if (document.querySelector("[role=dialog]")) return;
  const arrows = { ArrowLeft: event.shiftKey ? "step_back" : "back", ArrowRight: event.shiftKey ? "step_forward" : "forward", Home: "first", End: "last" }[event.key];
  const isLeft = chosenWithThePointer(target);
  if (arrows && (isLeft || !target.matches(OWN_ARROWS))) { act(player, arrows); event.preventDefault(); }
  else if (event.key === " " && (isLeft || !target.matches(OWN_SPACE))) { toggle(player); event.preventDefault(); }
  else if (event.key === "Escape" && help.getAttribute("aria-expanded") === "true") help.click(); // what lies on top goes first
  else if (event.key === "Escape" && ["block", "hash", "request"].some((kind) => player.data.address?.[kind] !== undefined)) player.clear();
  else if (event.key === "?") help.click();
}

// Streamlit gives the focus back to what a row of choices was clicked in, also after a new run of the page, and lets none
// of its keys through.
const chosenWithThePointer = (target) => document.documentElement.hasAttribute("data-pointed") && Boolean(target.closest("[data-testid=stButtonGroup]"));

function picture(root, player) {
  if (!root) return;
  const { data } = player, { words } = data, at = placeOf(player, goalOf(player)) ?? data.last, atEnd = at >= data.last;
  attr(root, "role", "group"); attr(root, "aria-label", words.group); attr(root, "data-busy", player.underWay !== null);
  for (const button of root.querySelector(".buttons").children) {
    const name = button.dataset.name, playing = name === "play" && player.playing, label = words[playing ? "pause" : name];
    const off = { first: at <= 0, back: at <= 0, step_back: at <= 0, last: atEnd, forward: atEnd && !data.can_go_on, step_forward: atEnd && !data.can_go_on, play: atEnd && !data.can_go_on && !player.playing }[name] ?? false;
    button.disabled = off; attr(button, "aria-label", label); attr(button, "title", label);
    if (name === "play") { const d = ICONS[playing ? "pause" : "play"], path = button.querySelector("path"); if (path.getAttribute("d") !== d) path.setAttribute("d", d); }
    if (name === "ask") { button.hidden = !(atEnd && data.can_go_on); say(button.firstChild, label); }
  }
  attr(player.slider, "aria-label", words.slider); attr(player.slider, "aria-valuetext", data.where); player.slider.max = Math.max(1, data.last);
  player.slider.disabled = data.last === 0;
  if (Number(player.slider.value) !== Math.min(at, data.last)) player.slider.value = Math.min(at, data.last);
  player.slider.style.setProperty("--done", `${data.last ? 100 * Math.min(at, data.last) / data.last : 0}%`);
  say(root.querySelector(".where"), data.where); const begin = root.querySelector(".begin"), isFirst = data.address?.example && !data.sequence && !player.goal && data.step === 0 && !atEnd; say(begin, isFirst ? words.begin : ""); attr(begin, "title", words.begin_hint); // whoever has not moved yet
  const isLarge = document.documentElement.hasAttribute("data-large");
  attr(root, "data-large", isLarge); attr(player.large, "aria-label", words.large); attr(player.large, "title", words.large_hint); attr(player.large, "aria-pressed", String(isLarge));
  attr(player.jump, "aria-label", words.jump); attr(player.jump, "placeholder", words.jump); attr(player.jump, "title", words.jump_hint);
  options(player.unit, words.unit, [["sub_step", words.by_sub_step], ["step", words.by_step]], player.chosen_unit);
  options(player.speed, words.speed, data.speeds.map(([name, ms]) => [String(ms), name]), player.chosen_speed ?? String(data.speeds[1][1]));
  const help = root.querySelector(".help"); attr(help, "aria-label", words.help); attr(help, "title", words.help); if (!help.hasAttribute("aria-expanded")) attr(help, "aria-expanded", "false");
  sync(root.querySelector(".keys"), data.keys, () => { const d = el("div"); d.append(el("dt"), el("dd")); return d; }, (node, [key, does]) => { say(node.children[0], key); say(node.children[1], does); });
}

function options(select, label, entries, chosen) {
  attr(select, "aria-label", label); attr(select, "title", label);
  if (select.childElementCount === entries.length && [...select.options].every((option, i) => option.text === entries[i][1])) return;
  select.replaceChildren(...entries.map(([value, text]) => { const o = el("option", "", text); o.value = value; return o; }));
  if (chosen) select.value = chosen;
}

// How much of the screen the stage has: from what stands above it, which may be a bar of runs, a note or the panel, down
// to the time at the bottom edge. Its columns share that (theme.py and the parts' own styles).
const STAGE = ".st-key-stage", BAR = "[data-testid=stBottomBlockContainer]", NUMBERS = ".st-key-stage_numbers";
const watched = new WeakSet(), watch = new ResizeObserver(() => measureRoom());
function room() {
  for (const name of ["[data-testid=stMainBlockContainer]", STAGE, BAR, NUMBERS]) {
    const node = document.querySelector(name);
    if (node && !watched.has(node)) { watched.add(node); watch.observe(node); }
  }
  afterwards(measureRoom);
}
function measureRoom() {
  const stage = document.querySelector(STAGE), bar = document.querySelector(BAR), { style } = document.documentElement;
  if (!stage || !bar) return;
  const top = stage.getBoundingClientRect().top + (document.querySelector("[data-testid=stMain]")?.scrollTop ?? 0);
  const set = (name, px) => { const value = `${Math.round(px)}px`; if (style.getPropertyValue(name) !== value) style.setProperty(name, value); };
  set("--pw-room", innerHeight - top - bar.offsetHeight - 10);
  set("--pw-numbers", document.querySelector(NUMBERS)?.offsetHeight ?? 0);
}
window.addEventListener("resize", measureRoom, { signal: renewed("room") });

// The link of this moment. Where somebody rested, the Back button comes back to; what only flew by is replaced.
const REST_MS = 1000;
const REWRITTEN_MS = 700; // Streamlit puts the address of its last whole run back, also behind our own
const SOURCES = ["example", "run", "lesson", "chunk", "done", "file", "level", "seed", "puzzle", "arranged", "workload", "letters", "side", "at"];
const names = (address) => Object.fromEntries(SOURCES.filter((name) => address[name] !== undefined).map((name) => [name, address[name]]));
function address(player, wanted) {
  if (player.underWay !== null || (player.awaited !== undefined && player.awaited !== (wanted.side ?? null))) return; // not there yet
  const url = new URL(location.href), carried = player.carried; player.carried = player.data.on_the_way; // by "run until": nobody chose where
  for (const name of new Set([...SOURCES, "step", "sub", "block", "hash", "request", "token", "lens", ...Object.keys(wanted)])) {
    if (wanted[name] === undefined) url.searchParams.delete(name); else url.searchParams.set(name, wanted[name]);
  }
  if (document.documentElement.hasAttribute("data-large")) url.searchParams.set("type", "large"); else url.searchParams.delete("type");
  player.awaited = undefined; player.page = url.pathname;
  if (url.href === location.href && history.state?.moment) return; // an entry of a link says what it is for as well
  const now = performance.now(); player.since ??= now;
  const moved = ["step", "sub"].some((name) => url.searchParams.get(name) !== new URL(location.href).searchParams.get(name));
  const crossed = history.state?.moment && url.searchParams.get("side") !== new URL(location.href).searchParams.get("side"); // another side of a comparison, or one where both were
  const rested = moved && history.state?.moment && !player.playing && !carried && !player.returning && (player.left ?? now) - player.since > REST_MS; // a slow answer is no rest
  const state = { ...history.state, moment: wanted.step === undefined ? null : [names(wanted), wanted.step, wanted.sub] };
  history[rested || crossed ? "pushState" : "replaceState"](state, "", url);
  if (moved) { player.since = now; player.left = null; }
  player.returning = false;
}
// Back and Forward of the browser: the moment that the entry was made for, perhaps of another run.
function revisit(player, moment) {
  const { ends, address: here } = player.data ?? {}, [from, step, sub] = moment ?? [];
  if (!moment || !here || !player.root) return false;
  stop(player); player.returning = true;
  if (JSON.stringify(from) !== JSON.stringify(names(here))) { player.awaited = from.side ?? null; player.revisit({ names: from, step, sub, link: Object.fromEntries(new URL(location.href).searchParams) }); return true; }
  if (step > ends.length) return false;
  return go(player, { position: (step ? ends[step - 1] : 0) + sub });
}
// A link without a page (`/?example=..`) is turned to its page, which leaves an entry behind: Back goes on past it.
const STAYED_MS = 400;
const isDoor = () => location.pathname.endsWith("/") && [...SOURCES, "step"].some((name) => new URL(location.href).searchParams.has(name));
window.addEventListener("popstate", (e) => {
  if (!isDoor()) return;
  e.stopImmediatePropagation(); history.back();
  setTimeout(() => { if (isDoor()) history.forward(); }, STAYED_MS); // there was nothing before it
}, { signal: renewed("door"), capture: true });
// Whoever has chosen something goes on with the keys: what was chosen with keeps them no longer.
document.addEventListener("click", (e) => { if (e.detail > 0 && e.target.closest?.("[role=radiogroup], [data-testid=stButtonGroup]")) setTimeout(release); }, { signal: renewed("release") });
// Whether the pointer or the Tab key gave the focus: a ring around all of the page is for the keyboard alone (theme.py).
document.addEventListener("pointerdown", () => attr(document.documentElement, "data-pointed", "true"), { signal: renewed("pointed"), capture: true });
document.addEventListener("keydown", (e) => {
  if (e.key === "Tab") attr(document.documentElement, "data-pointed", null);
  else if (player.onkey && chosenWithThePointer(e.target)) { player.onkey(e); if (e.defaultPrevented) { e.stopPropagation(); release(); } }
}, { signal: renewed("tabbed"), capture: true });
function release() { if (document.activeElement?.matches?.("button, [role=radio]")) document.activeElement.blur(); }
