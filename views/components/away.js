// While the server does not answer the page says so in its own words: what is kept, what is lost, what comes back.
const AWAY_MS = 1200, SLOW_MS = 8000, SAID_MS = 8000, RENEWED_MS = 20000, LOOKS_MS = 400, ASKS_MS = 3000;
const server = kept("server", () => ({ since: 0, shown: "", until: 0, asked: 0, looks: 0, wasAway: false }));

function watchServer(words) {
  server.words = words;
  clearInterval(server.looks); server.looks = setInterval(lookAtServer, LOOKS_MS);
  server.seen?.disconnect(); server.seen = new MutationObserver(reconnected); // timers rest where nobody looks
  server.seen.observe(document.documentElement, { subtree: true, attributes: true, attributeFilter: ["data-test-connection-state"] });
  try { if (sessionStorage.getItem(RENEWED)) { sessionStorage.removeItem(RENEWED); tell("renewed", performance.now() + RENEWED_MS); } } catch { /* nothing is kept */ }
}
function lookAtServer() {
  const state = appState("testConnectionState"), now = performance.now();
  if (state === undefined) return;
  const isAway = state !== "CONNECTED", waits = asking.open[0];
  server.since = isAway ? server.since || now : 0;
  attr(document.documentElement, "data-away", isAway && now - server.since > AWAY_MS);
  if (isAway && now - server.since > AWAY_MS) tell("away", Infinity);
  else if (!isAway && server.shown === "away") tell("back", now + SAID_MS);
  else if (!isAway && waits && now - waits.at > SLOW_MS) tell("slow", now + LOOKS_MS);
  else if (now > server.until) tell("", 0);
  if (state === "DISCONNECTED_FOREVER" && now - server.asked > ASKS_MS) { server.asked = now; askAgain(); }
}
// A new connection may be to another session, which has drawn nothing and knows no fragment: Streamlit asks it for nothing.
function reconnected() {
  const isThere = appState("testConnectionState") === "CONNECTED";
  if (isThere && server.wasAway) askForWhole();
  server.wasAway = !isThere;
}
// Streamlit has given up; the page has not.
async function askAgain() {
  try { if ((await fetch(new URL("_stcore/health", location.href.replace(/[?#].*/, "")))).ok) location.reload(); } catch { /* not yet */ }
}
function tell(what, until) {
  if (server.shown === what && what !== "slow") return;
  server.shown = what; server.until = until;
  if (!what) { server.node?.remove(); server.node = null; return; }
  const node = server.node ??= document.body.appendChild(el("div", "root pw-server")), { words } = server;
  node.style.colorScheme = getComputedStyle(document.querySelector("[data-testid=stApp]")).colorScheme; // the viewer's choice
  attr(node, "role", "status"); attr(node, "data-is", what);
  const close = el("button", "close", "×"); close.type = "button"; attr(close, "aria-label", words.close); close.hidden = what === "away";
  close.onclick = () => tell("", 0);
  node.replaceChildren(el("strong", "", words[what]), ...(what === "away" ? [words.asks, ...whatComesBack(words)] : words[`${what}_more`] ? [words[`${what}_more`]] : []).map((text) => el("span", "", text)), close);
}
function whatComesBack(words) {
  const { root, data } = kept("time", () => ({})), address = root ? data?.address : undefined;
  return [address?.run ? words.saved : address?.step !== undefined ? words.moment : words.address, words.lost];
}
