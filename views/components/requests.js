// root -> the finished requests whose cards somebody opened.
const opens = new WeakMap();
const opened = (root) => opens.get(root) ?? opens.set(root, new Set()).get(root);
export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  attr(root, "data-roomy", data.roomy);
  head(root, data.title);
  const state = Object.fromEntries(data.legend);
  const makeToken = () => { const b = el("button", "token"); b.type = "button"; attr(b, "data-select", "token"); return b; };
  const setToken = (request, start) => (node, [drawn, name, kind, id, shared], i) => {
    draw(node, drawn); attr(node, "data-request", request); attr(node, "data-token", start + i); attr(node, "data-state", name); attr(node, "data-kind", kind);
    attr(node, "title", fill(data.token_label, { i: start + i, id, state: state[name] }) + (shared ? `, ${fill(data.shared_label, { whole: shared })}` : ""));
  };
  const makeBlock = () => { const b = el("div", "group"); const n = el("button", "block"); n.type = "button"; attr(n, "data-select", "block"); b.append(n, el("div", "tokens"), el("div", "slots")); return b; };
  const setBlock = (request) => (node, block) => {
    const [number, tokens, slots] = node.children;
    attr(node, "data-fold", block.fold); number.hidden = block.block === null || !!block.fold;
    say(number, block.block === null ? "" : String(block.block ?? ""));
    attr(number, "data-block", block.block); attr(node, "data-block", block.block);
    attr(number, "title", block.block === null ? null : fill(data.block_label, { block: block.block }));
    if (block.fold) { tokens.replaceChildren(el("span", "quiet", block.fold)); slots.replaceChildren(); return; }
    if (tokens.firstElementChild?.className === "quiet") tokens.replaceChildren();
    sync(tokens, block.tokens, makeToken, setToken(request, block.start));
    sync(slots, Array.from({ length: block.empty + (block.hidden ? 1 : 0) }), () => el("span"), (s, _, i) => {
      const more = block.hidden && i === 0; s.className = more ? "quiet" : "slot"; say(s, more ? `+${block.hidden}` : "");
    });
  };
  const cards = part(root, "cards");
  sync(cards, data.cards, makeCard, (node, card) => {
    attr(node, "data-touched", card.touched); attr(node, "data-status", card.status);
    const [line, blocks] = node.children, text = line.querySelector(".made");
    say(line.querySelector(".name"), card.id); attr(line.querySelector(".name"), "data-request", card.id); say(line.children[1], card.word);
    sync(line.children[2], card.facts, () => el("span"), (fact, [kind, words]) => { attr(fact, "data-kind", kind); say(fact, words); });
    const shown = [...(card.blocks ?? [])];
    if (card.folded) shown.splice(card.fold_at, 0, { block: null, tokens: [], empty: 0, fold: card.folded });
    sync(blocks, shown, makeBlock, setBlock(card.id)); rove(blocks, ".token, .block");
    const abort = line.querySelector(".abort"); offer(abort, card.abort); attr(abort, "data-aborts", card.id);
    say(text.firstChild, card.text); attr(text, "title", card.text); text.hidden = !card.text;
    closed(node, card, opened(root));
  });
  cards.onclick = (e) => {
    const open = e.target.closest(".open"); if (open) toggle(open.closest(".request"), opened(root));
    const abort = e.target.closest(".abort:not([aria-disabled])"); if (abort) setTriggerValue("aborted", abort.dataset.aborts);
    if (open || abort) released(e);
  };
  say(part(root, "empty"), data.empty); say(part(root, "quiet"), data.more);
  legend(root, data.cards.length ? [...data.legend, ["output", data.legend_output], ...(data.legend_bytes ? [["bytes", data.legend_bytes]] : [])] : []);
  link(root, data, setTriggerValue);
}

function makeCard() {
  const card = el("article", "request"), line = el("div", "line");
  const title = el("h3"), name = el("button", "name"); name.type = "button"; attr(name, "data-select", "request"); title.append(name);
  line.append(title, el("span", "status"), el("span", "facts"));
  const made = el("span", "made"); made.append(el("bdi"));
  line.append(made, actButton("abort"), el("bdi", "asked"), actButton("open")); card.append(line, el("div", "blocks"), el("p", "answer"));
  return card;
}

// A finished card: its prompt's first words; opened, the whole answer and the tokens by block.
function closed(node, card, ids) {
  const folds = card.closed, isOpen = !folds || ids.has(card.id), [line, blocks, answer] = node.children;
  const asked = line.querySelector(".asked"), open = line.querySelector(".open");
  node.dataset.card = card.id; node.words = folds;
  attr(node, "data-closed", !isOpen); blocks.hidden = !isOpen; answer.hidden = !folds || !isOpen || !folds.answer;
  asked.hidden = open.hidden = !folds;
  if (!folds) return;
  say(asked, folds.prompt); say(answer, folds.answer); say(open, isOpen ? folds.close : folds.open);
  attr(open, "aria-expanded", String(isOpen)); attr(open, "aria-label", folds.label);
  if (isOpen) line.querySelector(".made").hidden = true;
}

function toggle(node, ids) {
  const id = node.dataset.card;
  if (!ids.delete(id)) ids.add(id);
  node.querySelector(".made").hidden = !node.querySelector(".made").textContent;
  closed(node, { id, closed: node.words }, ids);
}
