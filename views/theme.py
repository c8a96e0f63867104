"""Colours by meaning. One colour, one meaning, on every page; a label or a pattern stands beside it.

The hues are Okabe and Ito's, which people with any colour vision can tell apart: blue for K and V
that are there, orange for shared, green for a prefix hit, sky blue for free but remembered,
vermillion for what happens now, purple for what was lost. Fills are tinted until text on them
reaches a contrast of 4.5:1 in both themes (tests/views/test_theme.py).
"""

from typing import NamedTuple

BACKGROUNDS = {"light": ("#FBFAF7", "#F1EFE9"), "dark": ("#15181C", "#1E2329")}


class Paint(NamedTuple):
    """A fill and the ink of text on it; `fill` None leaves the page to shine through."""

    fill: str | None
    ink: str


class Meaning(NamedTuple):
    """How one meaning looks in the two themes."""

    light: Paint
    dark: Paint


MEANINGS: dict[str, Meaning] = {
    # blocks
    "null": Meaning(Paint("#DDD9CE", "#4A463E"), Paint("#31363D", "#C3C0B8")),
    "unused": Meaning(Paint(None, "#68645B"), Paint(None, "#A3A099")),
    "free": Meaning(Paint("#E7E3D9", "#4A463E"), Paint("#2C3239", "#C9C6BE")),
    "remembered": Meaning(Paint("#A6D7F2", "#0A3750"), Paint("#1D506C", "#DBF0FC")),
    "used": Meaning(Paint("#0072B2", "#FFFFFF"), Paint("#0072B2", "#FFFFFF")),
    "shared": Meaning(Paint("#E69F00", "#2B1C00"), Paint("#E69F00", "#2B1C00")),
    # tokens and hashes
    "hit": Meaning(Paint("#B5E3D3", "#003D2C"), Paint("#0C4E3C", "#C6F3E4")),
    "computed": Meaning(Paint("#CBE2F1", "#07324C"), Paint("#143F5B", "#D3EAF9")),
    "now": Meaning(Paint("#FBD5BC", "#5A2400"), Paint("#63300F", "#FFDDC8")),
    "scheduled": Meaning(Paint("#FEF1E6", "#7A3A00"), Paint("#33241A", "#FFC59C")),
    "pending": Meaning(Paint(None, "#68645B"), Paint(None, "#A3A099")),
    "lost": Meaning(Paint("#F1D5E4", "#5B1D3E"), Paint("#5A2842", "#F9D9E8")),
    # numbers in K and V (a scale from one over nothing to the other)
    "negative": Meaning(Paint("#5E3C99", "#FFFFFF"), Paint("#B2ABD2", "#1B1030")),
    "positive": Meaning(Paint("#B35806", "#FFFFFF"), Paint("#FDB863", "#2B1600")),
    # lines and words
    "touched": Meaning(Paint(None, "#B24E00"), Paint(None, "#FF9A57")),
    "hit-line": Meaning(Paint(None, "#007A59"), Paint(None, "#35C79D")),
    "lost-line": Meaning(Paint(None, "#9C3F70"), Paint(None, "#E59BC2")),
    "quiet": Meaning(Paint(None, "#615D55"), Paint(None, "#AAA79F")),
}

# Streamlit has no setting for the empty sides of a wide page (1.67), and the stage needs them.
PAGE_STYLE = """<style>
[data-testid="stMainBlockContainer"], [data-testid="stBottomBlockContainer"] {
  padding-left: clamp(0.75rem, 1.9vw, 2.5rem); padding-right: clamp(0.75rem, 1.9vw, 2.5rem);
}
/* Quiet words of ours, in the colour that all others have: Streamlit's own shade stays below 4.5:1. */
[data-testid="stCaptionContainer"], [data-testid="stCaptionContainer"] p { color: light-dark(#615D55, #AAA79F); opacity: 1; }
.st-key-parts { display: none; } /* carries scripts, shows nothing */
/* Streamlit fades what a run has not drawn yet. A step draws all of the stage at once, and a fade that is
   begun and broken off at each step costs more than the step. */
[data-testid="stElementContainer"] { opacity: 1 !important; transition: none !important; }
/* The pages stand in one thin line; Streamlit's own is 56 px high. */
[data-testid="stHeader"], [data-testid="stToolbar"] { height: 2.25rem; min-height: 0; }
:root:lang(ja) [data-testid="stMain"] :is(p, li) { word-break: auto-phrase; line-break: strict; }
@media (min-width: 641px) { .st-key-page_head > :has(.st-key-readiness) { min-width: 216px; } } /* words beside it get narrower */
@media (max-width: 640px) { .st-key-frag_lengths [role="radiogroup"] { flex-wrap: wrap; row-gap: 4px; overflow: visible; } } /* else the last is cut off */
[data-testid="stLayoutWrapper"]:has(> .st-key-language_switch) { position: absolute; }
.st-key-language_switch { position: fixed; top: 0.2rem; right: clamp(0.75rem, 1.9vw, 2.5rem); z-index: 999991; width: auto; }
[data-testid="stTopNav"] { padding-left: calc(clamp(0.75rem, 1.9vw, 2.5rem) - 7.5px); }
[data-testid="stMainBlockContainer"] { padding-top: 2.6rem; }
/* All pages in one line beside the languages, where Streamlit does not fold them into a menu yet; long names over them. */
@media (min-width: 768px) and (max-width: 920px) {
  [data-testid="stTopNav"] { gap: 0; } [data-testid="stTopNav"] a { padding-left: 3px; padding-right: 3px; } [data-testid="stTopNav"] a * { font-size: 11.5px; }
  :root:lang(ja) .st-key-language_switch { top: 2.3rem; } :root:lang(ja) [data-testid="stMainBlockContainer"] { padding-top: 4.7rem; }
}
/* What can be scrolled takes the focus. Whoever came there with the pointer did not ask where it is. */
[data-testid="stMain"]:focus-visible { outline: 2px solid var(--st-primary-color, currentColor); outline-offset: -3px; box-shadow: none; }
[data-testid="stHeader"] a:focus-visible { outline: 2px solid currentColor; outline-offset: -2px; } /* Streamlit shows a shade */
:root[data-pointed] [data-testid="stMain"]:focus-visible { outline: none; }
:root[data-pointed] [data-testid="stMain"]::before { box-shadow: none !important; }
/* What a changed setting restarts stands beside the button that does it; on a phone it stays in sight above the time. */
.st-key-settings_foot { border-top: 1px solid color-mix(in srgb, currentColor 22%, transparent); padding-top: 0.5rem; background: light-dark(#FBFAF7, #15181C); }
[data-testid="stMainBlockContainer"] .st-key-settings_more { gap: 0.1rem; }
@media (max-width: 640px) { [data-testid="stLayoutWrapper"]:has(> .st-key-settings_foot) { position: sticky; bottom: 9rem; z-index: 5; } .st-key-settings_foot { padding-bottom: 1.1rem; } }
/* The stage: story | requests | pool, and the numbers below the story. A phone has them one below the other, in this order. */
@media (min-width: 641px) {
  .st-key-stage {
    display: grid; align-items: start; gap: 0.7rem 1rem;
    grid-template: "story requests pool" auto "numbers requests pool" 1fr / minmax(0, 8.6fr) minmax(0, 21.6fr) minmax(0, 12.3fr);
  }
  .st-key-stage > :nth-child(1) { grid-area: story; } .st-key-stage > :nth-child(2) { grid-area: requests; }
  .st-key-stage_pool { max-height: max(560px, var(--pw-room, 100vh)); overflow-y: auto; scrollbar-width: thin; }
  .st-key-stage > :nth-child(3) { grid-area: pool; } .st-key-stage > :nth-child(4) { grid-area: numbers; }
}
.st-key-home { max-width: 1080px; margin: 0 auto; } .st-key-home h1 { font-size: 2.1rem; padding-bottom: 0; }
.st-key-home > div:nth-child(2) p { font-size: 1.2rem; line-height: 1.45; max-width: 46em; }
[class*="st-key-door_"] a[data-testid="stPageLink-NavLink"] { border: 1px solid color-mix(in srgb, currentColor 26%, transparent); border-radius: 8px; padding: 0.44rem 0.75rem; width: fit-content; margin: 0.35rem 0 0.45rem; }
[class*="st-key-door_"] a[data-testid="stPageLink-NavLink"]:hover { border-color: currentColor; }
.st-key-home_more [data-testid="stPageLink-NavLink"] { padding: 0; } .st-key-home_more [data-testid="stPageLink-NavLink"] p { font-weight: 600; }
.st-key-home_more { margin-top: 0.6rem; } .st-key-home_more [data-testid="stColumn"] [data-testid="stVerticalBlock"] { gap: 0; }
.st-key-home_more [data-testid="stCaptionContainer"] { margin-bottom: 0.55rem; }
.st-key-stage_told { --pw-lines: 118px; }
@media (min-width: 641px) { .st-key-stage:has(.st-key-stage_prose) { grid-template-columns: minmax(0, 13fr) minmax(0, 18fr) minmax(0, 12.3fr); } }
@media (min-width: 641px) and (max-width: 1200px) { .st-key-stage { grid-template-columns: minmax(0, 10.5fr) minmax(0, 19fr) minmax(0, 13fr); } }
/* A lesson's text that stands alone, and on a phone the pool under the question that is answered in it (lesson.js). */
@media (min-width: 641px) { :root[data-alone] .st-key-stage:has(.st-key-stage_prose) { grid-template: "story" auto / minmax(0, 47rem); justify-content: center; } }
:root[data-alone] .st-key-stage:has(.st-key-stage_prose) > :not(:first-child), :root[data-alone] [data-testid="stBottom"] { display: none; } /* no stage, no time */
@media (max-width: 640px) { :root[data-asks=pool] .st-key-stage:has(.st-key-stage_prose) > :nth-child(2) { order: 1; } :root[data-asks=pool] .st-key-stage:has(.st-key-stage_prose) > :nth-child(4) { order: 2; } }
/* Large type, for those who sit in the last row: one switch beside the time, kept in the link. */
:root[data-large] { --pw-zoom: 1.3; --pw-second: none; font-size: 19.5px; }
@media (min-width: 1700px) { :root[data-large] { --pw-zoom: 1.55; font-size: 23px; } }
:root[data-large] [data-testid="stBottomBlockContainer"] { --pw-zoom: 1.08; } /* the teacher's own tools */
:root[data-large] .st-key-page_head [data-testid="stCaptionContainer"] { display: none; }
:root[data-large] .st-key-stage { grid-template-columns: minmax(0, 11fr) minmax(0, 18.5fr) minmax(0, 13fr); }
[data-testid="stBottomBlockContainer"] { padding-top: 0.25rem; padding-bottom: 0.75rem; }
/* A phone has the screen for the stage: the name is in the tab, all examples stand in one line. */
@media (max-width: 640px) {
  .st-key-page_head:has(.st-key-panel_settings) [data-testid="stCaptionContainer"] { display: none; } .st-key-page_head:has(.st-key-panel_settings) > :has(h2) { position: absolute; clip-path: inset(50%); }
  .st-key-page_head [data-testid="stButtonGroup"] button { padding: 0.2rem 0.42rem; } .st-key-page_head [data-testid="stButtonGroup"] button * { font-size: 12.5px; letter-spacing: -0.01em; }
  [data-testid="stBottomBlockContainer"] { padding-bottom: 0.3rem; } [data-testid="stBottomBlockContainer"] [data-testid="stVerticalBlock"], [data-testid="stBottomBlockContainer"] [data-testid="stHorizontalBlock"] { gap: 0.2rem; }
}
[data-testid="stMainBlockContainer"] [data-testid="stVerticalBlock"] { gap: 0.7rem; }
</style>"""

# One byte per block in the payload of a large pool, in this order.
BLOCK_STATES = ("null", "unused", "free", "remembered", "used", "shared")
TOKEN_STATES = ("hit", "computed", "now", "scheduled", "pending")


def css_variables() -> str:
    """`--pw-<meaning>` and `--pw-<meaning>-ink` for both themes, chosen by the page's colour scheme."""
    lines = []
    for name, (light, dark) in MEANINGS.items():
        if light.fill and dark.fill:
            lines.append(f"--pw-{name}: light-dark({light.fill}, {dark.fill});")
        lines.append(f"--pw-{name}-ink: light-dark({light.ink}, {dark.ink});")
    return ":host, .root {\n  " + "\n  ".join(lines) + "\n}\n"


def contrast(one: str, other: str) -> float:
    """WCAG's contrast ratio of two colours written #RRGGBB, from 1 to 21."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    channels = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
