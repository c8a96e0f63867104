const svg = (tag, cls) => { const node = document.createElementNS("http://www.w3.org/2000/svg", tag); node.setAttribute("class", cls); return node; };
const WIDTH = 100, HEIGHT = 15;
// Steps, not slopes: a value holds until the next one. A gap stays a gap.
const trail = (points) => {
  const width = WIDTH / points.length, height = (value) => (HEIGHT - 1 - ((HEIGHT - 2) * value) / 100).toFixed(2);
  return points.map((value, i) => value === null ? "" : `${i && points[i - 1] !== null ? "L" : "M"}${(i * width).toFixed(2)} ${height(value)}H${((i + 1) * width).toFixed(2)}`).join("");
};
const area = (points) => {
  const width = WIDTH / points.length, base = HEIGHT - 1;
  return points.map((value, i) => value ? `M${(i * width).toFixed(2)} ${base}V${(base - ((HEIGHT - 2) * value) / 100).toFixed(2)}h${width.toFixed(2)}V${base}z` : "").join("");
};
let serial = 0;
const makeSpark = () => {
  const spark = svg("svg", "spark"), clip = svg("clipPath", "clip"), rest = svg("clipPath", "clip"), id = `seen-${(serial += 1)}`;
  attr(spark, "viewBox", `0 0 ${WIDTH} ${HEIGHT}`); attr(spark, "preserveAspectRatio", "none"); attr(spark, "aria-hidden", "true");
  clip.id = id; rest.id = `${id}-rest`; clip.append(svg("rect", "")); rest.append(svg("rect", ""));
  const past = svg("g", "past"), ahead = svg("g", "ahead"), line = svg("path", "cursor");
  attr(past, "clip-path", `url(#${id})`); attr(ahead, "clip-path", `url(#${id}-rest)`);
  past.append(svg("path", "under"), svg("path", "curve")); ahead.append(svg("path", "curve"));
  spark.append(clip, rest, past, ahead, line);
  return spark;
};
const setSpark = (spark, points, data) => {
  const [clip, rest, past, ahead, line] = spark.children, path = trail(points), seen = WIDTH * data.seen;
  attr(past.children[0], "d", area(points) || "M0 0"); attr(past.children[1], "d", path || "M0 0"); attr(ahead.children[0], "d", path || "M0 0");
  const cut = (rect, x, width) => { attr(rect, "x", String(x)); attr(rect, "y", "-2"); attr(rect, "width", String(width)); attr(rect, "height", String(HEIGHT + 4)); };
  cut(clip.firstChild, -2, seen + 2 + (data.seen === 1 ? 2 : 0)); cut(rest.firstChild, seen, WIDTH - seen + 2);
  attr(line, "d", `M${WIDTH * data.at} 0V${HEIGHT}`);
};
// A row: label, value, share, curve; under it vLLM's name and what is counted, for whoever asks.
const make = () => {
  const node = el("div", "number"), line = el("div", "line"), detail = el("p", "detail");
  line.append(el("span", "label"), el("span", "value"), el("span", "beside"), makeSpark(), el("span", "second"));
  detail.append(el("span", "name"), el("span", "hint"), el("span", "facts"));
  node.append(line, detail);
  return node;
};
function present({ data, parentElement }) {
  const root = parentElement.querySelector(".root");
  root.classList.add("card"); attr(root, "role", "group"); attr(root, "aria-label", data.title);
  head(root, data.title);
  const line = root.querySelector(".head"), all = line.querySelector(".explain") ?? line.appendChild(actButton("explain"));
  const rows = part(root, "numbers"), isAll = () => root.dataset.shown === "*";
  const show = () => {
    say(all, data.explain); attr(all, "title", data.hint); attr(all, "aria-expanded", String(isAll()));
    sync(rows, data.numbers, make, (node, item) => {
      const [line, detail] = node.children, [label, value, beside, spark, second] = line.children, open = isAll() || root.dataset.shown === item.key;
      attr(node, "data-key", item.key); attr(node, "data-open", open); attr(line, "title", open ? null : `${item.name}\n${item.hint}`);
      say(label, item.label); say(value, item.value); say(beside, item.beside); say(second, item.name);
      setSpark(spark, item.points, data);
      detail.hidden = !open;
      [item.name, item.hint, item.facts].forEach((words, i) => say(detail.children[i], words));
    });
  };
  // The pointer opens one row; the button opens all, and is the way of the keyboard.
  const toggle = (key, e) => { root.dataset.shown = root.dataset.shown === key ? "" : key; show(); released(e); };
  rows.onclick = (e) => { const key = e.target.closest(".line") && e.target.closest(".number").dataset.key; if (key) toggle(key, e); };
  all.onclick = (e) => toggle("*", e);
  show();
}
