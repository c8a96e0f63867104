"""What is selected and has no block at this moment: where it gets one, or how it lost it."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from engine.trace import events
from engine.trace.events import Event
from engine.trace.state import Cursor
from engine.trace.trace import Trace
from views.figures.moment import short_hash
from views.figures.selection import Selection, block_of
from views.text import Text

GROWTH = (events.BlocksTaken, events.BlocksTouched, events.TokensSampled)
GIVEN_UP = (events.BlocksFreed, events.HolesMade)


class Happened(NamedTuple):
    cursor: Cursor  # once it has happened
    event: Event


def absent(trace: Trace, cursor: Cursor, selection: Selection, text: Text) -> dict[str, Any]:
    """`hint`, and in `there` the place in time to go to; without a selection, the invitation."""
    request_id = selection.request_id
    if selection.block_hash is not None:
        return _about_hash(trace, cursor, selection.block_hash, text)
    if request_id is None:
        return {"hint": text("block.hint")}
    if request_id not in trace.at(cursor).requests:
        arrives = _first(trace, cursor, lambda event: _is_arrival(event, request_id))
        if arrives is None:
            return {"hint": text("block.hint")}
        return _when(trace, arrives, text, "block.later_request", request=request_id)
    if selection.token is None:
        return {"hint": text("block.of_request", request=request_id)}
    return _about_token(trace, cursor, selection, text)


def _is_arrival(event: Event, request_id: str | None) -> bool:
    return isinstance(event, events.RequestAdded) and event.request_id == request_id


def _about_token(trace: Trace, cursor: Cursor, selection: Selection, text: Text) -> dict[str, Any]:
    request_id = selection.request_id
    names = {"request": request_id, "token": selection.token}

    def gives_it_a_block(happened: Happened) -> bool:
        is_growth = isinstance(happened.event, GROWTH)
        if not is_growth or getattr(happened.event, "request_id", None) != request_id:
            return False
        return block_of(trace.at(happened.cursor), selection) is not None

    later = next(filter(gives_it_a_block, _after(trace, cursor)), None)
    if later is not None:
        return _when(trace, later, text, "block.later_token", **names)
    gone = _last(
        trace,
        cursor,
        lambda event: isinstance(event, GIVEN_UP) and event.request_id == request_id,
    )
    if gone is not None:
        is_out = isinstance(gone.event, events.HolesMade)
        key = "block.out_token" if is_out else "block.gone_token"
        return _when(trace, gone, text, key, **names)
    return {"hint": text("block.never_token", **names)}


def _about_hash(trace: Trace, cursor: Cursor, block_hash: str, text: Text) -> dict[str, Any]:
    def caches(event: Event) -> bool:
        return isinstance(event, events.BlocksCached) and block_hash in event.block_hashes

    def forgets(event: Event) -> bool:
        if isinstance(event, events.CacheReset):
            return event.ok and was_cached
        return isinstance(event, events.BlocksTaken) and block_hash in event.evicted_hashes

    was_cached = _last(trace, cursor, caches) is not None

    shown = short_hash(block_hash)
    if (later := _first(trace, cursor, caches)) is not None:
        return _when(trace, later, text, "block.later_hash", hash=shown)
    if (lost := _last(trace, cursor, forgets)) is not None:
        return _when(trace, lost, text, "block.gone_hash", hash=shown)
    return {"hint": text("block.never_hash", hash=shown)}


def _when(trace: Trace, at: Happened, text: Text, key: str, **values: object) -> dict[str, Any]:
    step = at.cursor.step
    there = {"word": text("block.there", step=step), "position": trace.position(at.cursor)}
    return {"hint": text(key, step=step, **values), "there": there}


def _first(trace: Trace, cursor: Cursor, is_it: Callable[[Event], bool]) -> Happened | None:
    return next((each for each in _after(trace, cursor) if is_it(each.event)), None)


def _last(trace: Trace, cursor: Cursor, is_it: Callable[[Event], bool]) -> Happened | None:
    return next((each for each in _before(trace, cursor) if is_it(each.event)), None)


def _after(trace: Trace, cursor: Cursor) -> Iterator[Happened]:
    start, _ = trace.clamp(cursor)
    for step in range(start, trace.num_steps):
        first = cursor.sub_step if step == start else 0
        for sub_step in range(first, trace.num_sub_steps(step)):
            for event in trace.events(step, sub_step):
                yield Happened(Cursor(step, sub_step + 1), event)


def _before(trace: Trace, cursor: Cursor) -> Iterator[Happened]:
    last, num_done = trace.clamp(cursor)
    for step in range(last, -1, -1):
        stop = num_done if step == last else trace.num_sub_steps(step)
        for sub_step in range(stop - 1, -1, -1):
            for event in reversed(trace.events(step, sub_step)):
                yield Happened(Cursor(step, sub_step + 1), event)
