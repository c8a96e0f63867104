const BETWEEN_LOOKS_MS = 500;

// How far the model is. While it loads the browser asks for another look; nothing else on the page is drawn for that.
function present({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root"), word = part(root, "word", "span"), track = part(root, "track"), bar = part(track, "bar", "i"), path = part(root, "path", "span");
  attr(root, "data-is", data.is); attr(root, "title", data.hint ?? data.words); say(path, data.path ?? ""); path.hidden = !data.path; say(word, data.words); attr(root, "role", "status");
  track.hidden = data.is !== "loading"; bar.style.width = `${Math.round(100 * data.share)}%`;
  const asking = data.is === "loading" ? setInterval(() => setTriggerValue("looked", data.look), BETWEEN_LOOKS_MS) : 0;
  clearInterval(root.asking); root.asking = asking;
  return () => clearInterval(asking);
}
