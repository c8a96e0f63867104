// What a lens shows at once gets that much of the stage, if it needs it (base.js, claim); the requests fold closer for it,
// down to the second (requests.css).
const ROOM = { block: ["490px", "118px"], why: ["430px", "118px"] };
function present({ data, parentElement, setTriggerValue }) {
  ["--pw-lens", "--pw-cards"].forEach((name, i) => { const px = ROOM[data.open]?.[i]; if (px) document.documentElement.style.setProperty(name, px); else document.documentElement.style.removeProperty(name); });
  const root = parentElement.querySelector(".root");
  attr(root, "role", "tablist"); attr(root, "aria-label", data.title);
  sync(root, data.lenses, () => { const b = el("button", "lens"); b.type = "button"; attr(b, "role", "tab"); return b; }, (node, [name, word, hint]) => {
    say(node, word); attr(node, "title", hint); attr(node, "data-name", name);
    attr(node, "aria-selected", String(name === data.open)); node.tabIndex = name === data.open ? 0 : -1;
  });
  const open = (node) => node && node.dataset.name !== data.open && setTriggerValue("lens", node.dataset.name);
  root.onclick = (e) => { open(e.target.closest(".lens")); released(e); };
  root.onkeydown = (e) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key], tabs = [...root.children]; if (!by || e.shiftKey) return;
    const next = tabs[(tabs.indexOf(e.target) + by + tabs.length) % tabs.length];
    e.preventDefault(); e.stopPropagation(); next.focus(); open(next);
  };
}
