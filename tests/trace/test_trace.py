"""Cursors, sub-steps and pictures of a run."""

import threading
from itertools import pairwise

import pytest

from engine.errors import TraceError
from engine.trace.events import (
    BlockHashed,
    BlocksFreed,
    RequestAdded,
    RequestFinished,
    RequestQueued,
    RequestScheduled,
    StepBegan,
    TokensSampled,
)
from engine.trace.state import Cursor
from tests.trace.stories import LONE, added, build_trace, fold


def test_a_step_ends_with_step_ended_and_what_follows_belongs_to_the_next() -> None:
    trace = build_trace([*LONE, *added("B", (1,), step=3)])
    assert trace.num_steps == 4
    assert [type(event) for event in trace.step_events(3)] == [RequestAdded, RequestQueued]
    assert isinstance(trace.step_events(1)[0], StepBegan)


def test_events_of_one_sentence_make_one_sub_step() -> None:
    trace = build_trace(LONE)
    kinds = [
        [type(event).__name__ for event in trace.events(0, sub_step)]
        for sub_step in range(trace.num_sub_steps(0))
    ]
    assert kinds == [
        ["RequestAdded", "RequestQueued"],
        ["StepBegan"],
        ["PrefixLookedUp"],
        ["BlocksTaken"],
        ["BlocksCached"],
        ["RequestAdmitted", "RequestScheduled"],
        ["StepScheduled"],
        ["SlotsWritten"],
        ["TokensSampled"],
        ["StepEnded"],
    ]
    assert [type(event) for event in trace.events(1, 4)] == [TokensSampled, BlockHashed]
    assert [type(event) for event in trace.events(2, 6)] == [RequestFinished, BlocksFreed]


def test_a_sub_step_is_about_one_request() -> None:
    trace = build_trace([*added("A", (1,)), RequestQueued("B", 1)])
    assert trace.num_sub_steps(0) == 2


def test_named_cursors_stand_behind_schedule_and_update() -> None:
    trace = build_trace(LONE)
    assert trace.after_schedule(0) == Cursor(0, 7)
    assert trace.after_update(0) == Cursor(0, 10)
    scheduled = trace.at(trace.after_schedule(1))
    assert (scheduled.is_scheduled, scheduled.is_updated) == (True, False)
    assert trace.at(trace.after_update(1)).is_updated
    assert trace.last == trace.after_update(2)


def test_an_open_step_ends_where_its_events_end() -> None:
    trace = build_trace(LONE[:4])
    assert trace.after_schedule(0) == trace.after_update(0) == trace.last == Cursor(0, 3)
    assert trace.at(trace.last).step == 0


def test_an_empty_trace_has_one_cursor() -> None:
    trace = build_trace([])
    assert (trace.num_steps, trace.num_positions, trace.last) == (0, 1, Cursor(0, 0))
    assert trace.next(trace.last) == trace.previous(trace.last) == Cursor(0, 0)
    assert trace.at(Cursor(7, 3)).snapshot() == fold([]).snapshot()
    assert trace.step_events(0) == trace.events(0, 0) == []


def test_a_slider_visits_every_sub_step_once() -> None:
    trace = build_trace(LONE)
    cursors = [trace.cursor_at(position) for position in range(trace.num_positions)]
    assert [trace.position(cursor) for cursor in cursors] == list(range(trace.num_positions))
    assert cursors[:3] == [Cursor(0, 0), Cursor(0, 1), Cursor(0, 2)]
    assert cursors[10:12] == [Cursor(0, 10), Cursor(1, 1)]  # the end of 0 is the start of 1
    for before, after in pairwise(cursors):
        assert trace.next(before) == after
        assert trace.previous(after) == before
    assert trace.position(Cursor(1, 0)) == trace.position(Cursor(0, 10))


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        (Cursor(-1, 5), Cursor(0, 5)),
        (Cursor(0, -1), Cursor(0, 0)),
        (Cursor(0, 11), Cursor(0, 10)),
        (Cursor(3, 0), Cursor(2, 0)),
        (Cursor(99, 99), Cursor(2, 8)),
    ],
)
def test_clamp_gives_the_nearest_cursor_that_exists(asked: Cursor, given: Cursor) -> None:
    assert build_trace(LONE).clamp(asked) == given


def test_every_cursor_shows_what_folding_up_to_it_shows() -> None:
    trace = build_trace(LONE)
    cursors = [trace.cursor_at(position) for position in range(trace.num_positions)]
    for cursor in [*cursors, *reversed(cursors), *cursors[::3]]:
        assert trace.at(cursor).snapshot() == fold(trace.events_before(cursor)).snapshot()


def test_a_picture_never_changes_when_the_run_goes_on() -> None:
    trace = build_trace(LONE[:8])
    state = trace.at(trace.last)
    before = state.snapshot()
    for event in LONE[8:]:
        trace.emit(event)
        trace.at(trace.last)
    assert state.snapshot() == before


def test_an_event_that_cannot_be_is_named_with_its_place() -> None:
    trace = build_trace([*LONE[:8], RequestScheduled("A", 1, 99)])
    with pytest.raises(TraceError, match=r"event 8, RequestScheduled of step 0: .* 99"):
        trace.at(trace.last)
    trace.at(Cursor(0, 5))


def test_many_may_look_while_one_writes() -> None:
    trace = build_trace([])
    expected = [fold(LONE[:count]).snapshot() for count in range(len(LONE) + 1)]
    wrong: list[str] = []
    is_over = threading.Event()

    def look(stride: int) -> None:
        position = 0
        while not is_over.is_set() or position < 3 * len(LONE):
            position += stride
            cursor = trace.cursor_at(position % trace.num_positions)
            count = len(trace.events_before(cursor))
            try:
                if trace.at(cursor).snapshot() not in expected[count : count + 2]:
                    wrong.append(f"{cursor}")  # a sub-step may have gained its second event
            except (TraceError, IndexError, RuntimeError) as error:
                wrong.append(repr(error))

    readers = [threading.Thread(target=look, args=(stride,)) for stride in (1, 3, 5, 7)]
    for reader in readers:
        reader.start()
    for event in LONE:
        trace.emit(event)
        trace.at(trace.last)
    is_over.set()
    for reader in readers:
        reader.join()
    assert wrong == []


def test_an_idle_pool_costs_nothing() -> None:
    small, large = fold(LONE, num_blocks=8), fold(LONE, num_blocks=131_928)
    for name in ("requests", "blocks", "freed", "cached"):
        assert len(getattr(small, name)) == len(getattr(large, name))
    assert large.num_free_blocks == 131_927
    assert large.free_queue_ends(2, 3) == ([3, 4], [131_927, 2, 1])
