"""The line above a side of a comparison that is on the stage: what the other side has otherwise here."""

from collections.abc import Callable, Sequence
from typing import Any

from views.figures.compare.compare import sentence_at
from views.figures.compare.compare_inputs import FIELDS, LEFT, RIGHT, SIDES, SWITCHES, Half
from views.figures.moment import num_finished_steps
from views.text import Text

BOTH = ""
OTHER = {LEFT: RIGHT, RIGHT: LEFT}
UNLIKE = {LEFT: "compare.unlike_left", RIGHT: "compare.unlike_right"}
OVER = {LEFT: "compare.over_left", RIGHT: "compare.over_right"}
NONE = {LEFT: "compare.none_left", RIGHT: "compare.none_right"}
CROSS = {LEFT: "compare.cross_left", RIGHT: "compare.cross_right"}
HINTS = {BOTH: "both_hint", LEFT: "left_hint", RIGHT: "right_hint"}
MAX_SHOWN = 1  # of what comes out otherwise: the rest is said when both are looked at

Line = dict[str, Any]  # of `reasons` in compare.py


def switch(halves: Sequence[Half], side: str, text: Text) -> dict[str, Any]:
    """Both beside each other, or one of them on the stage; a side that has not run cannot be chosen."""
    runs = {BOTH: True} | {
        name: half.trace is not None for name, half in zip(SIDES, halves, strict=True)
    }
    return {
        "title": text("compare_word.closer"),
        "side": side,
        "choices": [
            {
                "side": name,
                "word": text.named("compare_word", name or "both"),
                "hint": text.named("compare_word", HINTS[name] if runs[name] else "no_run"),
                "off": not runs[name],
            }
            for name in (BOTH, *SIDES)
        ],
    }


def closer(
    halves: Sequence[Half],
    side: str,
    step: int,
    text: Text,
    *,
    lines: Sequence[Line] = (),
    request_id: str | None = None,
    position_of: Callable[[int], int],
) -> dict[str, Any]:
    """`lines`: all that comes out otherwise; those of this step are shown, and where it has none
    those of the request that is selected. `position_of` a step: where the stage shows it."""
    found = _nearest(lines, step, request_id)
    return {
        "title": text("compare.page"),
        "switch": switch(halves, side, text),
        "settings": _settings(halves, side, text),
        "when": text("compare_word.step", step=step),
        "say": _said(halves, side, step, text),
        "lines": [
            {
                "text": line["text"],
                "because": line["because"],
                "request": line["request"],
                "when": _when(line, step, text),
                "hint": text("compare_word.go", step=line["step"]),
                "position": position_of(line["step"]),
            }
            for line in found[:MAX_SHOWN]
        ],
        "more": text.count("compare.more_lines", len(found) - MAX_SHOWN)
        if len(found) > MAX_SHOWN
        else "",
        "other": OTHER[side] if halves[SIDES.index(OTHER[side])].trace is not None else "",
        "cross": text(CROSS[OTHER[side]]),
    }


def _when(line: Line, step: int, text: Text) -> str:
    """Only of a line that is not of this step."""
    return "" if line["step"] == step else text("compare_word.step", step=line["step"])


def _nearest(lines: Sequence[Line], step: int, request_id: str | None) -> list[Line]:
    here = [line for line in lines if line["step"] == step]
    of_request = [line for line in lines if line["request"] == request_id]
    return sorted(here, key=lambda line: line["request"] != request_id) or of_request


def _settings(halves: Sequence[Half], side: str, text: Text) -> list[str]:
    """One line for each in which the two are not alike."""
    here, there = [halves[SIDES.index(name)].setting._asdict() for name in (side, OTHER[side])]
    said = [
        text(
            UNLIKE[side],
            name=text.named("compare_field", name),
            here=_value(name, here[name], text),
            there=_value(name, there[name], text),
        )
        for name in FIELDS
        if here[name] != there[name]
    ]
    return said or [text("compare.like")]


def _value(name: str, typed: str | None, text: Text) -> str:
    given = typed or ""
    is_word = given in SWITCHES.get(name, ())
    return text.named("compare_option", given) if is_word else given


def _said(halves: Sequence[Half], side: str, step: int, text: Text) -> str:
    if halves[SIDES.index(OTHER[side])].trace is None:
        return text(NONE[OTHER[side]])
    steps = {
        name: num_finished_steps(half.trace)
        for name, half in zip(SIDES, halves, strict=True)
        if half.trace is not None
    }
    over = [name for name in SIDES if step >= steps[name]]
    told = [text(OVER[name], step=steps[name] - 1) for name in over] if len(over) == 1 else []
    return text.told((*told, sentence_at(halves, step, text)))
