// Stands behind all parts in the script that carries them, and answers the loaders that wait for one (loader.js).
const sheet = (style) => { const made = new CSSStyleSheet(); made.replaceSync(style); return made; };
const shared = sheet(STYLES.base), opened = {};
const open = (name) => opened[name] ??= { place: PARTS[name].place, present: PARTS[name].make(), sheets: [shared, sheet(STYLES[name])] };
kept(VERSION, () => Promise.withResolvers()).resolve((name) => { const part = open(name); return (args) => together(args, part); });
const page = kept("page-sheets", () => { const one = new CSSStyleSheet(); document.adoptedStyleSheets.push(one); return one; });
page.replaceSync(STYLES.page);
// Of the whole page: its language, which a part inherits, and with it the shapes of letters and where a line may end.
export default ({ data, setTriggerValue }) => {
  asking.whole = setTriggerValue;
  const { language, words, drawn: [key, , answered, session] } = JSON.parse(new TextDecoder().decode(data));
  if (isAnother(session)) return;
  document.documentElement.lang = language; hearAnswer(key, answered); watchServer(words);
};
