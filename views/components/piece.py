"""Parts of a page that are stepped: each a script and a style sheet beside this file.

Streamlit sends a component's script with each of its messages. So the scripts and styles of all
parts travel in one component of their own, which `carry` draws outside of what is stepped; the
script of a part (loader.js) only waits for them, and a step carries little but data.

A part is never remounted between two moments; its script gets the new payload and changes what
differs. Scripts write text through textContent alone.
"""

import hashlib
import itertools
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import streamlit as st

from views import session
from views.theme import css_variables

FOLDER = Path(__file__).parent
NAMES = (
    "batch",
    "beat",
    "block",
    "closer",
    "compare",
    "fields",
    "fragmentation",
    "kernel",
    "lenses",
    "lesson",
    "moving",
    "narration",
    "notices",
    "numbers",
    "opened",
    "pool",
    "practice",
    "prompt",
    "queue",
    "readiness",
    "requests",
    "runs",
    "sizing",
    "syllabus",
    "tables",
    "timeline",
    "transport",
    "tree",
    "until",
    "why",
)
ALONE = (
    "compare",
    "fields",
    "fragmentation",
    "kernel",
    "moving",
    "notices",
    "opened",
    "prompt",
    "readiness",
    "runs",
    "sizing",
    "syllabus",
    "until",
)  # beside the stage
LAST = "transport"  # of the stage, in the order of a page
NARROW = ("readiness", "until")  # no wider than what stands in them
CARRIER = "parts"
AWAY = "away"
OF_ALL = ("base", "asking", AWAY, "progress", "presses", "sides", "totals")


def _script() -> str:
    """All parts in one module, each in a function of its own that runs once it is asked for."""
    styles = {name: _read(f"{name}.css") for name in NAMES}
    styles["base"] = css_variables() + _read("base.css")
    styles["page"] = css_variables() + _read(f"{AWAY}.css")
    made = (
        f"{json.dumps(name)}: {{ place: {json.dumps(_place(name))}, make: () => {{\n"
        f"{_read(f'{name}.js')}\nreturn present; }} }},"
        for name in NAMES
    )
    parts = ("const PARTS = {", *made, "};", f"const STYLES = {json.dumps(styles)};")
    return "\n".join((*(_read(f"{name}.js") for name in OF_ALL), *parts, _read("parts.js")))


def _place(name: str) -> str:
    """How the part is drawn: with the others of the stage, as the last of them, or alone."""
    return "alone" if name in ALONE else "last" if name == LAST else "part"


def _read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


SCRIPT = _script()
# A browser that was there before the server began anew gets the new scripts beside the old.
VERSION = hashlib.sha256(SCRIPT.encode()).hexdigest()[:12]
_KNOWN_AS = f'const VERSION = "parts {VERSION}";\n'


def _register(name: str) -> Callable[..., Any]:
    loader = f"{_KNOWN_AS}const NAME = {json.dumps(name)};\n{_read('loader.js')}"
    return st.components.v2.component(
        f"pagewalk_{name}", html='<div class="root"></div>', js=loader
    )


PIECES = {name: _register(name) for name in NAMES}
_CARRIER = st.components.v2.component(f"pagewalk_{CARRIER}", js=_KNOWN_AS + SCRIPT)


def carry(tag: str, words: dict[str, str]) -> None:
    """Send the scripts and styles of all parts, the language's tag, by which a browser breaks lines,
    and what it says while the server does not answer.

    Once on a page, outside of every fragment.
    """
    drawn = (CARRIER, next(_NUMBERS), *session.answered())
    data = encoded({"drawn": drawn, "language": tag, "words": words})
    hear = partial(session.note, CARRIER, "letter")
    _CARRIER(key=CARRIER, data=data, width="content", height="content", on_letter_change=hear)


def encoded(payload: Any) -> bytes:
    """JSON in UTF-8, which has no halves of a character (lone surrogates). A field of a browser and
    a file can hold one: it is drawn as the sign for what cannot be read."""
    try:
        return msgspec.json.encode(payload)
    except UnicodeEncodeError:
        return msgspec.json.encode(_whole(msgspec.to_builtins(payload)))


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_whole(key): _whole(each) for key, each in value.items()}
    return [_whole(each) for each in value] if isinstance(value, list | tuple) else value


# Of two drawings of a part the one with the higher number is newer, also across a restart.
_NUMBERS = itertools.count(int(1000 * time.time()))


class Gathered:
    """What was drawn of a stage: key of a part -> its payload, encoded. It is sent as well, or not."""

    def __init__(self, *, sends: bool) -> None:
        self.parts: dict[str, bytes] = {}
        self.sends = sends


_GATHERED: ContextVar[Gathered | None] = ContextVar("gathered", default=None)
_WITHHELD: ContextVar[Mapping[str, dict[str, Any]] | None] = ContextVar("withheld", default=None)


@contextmanager
def gathering(*, sends: bool) -> Iterator[Gathered]:
    """Collects what is drawn inside. A browser that has the parts already gets them anew in one
    message, within the payload of the transport, if nothing is sent of them here."""
    gathered = Gathered(sends=sends)
    token = _GATHERED.set(gathered)
    try:
        yield gathered
    finally:
        _GATHERED.reset(token)


@contextmanager
def withholding(withheld: Mapping[str, dict[str, Any]]) -> Iterator[None]:
    """What is drawn inside under these keys stays on the server: the browser gets `withheld`, a sentence
    (empty: not even its place is seen), and the part's `title` over it."""
    kept = _WITHHELD.set(withheld)
    try:
        yield
    finally:
        _WITHHELD.reset(kept)


def within(parts: dict[str, bytes]) -> dict[str, msgspec.Raw]:
    """What was gathered, as it stands in the payload of another part."""
    return {key: msgspec.Raw(encoded) for key, encoded in parts.items()}


def piece(
    name: str, payload: dict[str, Any], key: str = "", /, **on_change: Callable[[], None]
) -> None:
    """Draw one part, under its name or another `key`.

    `on_change` holds the callbacks `on_<what>_change` of what it may send.
    """
    payload = (_WITHHELD.get() or {}).get(key or name, payload)
    gathered = _GATHERED.get()
    if gathered is not None:
        gathered.parts[key or name] = encoded(payload)
        if not gathered.sends:
            return
    width = "content" if name in NARROW else "stretch"
    assert "drawn" not in payload, name
    drawn = (key or name, next(_NUMBERS), *session.answered())
    # Of a dict, Streamlit asks pandas about each value.
    data = encoded({"drawn": drawn, **payload})
    PIECES[name](key=key or name, data=data, width=width, height="content", **on_change)


def nothing() -> None:
    """Keeps the place of a part that is not there now."""
    gathered = _GATHERED.get()
    if gathered is None or gathered.sends:
        st.empty()
