// What a reader has done of the lessons stays in this browser, for whoever comes back without the link (views/studying.py).
const PROGRESS = "pagewalk-lessons";
const keptProgress = () => { try { return JSON.parse(localStorage.getItem(PROGRESS)) ?? {}; } catch { return {}; } };
const keepProgress = (known) => { try { localStorage.setItem(PROGRESS, JSON.stringify({ ...keptProgress(), ...known })); } catch { /* a browser that keeps nothing */ } };
const doneBits = (code) => parseInt(code, 16) || 0;
// Once a page: a list that was shown before it knew, a lesson that came back by its link.
const toldOnce = (name) => { const told = kept("told", () => new Set()); return told.has(name) || !told.add(name); };
