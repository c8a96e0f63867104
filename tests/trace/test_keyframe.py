"""Pictures put away come back whole, whatever has happened since their base."""

from typing import Any

from engine.trace.events import (
    BlocksFreed,
    CacheReset,
    Event,
    RequestAborted,
    RequestPreempted,
    RequestQueued,
    StepBegan,
)
from engine.trace.keyframe import Keyframe, first_keyframe, next_keyframe
from engine.trace.reducer import apply
from engine.trace.state import State
from tests.trace.stories import LONE, LONE_PROMPT, added, fold, prefill


def put_away_after_each(events: list[Event], state: State) -> list[tuple[Keyframe, dict[str, Any]]]:
    base = first_keyframe(state).base
    kept = []
    for event in events:
        apply(state, event)
        kept.append((Keyframe(state, base), state.snapshot()))
    return kept


def test_every_event_of_a_run_can_lie_between_a_keyframe_and_its_base() -> None:
    for start in range(len(LONE)):
        kept = put_away_after_each(LONE[start:], fold(LONE[:start]))
        for keyframe, snapshot in kept:
            assert keyframe.open().snapshot() == snapshot


def test_opening_twice_gives_pictures_that_go_different_ways() -> None:
    state = fold(LONE[:10])
    keyframe = Keyframe(state, state.copy())
    first, second = keyframe.open(), keyframe.open()
    fold(LONE[10:], first)
    fold([RequestAborted("A", 0, ok=True, phase="mid"), BlocksFreed("A", (2, 1))], second)
    assert first.snapshot() == fold(LONE).snapshot()
    assert second.requests["A"].output_token_ids == []
    assert keyframe.open().snapshot() == fold(LONE[:10]).snapshot()


def test_a_request_id_used_again_moves_to_the_end_of_the_arrivals() -> None:
    state = fold([*LONE, *added("B", (1,), step=3)])
    base = state.copy()
    fold(added("A", (7, 8), step=3, index=1), state)
    opened = Keyframe(state, base).open()
    assert list(opened.requests) == list(state.requests) == ["B", "A"]
    assert opened.requests["A"].token_ids == [7, 8]


def test_a_block_that_left_the_queue_and_came_back_stands_at_its_end() -> None:
    state = fold(LONE)
    base = state.copy()
    assert list(base.freed) == [2, 1]
    prompt = (1, 2, 3, 4, 5)
    fold([*added("B", prompt, step=3), StepBegan(3, 64), *prefill("B", prompt, (3, 4))], state)
    fold([RequestPreempted("B", None), BlocksFreed("B", (4, 3)), RequestQueued("B", 0)], state)
    assert list(Keyframe(state, base).open().freed) == [2, 1, 4, 3]
    other = base.copy()
    del other.freed[2]
    other.freed[2] = None
    assert list(Keyframe(other, base).open().freed) == [1, 2]


def test_a_forgotten_cache_is_forgotten() -> None:
    state = fold(LONE)
    base = state.copy()
    apply(state, CacheReset(3, ok=True))
    assert Keyframe(state, base).open().cached == {}
    assert len(base.cached) == 2


def test_a_new_base_is_taken_where_too_little_is_as_it_was() -> None:
    state = fold(LONE)
    first = first_keyframe(state)
    assert next_keyframe(first, state).base is first.base
    fold(added("B", LONE_PROMPT, step=3), state)
    for block_id in (1, 2):
        state.own_block(block_id).num_written_slots = 0
    assert next_keyframe(first, state).base is not first.base
