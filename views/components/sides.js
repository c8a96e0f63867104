// Both runs of a comparison, or one of them on the stage. It stands in two parts, of which one is there at a time: whoever
// chose with the keys finds them on the same choice in the other.
const lookedAt = () => kept("sides", () => ({ byKeys: false }));
function sideSwitch(holder, { title, side, choices }, choose) {
  say(part(holder, "look-name", "span"), title);
  const group = part(holder, "look-group"); attr(group, "role", "radiogroup"); attr(group, "aria-label", title);
  const make = () => { const b = el("button", "look"); b.type = "button"; attr(b, "role", "radio"); return b; };
  sync(group, choices, make, (button, choice) => {
    const isOn = choice.side === side;
    say(button, choice.word); attr(button, "title", choice.hint); attr(button, "aria-description", choice.hint); attr(button, "data-look", choice.side || "both");
    attr(button, "aria-checked", String(isOn)); attr(button, "aria-disabled", choice.off ? "true" : null); button.tabIndex = isOn ? 0 : -1;
    button.onclick = (e) => { lookedAt().byKeys = e.detail === 0; if (!isOn && !choice.off) choose(choice.side); released(e); };
  });
  group.onkeydown = (e) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key], all = [...group.children].filter((b) => !b.hasAttribute("aria-disabled"));
    if (!by || e.shiftKey || !all.includes(e.target)) return;
    const next = all[(all.indexOf(e.target) + by + all.length) % all.length];
    e.preventDefault(); e.stopPropagation(); next.focus(); next.click();
  };
  if (lookedAt().byKeys) { lookedAt().byKeys = false; setTimeout(() => group.querySelector("[aria-checked=true]")?.focus()); }
}
