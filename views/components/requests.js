const opened = kept("opened", () => new Set()); // the finished requests whose cards somebody opened
const DENSE_FROM = 4, FEW = 8; // cards
const button = (cls, kind) => { const b = el("button", cls); b.type = "button"; attr(b, "data-select", kind); return b; };

function present({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  attr(root, "data-roomy", data.roomy); attr(root, "data-few", data.cards.length <= FEW); attr(root, "data-dense", !data.roomy && data.cards.length >= DENSE_FROM);
  head(root, data.title);
  const cards = part(root, "cards"), state = Object.fromEntries(data.legend);
  sync(cards, data.cards, makeCard, (node, card) => { setCard(node, card, data, state); closed(node, card, opened); });
  afterwards(() => place(root, cards, data));
  cards.onclick = (e) => {
    const open = e.target.closest(".open"), fold = e.target.closest(".fold, .refold"), abort = e.target.closest(".abort:not([aria-disabled])");
    if (open) { toggle(open.closest(".request"), opened); legends(root, data); }
    if (fold) setTriggerValue("unfolded", fold.closest(".request").dataset.card);
    if (abort) setTriggerValue("aborted", abort.dataset.aborts);
    if (open || fold || abort) released(e);
  };
  say(part(root, "empty"), data.empty); say(part(root, "quiet"), data.more);
  legends(root, data);
  link(root, data, setTriggerValue);
}

// What the bytes of a split character are is told while some of them are in sight.
function legends(root, data) {
  const hasBytes = data.legend_bytes && root.querySelector(".blocks:not([hidden]) .token .bytes");
  legend(root, data.cards.length ? [...data.legend, ["output", data.legend_output], ...(hasBytes ? [["bytes", data.legend_bytes]] : [])] : []);
}

// The box takes what the lens leaves, and what is looked for comes into sight in it: the page never moves.
const placed = new WeakMap(); // box of cards -> what was looked for there last
function place(root, cards, data) {
  if (!placed.has(cards)) {
    placed.set(cards, {});
    new ResizeObserver(() => { if (cards.isConnected) follow(root, cards); }).observe(cards);
  }
  const known = placed.get(cards), frame = `${root.offsetHeight - cards.offsetHeight + 1}px`;
  if (cards.style.getPropertyValue("--frame") !== frame) cards.style.setProperty("--frame", frame);
  known.own = JSON.stringify(data.lit?.own ?? null);
  follow(root, cards);
}
// A new sub-step brings its card; a new selection, or a box that grew or shrank, what is selected as well.
function follow(root, cards) {
  const known = placed.get(cards), card = cards.querySelector(":scope > [data-touched]");
  tighten(root, cards);
  const isNew = (name, value) => { const was = known[name]; known[name] = value; return was !== value; };
  const [moved, chose, resized] = [isNew("card", card?.dataset.card), isNew("chosen", known.own), isNew("height", cards.clientHeight)];
  if (cards.scrollHeight <= cards.clientHeight) return;
  if (card && (moved || resized)) show(cards, card);
  if (!chose && !resized) return;
  const lit = [...cards.querySelectorAll("[data-lit=own]")], every = lit.length ? lit : [...cards.querySelectorAll("[data-lit]")];
  if (every.length && !every.some((node) => isIn(cards, node))) show(cards, every[0]);
}
// Without air between the rows as long as that is needed; the share keeps it from changing to and fro.
const AIR = 1.16;
function tighten(root, cards) {
  const { scrollHeight, clientHeight } = cards, isTight = root.hasAttribute("data-tight");
  if (isTight ? scrollHeight * AIR < clientHeight : scrollHeight > clientHeight + 1) attr(root, "data-tight", !isTight);
}
function isIn(box, node) {
  const { top, bottom } = box.getBoundingClientRect(), own = node.getBoundingClientRect();
  return own.top >= top && own.bottom <= bottom;
}
// With the name of its request, where there is room for both.
function show(box, node) {
  const { top, bottom, height } = box.getBoundingClientRect(), own = node.getBoundingClientRect(), name = node.closest(".request").getBoundingClientRect().top;
  const first = own.bottom - name <= height ? name : own.top, by = first < top ? first - top : Math.max(0, Math.min(own.bottom - bottom, first - top));
  box.scrollTop += by / (box.currentCSSZoom ?? 1);
}

function makeCard() {
  const card = el("article", "request"), line = el("div", "line"), title = el("h3"), made = el("span", "made");
  title.append(button("name", "request")); made.append(el("bdi"));
  line.append(title, el("span", "status"), el("span", "facts"), made, actButton("refold"), actButton("abort"), el("bdi", "asked"), actButton("open"));
  card.append(line, el("div", "blocks"), el("p", "answer"));
  return card;
}

function setCard(node, card, data, state) {
  const [line, blocks] = node.children, [title, status, facts, made, refold, abort] = line.children;
  attr(node, "data-touched", card.touched); attr(node, "data-status", card.status); attr(node, "data-card", card.id);
  say(title.firstChild, card.id); attr(title.firstChild, "data-request", card.id);
  say(status, card.word); attr(status, "title", card.why);
  sync(facts, card.facts, () => el("span"), (fact, [kind, words]) => { attr(fact, "data-kind", kind); say(fact, words); });
  setBlocks(blocks, card, data, state);
  refold.hidden = !card.fold_again; say(refold, card.fold_again ?? "");
  offer(abort, card.abort); attr(abort, "data-aborts", card.id);
  draw(made.firstChild, card.text); attr(made, "title", made.firstChild.textContent); made.hidden = !card.text;
}

// One tab stop per card: arrow keys move among its blocks and tokens.
function setBlocks(holder, card, data, state) {
  const tokenLabel = (i, id, name, shared) => fill(data.token_label, { i, id, state: state[name] }) + (shared ? `, ${fill(data.shared_label, { whole: shared })}` : "");
  const setToken = (start) => (node, [drawn, name, kind, id, shared], i) => {
    draw(node, drawn); attr(node, "data-request", card.id); attr(node, "data-token", start + i); attr(node, "data-state", name); attr(node, "data-kind", kind);
    attr(node, "title", tokenLabel(start + i, id, name, shared));
  };
  sync(holder, card.blocks, makeBlock, (node, block) => {
    const [number, tokens, slots, fold] = node.children;
    attr(node, "data-fold", !!block.fold); fold.hidden = !block.fold; say(fold, block.fold ?? ""); attr(fold, "title", block.fold ? data.unfold_hint : null);
    const held = block.block ?? null;
    number.hidden = held === null; say(number, held === null ? "" : String(held)); attr(number, "title", held === null ? null : fill(data.block_label, { block: held }));
    attr(number, "data-block", held); attr(node, "data-block", held);
    sync(tokens, block.tokens ?? [], () => button("token", "token"), setToken(block.start));
    sync(slots, Array.from({ length: (block.empty ?? 0) + (block.hidden ? 1 : 0) }), () => el("span"), (slot, _, i) => {
      const isMore = block.hidden && i === 0; slot.className = isMore ? "quiet" : "slot"; say(slot, isMore ? `+${block.hidden}` : "");
    });
  });
  rove(holder, ".token, .block, .fold");
}

function makeBlock() {
  const group = el("div", "group"), fold = el("button", "fold"); fold.type = "button";
  group.append(button("block", "block"), el("div", "tokens"), el("div", "slots"), fold);
  return group;
}

// A finished card: its prompt's first words; opened, the whole answer and the tokens by block.
function closed(node, card, ids) {
  const folds = card.closed, isOpen = !folds || ids.has(card.id), [line, blocks, answer] = node.children;
  const asked = line.querySelector(".asked"), open = line.querySelector(".open");
  node.words = folds;
  attr(node, "data-closed", !isOpen); blocks.hidden = !isOpen; answer.hidden = !folds || !isOpen || !folds.answer;
  asked.hidden = open.hidden = !folds;
  if (!folds) return;
  say(asked, folds.prompt); draw(answer, folds.answer); say(open, isOpen ? folds.close : folds.open);
  attr(open, "aria-expanded", String(isOpen)); attr(open, "aria-label", folds.label);
  if (isOpen) line.querySelector(".made").hidden = true;
}

function toggle(node, ids) {
  const id = node.dataset.card, made = node.querySelector(".made");
  if (!ids.delete(id)) ids.add(id);
  made.hidden = !made.textContent;
  closed(node, { id, closed: node.words }, ids);
}
