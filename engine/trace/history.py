"""The other way to read a trace: not all blocks at one moment, but one block through all moments.

A State says how things are, a History how they came to be so and what becomes of them. It folds
the same events with the same `apply`, once, and writes down which block and which request each one
changed. It grows with the trace and never looks at an event twice.
"""

from array import array
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from engine.trace import events
from engine.trace.block_log import (
    BLOCK_STATES,
    FREE,
    REMEMBERED,
    SHARED,
    USED,
    BlockLog,
)
from engine.trace.entries import BlockState
from engine.trace.events import Event
from engine.trace.per_trace import PerTrace
from engine.trace.reducer import apply
from engine.trace.state import NULL_BLOCK_ID, Cursor, State
from engine.trace.step_index import StepIndex
from engine.trace.trace import Trace

KINDS: dict[type[Event], str] = {
    events.BlocksTaken: "taken",
    events.BlocksTouched: "touched",
    events.BlocksCached: "cached",
    events.BlocksFreed: "freed",
    events.HolesMade: "hole",
    events.HitCut: "cut",
    events.SlotsWritten: "filled",
    events.CacheReset: "reset",
}


class Occurrence(NamedTuple):
    """One thing that happened to a block. A block that a BlocksTaken evicts is "taken" as well."""

    position: int  # the cursor's, once it has happened
    kind: str  # one of KINDS
    event: Event
    opener: Event  # of its sub-step: says why a block was freed
    logical_index: int  # in the table of the event's request; 0 where no table is meant
    ref_cnt: int  # afterwards
    state: str  # afterwards, one of BLOCK_STATES


class Span(NamedTuple):
    """From `position` on, until the next span."""

    position: int
    state: str


class _BlockLife:
    """Four numbers for each occurrence, and two for each time its slots were written."""

    __slots__ = ("codes", "first_slots", "indices", "places", "positions", "refs", "written")

    def __init__(self) -> None:
        self.positions, self.places = array("q"), array("q")
        self.indices, self.refs, self.codes = array("i"), array("i"), bytearray()
        self.written, self.first_slots = array("q"), array("i")


def block_code(block: BlockState) -> int:
    """What a block is doing, as an index into BLOCK_STATES."""
    if block.ref_cnt:
        return SHARED if block.ref_cnt > 1 else USED
    return REMEMBERED if block.block_hash else FREE


class History:
    """Lives of all blocks and lanes of all requests, over the positions of a trace."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.blocks = BlockLog()
        self.request_ids: list[str] = []  # by number, in the order in which they first arrived
        self.lanes: dict[str, list[Span]] = {}  # request id -> spans of vLLM's statuses
        self.evictions = (array("q"), array("i"))  # positions, block ids
        self._numbers: dict[str, int] = {}
        self._lives: dict[int, _BlockLife] = {}
        self._state = State(config)
        self._events: list[Event] = []
        self._index = StepIndex(self._events)
        self._place = self._position = 0

    # Growing ----------------------------------------------------------------------------------

    @property
    def num_events(self) -> int:
        return self._place

    def extend(self, new_events: Sequence[Event]) -> None:
        """Take in what was appended to the trace. TraceError where an event makes no sense."""
        self._events.extend(new_events)
        index = self._index.update()
        for event in self._events[self._place :]:
            while (
                self._position < index.num_all_sub_steps
                and index.event_place(self._position) <= self._place
            ):
                self._position += 1
            apply(self._state, event)
            note = _NOTES.get(type(event))
            if note is not None:
                note(self, event)
            self._place += 1

    def _note_block(self, block_id: int, logical_index: int = 0) -> None:
        """The event at hand did something to this block."""
        block, life = self._state.blocks[block_id], self._life(block_id)
        code = block_code(block)
        life.positions.append(self._position)
        life.places.append(self._place)
        life.indices.append(logical_index)
        life.refs.append(block.ref_cnt)
        life.codes.append(code)
        taker = self._numbers.get(block.request_id or "", 0)
        self.blocks.note(self._position, block_id, code=code, taker=taker)

    def _life(self, block_id: int) -> _BlockLife:
        life = self._lives.get(block_id)
        if life is None:
            life = self._lives[block_id] = _BlockLife()
        return life

    def _note_taken(self, event: events.BlocksTaken) -> None:
        for block_id in event.block_ids:
            self._note_block(block_id, self._state.blocks[block_id].logical_index)
        for block_id in event.evicted_block_ids:
            self.evictions[0].append(self._position)
            self.evictions[1].append(block_id)

    def _note_touched(self, event: events.BlocksTouched) -> None:
        table = self._state.requests[event.request_id].block_tables[event.group_id]
        self._note_range(event.block_ids, len(table) - len(event.block_ids))

    def _note_cached(self, event: events.BlocksCached) -> None:
        self._note_range(event.block_ids, event.first_logical_index)

    def _note_range(self, block_ids: Sequence[int], first: int) -> None:
        for logical_index, block_id in enumerate(block_ids, first):
            if block_id != NULL_BLOCK_ID:
                self._note_block(block_id, logical_index)

    def _note_freed(self, event: events.BlocksFreed) -> None:
        for block_id in event.block_ids:
            self._note_block(block_id)

    def _note_holes(self, event: events.HolesMade) -> None:
        for logical_index, block_id in zip(event.logical_indices, event.block_ids, strict=True):
            if block_id != NULL_BLOCK_ID:
                self._note_block(block_id, logical_index)

    def _note_cut(self, event: events.HitCut) -> None:
        self._note_block(event.block_id)

    def _note_reset(self, event: events.CacheReset) -> None:
        """It is granted only when no block is in use: what is remembered is all that is hashed."""
        if event.ok:
            for block_id, code in enumerate(bytes(self.blocks.now.codes)):
                if code == REMEMBERED:
                    self._note_block(block_id)

    def _note_written(self, _: events.SlotsWritten) -> None:
        sizes = self._state.group_block_sizes
        for row in self._state.scheduled.values():
            start = row.num_computed_tokens
            stop = start + row.num_scheduled_tokens
            tables = self._state.requests[row.request_id].block_tables
            for table, size in zip(tables, sizes, strict=True):
                for index in range(start // size, (stop - 1) // size + 1):
                    life = self._life(table[index])
                    life.written.append(self._position)
                    life.first_slots.append(max(0, start - index * size))
                    if stop >= (index + 1) * size:
                        self._note_block(table[index], index)

    def _note_status(
        self,
        event: events.RequestAdded
        | events.RequestAdmitted
        | events.RequestPreempted
        | events.RequestFinished
        | events.RequestAborted,
    ) -> None:
        request = self._state.requests.get(event.request_id)
        if request is None:
            return  # an abort of somebody unknown
        if event.request_id not in self._numbers:
            self._numbers[event.request_id] = len(self.request_ids)
            self.request_ids.append(event.request_id)
            self.lanes[event.request_id] = []
        lane = self.lanes[event.request_id]
        if not lane or lane[-1].state != request.status:
            lane.append(Span(self._position, request.status))

    # Reading ----------------------------------------------------------------------------------

    @property
    def last_position(self) -> int:
        return self._position

    def cursor_at(self, position: int) -> Cursor:
        return self._index.cursor_at(position)

    def num_occurrences(self, block_id: int, until: int | None = None) -> int:
        """How often something happened to the block, up to a position."""
        positions = self._lives[block_id].positions if block_id in self._lives else ()
        return len(positions) if until is None else bisect_right(positions, until)

    def occurrences(
        self, block_id: int, start: int = 0, stop: int | None = None
    ) -> list[Occurrence]:
        """The block's life in order, or a part of it; nothing for one that was never used."""
        life = self._lives.get(block_id) or _BlockLife()
        rows = zip(life.positions, life.places, life.indices, life.refs, life.codes, strict=True)
        return [
            Occurrence(
                position,
                KINDS[type(self._events[place])],
                self._events[place],
                self._events[self._index.event_place(position - 1)],
                index,
                ref_cnt,
                BLOCK_STATES[code],
            )
            for position, place, index, ref_cnt, code in islice(rows, start, stop)
        ]

    def spans(self, block_id: int) -> list[Span]:
        """States of the block; before the first span it was never used."""
        life, spans = self._lives.get(block_id) or _BlockLife(), list[Span]()
        for position, code in zip(life.positions, life.codes, strict=True):
            if spans and spans[-1].position == position:
                spans.pop()
            if not spans or spans[-1].state != BLOCK_STATES[code]:
                spans.append(Span(position, BLOCK_STATES[code]))
        return spans

    def overwritten_at(self, block_id: int, position: int, num_slots: int) -> int | None:
        """Where, after `position`, one of the block's first `num_slots` slots got other K and V.

        None while they still lie in the cache. What is appended behind them harms nobody.
        """
        life = self._lives.get(block_id) or _BlockLife()
        for place in range(bisect_right(life.written, position), len(life.written)):
            if life.first_slots[place] < num_slots:
                return life.written[place]
        return None

    def appended_at(self, block_id: int, position: int, num_slots: int) -> int | None:
        """Where, after `position`, something was first written behind those slots; None if nothing."""
        life = self._lives.get(block_id) or _BlockLife()
        for place in range(bisect_right(life.written, position), len(life.written)):
            if life.first_slots[place] >= num_slots:
                return life.written[place]
        return None


_NOTES: dict[type[Event], Callable[[History, Any], None]] = {
    events.BlocksTaken: History._note_taken,
    events.BlocksTouched: History._note_touched,
    events.BlocksCached: History._note_cached,
    events.BlocksFreed: History._note_freed,
    events.HolesMade: History._note_holes,
    events.HitCut: History._note_cut,
    events.SlotsWritten: History._note_written,
    events.CacheReset: History._note_reset,
    events.RequestAdded: History._note_status,
    events.RequestAdmitted: History._note_status,
    events.RequestPreempted: History._note_status,
    events.RequestFinished: History._note_status,
    events.RequestAborted: History._note_status,
}

_HISTORIES = PerTrace(lambda trace: History(trace.header.config))


def history_of(trace: Trace) -> History:
    """The trace's one History, with everything in it that has happened by now."""
    return _HISTORIES.of(trace)
