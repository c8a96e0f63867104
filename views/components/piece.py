"""Parts of a page that are stepped: each a script and a style sheet beside this file.

A part is never remounted between two moments; its script gets the new payload and changes what
differs. Scripts write text through textContent alone.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import streamlit as st

from views.theme import css_variables

FOLDER = Path(__file__).parent
NAMES = (
    "batch",
    "block",
    "fragmentation",
    "lenses",
    "narration",
    "notices",
    "numbers",
    "pool",
    "prompt",
    "queue",
    "requests",
    "runs",
    "sizing",
    "tables",
    "timeline",
    "transport",
    "tree",
    "until",
    "why",
)
ALONE = ("fragmentation", "notices", "prompt", "runs", "sizing", "until")  # beside the stage
LAST = "transport"  # of the stage, in the order of a page
NARROW = ("until",)  # no wider than what stands in them


def _register(name: str) -> Callable[..., Any]:
    script, style = (FOLDER / f"{name}.{suffix}" for suffix in ("js", "css"))
    return st.components.v2.component(
        f"pagewalk_{name}",
        html='<div class="root"></div>',
        css="\n".join((css_variables(), _read("base.css"), style.read_text(encoding="utf-8"))),
        js="\n".join((_read("base.js"), script.read_text(encoding="utf-8"), _export(name))),
    )


def _export(name: str) -> str:
    """How the part is drawn: with the others of the stage, as the last of them, or alone."""
    place = "alone" if name in ALONE else "last" if name == LAST else "part"
    return f'export default (args) => together(args, "{place}");\n'


def _read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


PIECES = {name: _register(name) for name in NAMES}


def piece(name: str, payload: dict[str, Any], **on_change: Callable[[], None]) -> None:
    """Draw one part; `on_change` holds the callbacks `on_<what>_change` of what it may send."""
    width = "content" if name in NARROW else "stretch"
    data = msgspec.json.encode(payload)  # of a dict, Streamlit asks pandas about each value
    PIECES[name](key=name, data=data, width=width, height="content", **on_change)
