export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".root");
  attr(root, "role", "group"); attr(root, "aria-label", data.title);
  const make = () => { const n = el("div", "number"), m = el("div", "meter"); m.append(el("i")); n.append(el("div", "name"), el("div", "value"), m, el("div", "beside")); return n; };
  sync(part(root, "numbers"), data.numbers, make, (node, item) => {
    const [name, value, meter, beside] = node.children;
    say(name, item.name); say(value, item.value); say(beside, item.beside); attr(node, "title", item.hint);
    meter.style.visibility = item.share === null ? "hidden" : "visible";
    meter.firstChild.style.width = `${Math.min(100, 100 * (item.share ?? 0))}%`;
  });
}
