// The line about the open file, and the way to open one: a button, or a drop anywhere on the page.
// What is not gzip travels packed; of what is too long only the beginning travels.
const SMALL = 1 << 16;

function present({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root"), state = kept("trace-file", () => ({ num_sent: 0 }));
  Object.assign(state, { root, data, send: setTriggerValue });
  if (state.num_sent !== data.num_sent) { state.num_sent = data.num_sent; state.busy = false; state.failed = false; }
  build(root, state);
  attr(root, "data-empty", !data.file); attr(root, "data-busy", state.busy);
  const { choose, example, drop, invitation, about, problem } = state.nodes;
  say(choose, data.open); say(example, data.example); example.hidden = Boolean(data.file);
  say(invitation, data.invitation); invitation.hidden = Boolean(data.file);
  say(drop, data.drop); drop.hidden = Boolean(data.file); attr(choose, "title", data.drop);
  about.hidden = !data.file; problem.hidden = !data.file?.problem;
  if (data.file) {
    const [name, facts, remark] = about.children;
    say(name, data.file.name); say(facts, data.file.facts.join(" · ")); say(remark, data.file.remark); remark.hidden = !data.file.remark;
    say(problem.firstChild, data.file.problem_title); say(problem.lastChild, data.file.problem ?? "");
  }
  wait(state);
}

function build(root, state) {
  if (state.built === root) return;
  state.built = root;
  const make = (tag, cls) => root.appendChild(el(tag, cls)), file = el("input");
  file.type = "file"; file.hidden = true; file.accept = ".jsonl,.json,.gz,.jsonl.gz"; file.tabIndex = -1;
  const invitation = make("p", "invitation"), buttons = make("div", "buttons"), choose = actButton("choose"), example = actButton("example");
  buttons.append(choose, example, file);
  const drop = make("p", "drop"), about = make("div", "about"), problem = make("p", "problem"), waiting = make("p", "waiting");
  about.append(el("b", "name"), el("span", "facts"), el("span", "remark"));
  problem.append(el("strong"), el("span")); attr(problem, "role", "status"); attr(waiting, "role", "status");
  choose.onclick = () => file.click();
  file.onchange = () => { read(state, file.files[0]); file.value = ""; };
  example.onclick = (e) => { state.send("example_wanted", true); released(e); };
  state.nodes = { choose, example, drop, invitation, about, problem, waiting };
  const signal = renewed("trace-file");
  const carries = (e) => root.isConnected && [...(e.dataTransfer?.types ?? [])].includes("Files");
  window.addEventListener("dragover", (e) => { if (carries(e)) { e.preventDefault(); attr(root, "data-over", true); } }, { signal });
  window.addEventListener("dragleave", (e) => { if (!e.relatedTarget) attr(root, "data-over", null); }, { signal });
  window.addEventListener("drop", (e) => { if (carries(e)) { e.preventDefault(); attr(root, "data-over", null); read(state, e.dataTransfer.files[0]); } }, { signal });
}

function wait(state) {
  const { waiting } = state.nodes, { data } = state;
  say(waiting, state.busy ? data.reading : state.failed ? data.unreadable : ""); waiting.hidden = !waiting.textContent;
  attr(state.root, "data-busy", state.busy);
}

async function read(state, file) {
  if (!file || state.busy) return;
  state.busy = true; state.failed = false; wait(state);
  try {
    const { most, most_unfolded } = state.data.limits, start = new Uint8Array(await file.slice(0, 2).arrayBuffer());
    const isGzip = start[0] === 0x1f && start[1] === 0x8b, limit = isGzip ? most : most_unfolded;
    let part = file.slice(0, limit);
    if (!isGzip && part.size > Math.min(SMALL, most)) part = await packed(part);
    const fits = part.size <= most;
    if (!fits) part = part.slice(0, most);
    state.send("uploaded", { name: file.name, num_bytes: file.size, is_cut: file.size > limit || !fits, content: await base64(part) });
  } catch { state.busy = false; state.failed = true; wait(state); }
}
const packed = async (blob) => new Response(blob.stream().pipeThrough(new CompressionStream("gzip"))).blob();
const base64 = (blob) => new Promise((done, failed) => {
  const reader = new FileReader();
  reader.onload = () => done(reader.result.slice(reader.result.indexOf(",") + 1)); reader.onerror = () => failed(reader.error);
  reader.readAsDataURL(blob);
});
