"""A block's life as sentences, each with the place in time where it is true."""

from typing import Any, NamedTuple

from engine.trace import events
from engine.trace.history import Occurrence, history_of
from engine.trace.state import Cursor
from engine.trace.trace import Trace
from views.figures.moment import short_hash
from views.text import Text

MAX_SHOWN = 60  # occurrences, around the cursor
REASONS = {
    events.RequestFinished: "finished",
    events.RequestAborted: "aborted",
    events.RequestPreempted: "preempted",
    events.RequestUnscheduled: "preempted",
}


class Line(NamedTuple):
    position: int
    step: int
    sentence: str
    state: str  # of the block, afterwards


def life(trace: Trace, cursor: Cursor, block_id: int, text: Text) -> dict[str, Any]:
    """`lines` in order: [position, step, sentence, state afterwards, is later than the cursor].

    `current` is the line that happened last. What a long life has beyond that is counted.
    """
    history, position = history_of(trace), trace.position(cursor)
    num_all = history.num_occurrences(block_id)
    num_passed = history.num_occurrences(block_id, position)
    first = max(0, min(num_passed - MAX_SHOWN // 2, num_all - MAX_SHOWN))
    left = max(0, num_all - first - MAX_SHOWN)
    lines = [
        Line(done.position, history.cursor_at(done.position).step, sentence, done.state)
        for done in history.occurrences(block_id, first, first + MAX_SHOWN)
        for sentence in _sentences(done, block_id, text)
    ]
    return {
        "title": text("life.title"),
        "lines": [[*line, line.position > position] for line in lines],
        "current": sum(line.position <= position for line in lines) - 1,
        "before": text.count("life.before", first) if first else "",
        "after": text.count("life.after", left) if left else "",
        "step": text("life.step"),
        "later": text("life.later"),
        "empty": "" if lines else text("life.empty"),
    }


def _sentences(done: Occurrence, block_id: int, text: Text) -> list[str]:
    match done.event:
        case events.BlocksTaken() as event:
            return [*_evicted(event, block_id, text), _told("life.taken", done, text)]
        case events.BlocksTouched():
            if done.ref_cnt > 1:
                return [_told("life.shared", done, text, n=done.ref_cnt)]
            return [_told("life.hit", done, text)]
        case events.BlocksCached(block_ids=ids, block_hashes=hashes):
            return [text("life.cached", hash=short_hash(hashes[ids.index(block_id)]))]
        case events.SlotsWritten():
            return [text("life.filled")]
        case events.BlocksFreed():
            reason = REASONS.get(type(done.opener), "freed")
            told = (_told(f"life_freed.{reason}", done, text), _left(done, text))
            return [text.told(told)]
        case events.HolesMade():
            return [text.told((_told("life.hole", done, text), _left(done, text)))]
        case events.HitCut():
            return [_told("life.cut", done, text)]
    return [text("life.reset")]


def _told(key: str, done: Occurrence, text: Text, **values: object) -> str:
    request_id = getattr(done.event, "request_id", "")
    return text(key, request=request_id, index=done.logical_index, **values)


def _evicted(event: events.BlocksTaken, block_id: int, text: Text) -> list[str]:
    if block_id not in event.evicted_block_ids:
        return []
    forgotten = event.evicted_hashes[event.evicted_block_ids.index(block_id)]
    return [text("life.evicted", hash=short_hash(forgotten), request=event.request_id)]


def _left(done: Occurrence, text: Text) -> str:
    """What became of the block that somebody gave up."""
    if done.ref_cnt:
        return text.count("life.still_held", done.ref_cnt)
    return text("life.remembered" if done.state == "remembered" else "life.free")
