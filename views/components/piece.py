"""Parts of a page that are stepped: each a script and a style sheet beside this file.

A part is never remounted between two moments; its script gets the new payload and changes what
differs. Scripts write text through textContent alone.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from views.theme import css_variables

FOLDER = Path(__file__).parent
NAMES = (
    "batch",
    "block",
    "lenses",
    "narration",
    "notices",
    "numbers",
    "pool",
    "prompt",
    "queue",
    "requests",
    "runs",
    "tables",
    "timeline",
    "transport",
    "tree",
    "until",
    "why",
)
NARROW = ("until",)  # no wider than what stands in them


def _register(name: str) -> Callable[..., Any]:
    script, style = (FOLDER / f"{name}.{suffix}" for suffix in ("js", "css"))
    return st.components.v2.component(
        f"pagewalk_{name}",
        html='<div class="root"></div>',
        css="\n".join((css_variables(), _read("base.css"), style.read_text(encoding="utf-8"))),
        js="\n".join((_read("base.js"), script.read_text(encoding="utf-8"))),
    )


def _read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


PIECES = {name: _register(name) for name in NAMES}


def piece(name: str, payload: dict[str, Any], **on_change: Callable[[], None]) -> None:
    """Draw one part; `on_change` holds the callbacks `on_<what>_change` of what it may send."""
    width = "content" if name in NARROW else "stretch"
    PIECES[name](key=name, data=payload, width=width, height="content", **on_change)
