const whys = new WeakMap(); // root -> the field and its timer
function present({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  head(root, data.title, data.when);
  const whom = part(root, "whom");
  if (!whom.firstChild) whom.append(el("span", "quiet"), el("span", "picks"), el("span", "quiet"));
  say(whom.children[0], data.picks.length ? data.pick : ""); say(whom.children[2], data.pick_more);
  sync(whom.children[1], data.picks, () => { const b = el("button", "pick"); b.type = "button"; attr(b, "data-select", "request"); return b; }, (node, pick) => {
    say(node, pick.id); attr(node, "data-request", pick.id); attr(node, "data-chosen", pick.chosen); attr(node, "aria-current", pick.chosen ? "true" : null);
  });
  say(part(root, "empty"), data.empty ?? "");
  showCase(part(root, "case", "section"), data.case, data);
  showLine(part(root, "line", "section"), data.line);
  if (data.ask) showAsk(root, data, setTriggerValue); else root.querySelector(":scope > .ask")?.remove();
  root.onclick = (e) => { const go = e.target.closest(".go"); if (go) { setTriggerValue("chosen", Number(go.dataset.position)); released(e); } };
  link(root, data, setTriggerValue);
}

function showCase(node, found, data) {
  node.hidden = !found; if (!found) { node.replaceChildren(); return; }
  const verdict = part(node, "found", "p"); say(verdict, found.found); attr(verdict, "data-hit", found.num_hit > 0);
  sync(part(node, "reasons"), found.reasons, makeReason, (row, reason) => {
    const [text, more, advice, go] = row.children; attr(row, "data-kind", reason.kind);
    say(text, reason.text); say(more, reason.more ?? ""); say(advice, reason.do);
    go.hidden = reason.position === undefined; say(go, reason.go ?? ""); attr(go, "data-position", reason.position);
  });
  showSides(part(node, "sides"), found.sides, data);
  showStrip(part(node, "strip"), found.strip, data);
}

function makeReason() {
  const row = el("div", "reason"), go = el("button", "go act"); go.type = "button";
  row.append(el("p", "why"), el("p", "more"), el("p", "do"), go); return row;
}

const setToken = (data, request) => (node, [drawn, i, id]) => {
  draw(node, drawn); attr(node, "title", fill(data.token_label, { i, id }));
  attr(node, "data-request", request); attr(node, "data-token", request ? i : null); attr(node, "data-select", request ? "token" : null);
};

function showSides(node, sides, data) {
  node.hidden = !sides; if (!sides) { node.replaceChildren(); return; }
  attr(node, "role", "group"); attr(node, "aria-label", sides.label);
  sync(node, sides.rows, () => { const row = el("div", "side"); row.append(el("span", "name"), el("span", "row")); return row; }, (row, side) => {
    const [name, tokens] = row.children; say(name, side.name);
    attr(name, "data-request", side.request); attr(name, "data-select", side.request ? "request" : null);
    const shown = [...(side.before ? [{ mark: "…" }] : []), ...side.tokens, ...(side.ended ? [{ mark: sides.ends, ended: true }] : side.after ? [{ mark: "…" }] : [])];
    sync(tokens, shown, () => el("span"), (cell, token) => {
      if (token.mark) { cell.className = token.ended ? "ended" : "dots"; for (const name of ["data-drawn", "title", "data-request", "data-token", "data-select", "data-is", "data-cut"]) cell.removeAttribute(name); say(cell, token.mark); return; }
      const [drawn, i, id, is, cut] = token; cell.className = "token";
      setToken(data, side.request)(cell, [drawn, i, id]); attr(cell, "data-is", is); attr(cell, "data-cut", cut);
    });
  });
}

function showStrip(node, strip, data) {
  attr(node, "role", "group"); attr(node, "aria-label", strip.label);
  sync(node, strip.cells, () => { const c = el("div", "cell"), b = el("button", "block"); b.type = "button"; b.append(el("span"), el("sup")); c.append(el("span", "at"), b, el("span", "row"), el("span", "mark")); return c; }, (cell, block) => {
    const [at, number, tokens, mark] = cell.children;
    attr(cell, "data-mark", block.mark); attr(cell, "data-fold", Boolean(block.fold));
    say(at, block.fold ?? String(block.index)); number.hidden = !block.block; say(number.firstChild, String(block.block ?? "")); say(number.lastChild, block.ref > 1 ? `×${block.ref}` : "");
    attr(number, "title", block.label); attr(number, "aria-label", block.label);
    attr(number, "data-block", block.block); attr(number, "data-select", block.block ? "block" : null); attr(number, "data-state", block.state);
    sync(tokens, block.tokens ?? [], () => el("span", "token"), (token, given, i) => {
      setToken(data, strip.request)(token, given); attr(token, "data-is", i === block.parts_at ? "parts" : null);
    });
    say(mark, block.fold ? "" : block.word + (block.hidden ? ` +${block.hidden}` : ""));
  });
}

function showLine(node, line) {
  node.hidden = !line; if (!line) return;
  if (!node.firstChild) {
    const bars = el("div", "bars");
    for (const name of ["need", "exist"]) { const bar = el("div", "bar"); bar.append(el("span", "name"), el("span", "track"), el("span", "amount")); attr(bar, "data-bar", name); bars.append(bar); }
    node.append(el("h3"), el("p", "found"), el("p", "why"), el("p", "deadlock"), bars, el("div", "holders"), el("p", "do"));
  }
  const [title, headLine, sentence, deadlock, bars, holders, out] = node.children;
  say(title, line.title); say(headLine, line.head); say(sentence, line.sentence);
  attr(node, "data-cause", line.cause); say(deadlock, line.deadlock); say(out, line.way_out ?? "");
  bars.hidden = !line.bar;
  if (line.bar) {
    const b = line.bar, [need, exist] = bars.children, share = (n) => `${(100 * n) / b.scale}%`;
    say(need.children[0], b.need_word); say(need.children[2], b.need_words);
    sync(need.children[1], [["needed", b.needed], ["later", b.later]].filter(([, n]) => n), () => el("i"), (i, [kind, n]) => { i.className = kind; i.style.width = share(n); });
    say(exist.children[0], b.exist_word); say(exist.children[2], `${b.used} ${b.used_word}, ${b.free} ${b.free_word}`);
    sync(exist.children[1], [["used", b.used], ["free", b.free]].filter(([, n]) => n), () => el("i"), (i, [kind, n]) => { i.className = kind; i.style.width = share(n); });
  }
  const held = line.holders ?? []; holders.hidden = !held.length;
  sync(holders, held.length ? [{ title: line.holders_title }, ...held] : [], () => { const h = el("span", "holder"), b = el("button", "pick"); b.type = "button"; h.append(b, el("span")); return h; }, (node, holder) => {
    const [pick, text] = node.children; pick.hidden = Boolean(holder.title); say(pick, holder.request ?? "");
    attr(pick, "data-request", holder.request); attr(pick, "data-select", holder.request ? "request" : null);
    say(text, holder.title ?? `${holder.num}${holder.own ? ` (${holder.own})` : ""}`);
  });
}

function showAsk(root, data, send) {
  const node = part(root, "ask", "section"), ask = data.ask;
  let known = whys.get(root);
  if (!known || !known.field.isConnected) {
    const field = el("textarea"), mode = el("select"), line = el("div", "typed"); field.rows = 1; field.spellcheck = false; field.value = ask.text;
    line.append(field, mode); node.replaceChildren(el("h3"), line, el("p", "quiet hint")); known = { field, mode, timer: 0 }; whys.set(root, known);
    mode.append(...ask.modes.map(([value]) => { const o = el("option"); o.value = value; return o; })); mode.value = ask.mode ?? "chat";
  }
  const { field, mode } = known, tell = (wait) => { clearTimeout(known.timer); known.timer = setTimeout(() => { known.timer = 0; send("asked", { text: field.value, mode: mode.value }); }, wait); };
  say(node.querySelector("h3"), ask.title); say(node.querySelector(".hint"), ask.hint);
  attr(field, "aria-label", ask.label); attr(mode, "aria-label", ask.mode_label); attr(mode, "title", ask.mode_label); mode.hidden = ask.mode === null;
  ask.modes.forEach(([, word], i) => say(mode.children[i], word));
  if (!known.timer && root.getRootNode().activeElement !== field && field.value !== ask.text) field.value = ask.text;
  if (!known.timer && root.getRootNode().activeElement !== mode && ask.mode !== null) mode.value = ask.mode;
  field.oninput = () => tell(250); mode.onchange = () => tell(0);
  const problem = part(node, "problem", "p"); say(problem, ask.problem ?? ""); attr(problem, "role", "status");
  const box = part(node, "case", "div"); attr(box, "aria-live", "polite"); showCase(box, ask.case, data);
  say(part(node, "need", "p"), ask.need ?? "");
}
