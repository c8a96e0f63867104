// Stands behind all parts in the script that carries them, and answers the loaders that wait for one (loader.js).
const sheet = (style) => { const made = new CSSStyleSheet(); made.replaceSync(style); return made; };
const shared = sheet(STYLES.base), opened = {};
const open = (name) => opened[name] ??= { place: PARTS[name].place, present: PARTS[name].make(), sheets: [shared, sheet(STYLES[name])] };
kept(VERSION, () => Promise.withResolvers()).resolve((name) => { const part = open(name); return (args) => together(args, part); });
// Of the whole page: a part inherits it, and with it the shapes of letters and where a line may end.
export default ({ data }) => { document.documentElement.lang = data; };
