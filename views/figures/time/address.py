"""The address of a moment: what a link says, and what is made of one that says nonsense."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from engine.trace.state import Cursor
from engine.trace.trace import Trace
from views.figures.selection import KINDS, Selection, spotlight
from views.text import Text, quoted

# What of an address names a run or a moment in it.
MOMENT = ("example", "run", "step", "sub", "block", "hash", "request", "token", "lens")
MAX_DIGITS = 15


def address(
    names: Mapping[str, str], trace: Trace, cursor: Cursor, *, restores: bool
) -> dict[str, Any]:
    """What finds a run, and the moment in it; without the moment where no link brings it back."""
    if not restores:
        return dict(names)
    cursor = trace.cursor_at(trace.position(cursor))
    return {**names, "step": cursor.step, "sub": cursor.sub_step}


def chosen(selection: Selection, lens: str | None) -> dict[str, Any]:
    """The part of an address that says what is selected, and through which lens it is seen
    (None: the one that is open from the start)."""
    return {**selection.named(), **({"lens": lens} if lens else {})}


def read_choice(
    params: Mapping[str, str], lenses: Sequence[str], trace: Trace, text: Text
) -> tuple[Selection, str, str | None]:
    """What is selected, the open lens, and a sentence about each part that does not exist in this
    run. What is right of it counts all the same."""
    found, lens = _existing(params, trace), params.get("lens", lenses[0])
    wrong = [name for name in KINDS if name in params and name not in found]
    wrong += ["lens"] if lens not in lenses else []
    complaint = text.told(
        text("notice.choice", name=name, given=quoted(params[name])) for name in wrong
    )
    selection = Selection.from_browser(found)
    return selection, lens if lens in lenses else lenses[0], complaint or None


def _existing(params: Mapping[str, str], trace: Trace) -> dict[str, str]:
    """Of what an address selects, the parts that exist in this run; a token is one of a request."""
    state = trace.at(trace.last)
    block_id = Selection.from_browser({"block": params.get("block")}).block_id
    request = state.requests.get(params.get("request", ""))
    named = {"request": params.get("request"), "token": params.get("token")}
    token = Selection.from_browser(named).token
    exists = {
        "block": block_id is not None and block_id < state.num_blocks,
        "hash": bool(spotlight(state, Selection(block_hash=params.get("hash"))).hashes),
        "request": request is not None,
        "token": request is not None and token is not None and token < request.num_tokens,
    }
    return {name: params[name] for name in KINDS if name in params and exists[name]}


def read_cursor(
    params: Mapping[str, str], trace: Trace, text: Text
) -> tuple[Cursor | None, str | None]:
    """The nearest place that exists, and a sentence when the address asked for another one."""
    given = params.get("step")
    if given is None:
        return None, None
    step, note = _read_step(given, trace.num_steps - 1, text)
    if note:
        return (trace.after_update(step) if step else Cursor(0, 0)), note
    sub_given = params.get("sub")
    if sub_given is None:
        return trace.after_update(step), None
    sub_step = _whole_number(sub_given)
    if sub_step is None or not 0 <= sub_step <= trace.num_sub_steps(step):
        nearest = trace.clamp(Cursor(step, sub_step if sub_step is not None else 10**9))
        return nearest, text("notice.sub_step", given=quoted(sub_given), step=step)
    return Cursor(step, sub_step), None


def _read_step(given: str, last: int, text: Text) -> tuple[int, str | None]:
    step = _whole_number(given)
    if step is None:
        return 0, text("notice.step_text", given=quoted(given))
    if step < 0:
        return 0, text("notice.step_below", given=quoted(given))
    if step > last:
        return max(0, last), text("notice.step_beyond", given=quoted(given), last=last)
    return step, None


def _whole_number(given: str) -> int | None:
    """Any script's digits count; a number too long to be a step is only as large as it matters."""
    match = re.fullmatch(r"\s*([+-]?)0*(\d+)\s*", given)
    if not match:
        return None
    number = int(match[2]) if len(match[2]) <= MAX_DIGITS else 10**MAX_DIGITS
    return -number if match[1] == "-" else number
