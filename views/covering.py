"""What of the stage a lesson keeps from its reader, and what stands in its place.

A lesson brings in the parts of the stage one after the other (`hides`). While a question is open
whatever would answer it is covered: what the question names (`covers`), the card of a block, and
every lens but the one that its text opened.
"""

from collections.abc import Iterable
from typing import Any

from views.choices import LENSES
from views.study import Study
from views.text import Text

# Part, as a lesson names it -> keys of what is drawn for it. The first shows the sentence.
KEYS: dict[str, tuple[str, ...]] = {
    "requests": ("requests",),
    "lens": ("lenses", *LENSES),
    "pool": ("pool",),
    "queue": ("queue",),
    "tables": ("tables",),
    "story": ("narration",),
}
TITLES = {name: f"{name}.title" for name in KEYS if name != "story"}
NOTHING: dict[str, Any] = {"withheld": ""}


def withheld(study: Study | None, text: Text) -> dict[str, dict[str, Any]]:
    """Key of a part -> what is sent in its place; empty where everything may be seen."""
    if study is None or study.is_over:
        return {}
    found: dict[str, dict[str, Any]] = {}
    if study.is_open and study.prediction is not None:
        found |= _covered(study.prediction.covers, text) | {"card": NOTHING}
        found |= _lenses(study.here.lens, text)
    for part in study.here.hides:
        found |= dict.fromkeys(KEYS[part], NOTHING)
    return found


def keeps_next(study: Study | None) -> bool:
    """Whether nobody may say which block is taken next: that answers a question which is open, or one
    that this run still has to ask."""
    if study is None or study.is_over:
        return False
    lesson, told = study.loaded.lesson, study.loaded.lesson.scenario_of_chunk(study.here)
    return any(
        chunk.predict is not None
        and study.waits_for(chunk.predict)
        and lesson.predictions[chunk.predict].kind in ("block", "order")
        for chunk in lesson.chunks[study.chunk :]
        if lesson.scenario_of_chunk(chunk) == told
    )


def _covered(parts: Iterable[str], text: Text) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for part in parts:
        first, *others = KEYS[part]
        found |= {first: _sentence(part, text), **dict.fromkeys(others, NOTHING)}
    return found


def _sentence(part: str, text: Text) -> dict[str, Any]:
    title = text(TITLES[part]) if part in TITLES else ""
    return {"withheld": text("learn.covered"), "title": title}


def _lenses(opened: str | None, text: Text) -> dict[str, dict[str, Any]]:
    """All are covered but the one that the text speaks of."""
    if opened is None:
        return _covered(["lens"], text)
    return {name: _sentence("lens", text) for name in LENSES if name != opened}
