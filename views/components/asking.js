// What a viewer asks for arrives once, and in order (views/asked.py). Each has a number; a letter carries all that is open,
// a payload says how far the server has answered (`drawn`), and what stays unanswered is sent again.
const asking = kept("asking", () => ({ page: `${Date.now()}-${Math.random()}`, number: 0, open: [], parts: new Map(), posts: [], isPosting: false, timer: 0, sentAt: 0, tries: 0, usual: 0, whole: null }));
// A server that works is asked again late; one that rests early, but not before three times what an answer usually takes.
const LOOK_MS = 200, IDLE_MS = 600, BUSY_MS = 5000, LONGEST_MS = 20000;
const PLAIN = ["looked", "uploaded"]; // a clock, and a file that is too large to be sent twice: their parts wait for them on their own
const NEWEST = ["target"]; // takes the place of an older one
const TIME = "transport"; // its payload is a picture of all that was done
const TRIES_OF_PART = 2; // then the whole page is asked for: the fragment of the part may be gone
const appState = (name) => document.querySelector("[data-testid=stApp]")?.dataset[name];

function ask(key, desk, what, value) {
  if (PLAIN.includes(what)) return post(() => asking.parts.get(key)?.send(what, value));
  if (NEWEST.includes(what)) asking.open = asking.open.filter((one) => one.key !== key || one.what !== what);
  if (!asking.open.length) asking.tries = 0;
  asking.open.push({ number: ++asking.number, what, value, desk, key, at: performance.now() });
  deliver(...(asking.parts.has(key) ? [key, what] : carrier() ?? [key, what]));
}
function deliver(key, what) {
  asking.sentAt = performance.now();
  post(() => {
    if (asking.open.length) asking.parts.get(key)?.send(what, letter());
  });
  lookAfter();
}
const letter = () => ({ page: asking.page, asked: asking.open.map((one) => [one.number, one.what, one.value, one.desk]) });
// What carries the scripts stands outside of every fragment: what it sends draws all of the page anew.
function askForWhole() {
  asking.sentAt = performance.now();
  post(() => asking.whole?.("letter", letter()));
  lookAfter();
}
// Streamlit sends what comes within one tick as one message, and runs the fragment of the first alone: so one a tick.
function post(act) {
  asking.posts.push(act);
  if (asking.isPosting) return;
  asking.isPosting = true;
  const next = () => {
    if (isLeaving()) { setTimeout(next, LEAVING_MS); return; }
    const one = asking.posts.shift(); if (one) { one(); setTimeout(next); } else asking.isPosting = false;
  };
  next();
}
// Whoever goes to another page asks the one that is left for nothing more: Streamlit would take the answer of its fragment
// for a page, and clear away the new one. What waits is asked where the new page stays away.
const LEAVING_MS = 50, LEFT_AFTER_MS = 5000, leaving = kept("leaving", () => ({ from: "", until: 0 }));
const isLeaving = () => location.pathname === leaving.from && performance.now() < leaving.until;
addEventListener("click", (e) => {
  const link = e.composedPath().find((node) => node.tagName === "A"), isPlain = e.button === 0 && !(e.metaKey || e.ctrlKey || e.shiftKey || e.altKey);
  if (isPlain && link?.origin === location.origin && link.protocol === location.protocol && link.pathname !== location.pathname && !link.target && !link.hasAttribute("download")) Object.assign(leaving, { from: location.pathname, until: performance.now() + LEFT_AFTER_MS });
}, { capture: true, signal: renewed("leaving") });
function lookAfter() {
  clearTimeout(asking.timer); asking.timer = 0;
  if (!asking.open.length) return;
  asking.timer = setTimeout(() => {
    const waited = performance.now() - asking.sentAt, most = (appState("testScriptState") === "notRunning" ? Math.max(IDLE_MS, 3 * asking.usual) : BUSY_MS) * 2 ** asking.tries;
    if (appState("testConnectionState") !== "CONNECTED" || waited < Math.min(most, LONGEST_MS)) { lookAfter(); return; }
    const through = asking.tries < TRIES_OF_PART ? carrier() : null;
    asking.tries += 1;
    if (through) deliver(...through); else askForWhole();
  }, LOOK_MS);
}
// The part that was asked, or another one: what stands in the letter says what is meant.
function carrier() {
  const own = asking.open.find((one) => asking.parts.has(one.key));
  if (own) return [own.key, own.what];
  return asking.parts.has(TIME) ? [TIME, "target"] : null;
}
// A payload of the part that was asked, or of the transport, answers. That of another one does only where both are gone.
function hearAnswer(key, answered) {
  const counts = (one) => key === TIME || key === one.key || !(asking.parts.has(one.key) || asking.parts.has(TIME));
  const [oldest] = asking.open;
  asking.open = asking.open.filter((one) => one.number > answered || !counts(one));
  if (oldest && oldest !== asking.open[0]) asking.usual = (asking.usual + performance.now() - oldest.at) / 2;
}
// Another session on the same page: the server was away for too long. Streamlit gave it the address that the page was
// opened with; the one that stands there now names the run.
function isAnother(session) {
  if ((asking.session ??= session) === session) return false;
  try { sessionStorage.setItem(RENEWED, "1"); } catch { /* a browser that keeps nothing */ }
  location.reload();
  return true;
}
const RENEWED = "pagewalk-renewed";
