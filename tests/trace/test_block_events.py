"""What the events about blocks mean, told with literal ids."""

from engine.trace.events import (
    BlocksCached,
    BlocksFreed,
    BlocksTaken,
    BlocksTouched,
    CacheReset,
    DraftsSet,
    Event,
    HolesMade,
    PrefixLookedUp,
    RequestAborted,
    RequestAdmitted,
    RequestFinished,
    RequestScheduled,
    SlotsWritten,
    StepBegan,
    StepEnded,
    StepScheduled,
    TokensSampled,
)
from engine.trace.invariants import check
from engine.trace.reducer import apply
from engine.trace.state import State, cache_key
from tests.trace.stories import LONE, LONE_PROMPT, added, fold, prefill

A0, A1 = cache_key("A.0", 0), cache_key("A.1", 0)
STEP_0 = LONE[:12]  # A's prefill: blocks 1 and 2 are held, block 1 is cached and valid


def after_step_0(*more: Event) -> State:
    return fold([*STEP_0, *more])


def test_a_prefill_takes_blocks_from_the_head_and_caches_the_full_one() -> None:
    state = fold(LONE[:5])
    assert state.requests["A"].block_tables == [[1, 2]]
    assert list(state.free_queue()) == [3, 4, 5, 6, 7]
    assert [state.blocks[id_].ref_cnt for id_ in (1, 2)] == [1, 1]
    state = fold(LONE[:6])
    assert state.cached == {A0: (1,)}
    assert state.block_tokens(1) == (10, 11, 12, 13)
    assert not state.blocks[1].kv_valid


def test_the_run_writes_slots_and_makes_cached_blocks_valid() -> None:
    state = fold(LONE[:10])
    assert [state.blocks[id_].num_written_slots for id_ in (1, 2)] == [4, 2]
    assert [state.blocks[id_].kv_valid for id_ in (1, 2)] == [True, False]
    assert state.block_tokens(2) == (14, 15)


def test_a_block_filled_by_a_sampled_token_is_cached_when_that_token_runs() -> None:
    assert fold(LONE[:18]).requests["A"].block_hashes == ["A.0", "A.1"]
    assert fold(LONE[:19]).cached == {A0: (1,)}
    assert fold(LONE[:21]).cached == {A0: (1,), A1: (2,)}


def hit_by_b(*, first: int = 3) -> list[Event]:
    """After A is done, B with the same prompt hits block 1 and takes one more."""
    return [
        *LONE,
        *added("B", LONE_PROMPT, step=3),
        StepBegan(first, 64),
        PrefixLookedUp("B", 6, 4, ((1,),), "end"),
        BlocksTouched("B", 0, (1,)),
        BlocksTaken("B", 0, (3,)),
        RequestAdmitted("B", 4),
        RequestScheduled("B", 2, 4),
    ]


def test_a_hit_leaves_the_middle_of_the_free_queue() -> None:
    state = fold(hit_by_b())
    assert list(state.free_queue()) == [4, 5, 6, 7, 2]
    assert state.requests["B"].block_tables == [[1, 3]]
    assert state.requests["B"].num_cached_tokens == 4
    assert state.blocks[1].ref_cnt == 1
    check(state)


def test_a_shared_block_counts_its_holders() -> None:
    state = after_step_0(
        *added("B", LONE_PROMPT, step=1),
        StepBegan(1, 64),
        BlocksTouched("B", 0, (1,)),
        BlocksTaken("B", 0, (3,)),
        RequestAdmitted("B", 4),
        RequestScheduled("B", 2, 4),
    )
    assert state.blocks[1].ref_cnt == 2
    assert state.holders(1) == ["A", "B"]
    state = fold(
        [
            StepScheduled(1, 2, (1,)),
            SlotsWritten(2),
            TokensSampled("B", (1,)),
            RequestFinished("B", "stop"),
            BlocksFreed("B", (3, 1)),
        ],
        state,
    )
    assert list(state.free_queue()) == [4, 5, 6, 7, 3]
    assert state.requests["B"].status == "FINISHED_STOPPED"
    check(state)


def test_a_taken_block_is_forgotten_by_the_cache_and_its_equal_stays() -> None:
    prompt = (1, 2, 3, 4)
    state = fold(
        [
            *added("A", prompt),
            *added("B", prompt, index=1),
            StepBegan(0, 64),
            *prefill("A", prompt, (1,)),
            BlocksTaken("B", 0, (2,)),
            BlocksCached("B", 0, 0, (2,), ("A.0",), None, prompt),
            RequestAdmitted("B", 0),
            RequestScheduled("B", 4, 0),
            StepScheduled(0, 8, (0,)),
            SlotsWritten(8, (1, 2)),
            StepEnded(0),
            RequestAborted("A", 1, ok=True),
            BlocksFreed("A", (1,)),
            *added("C", (5, 6, 7, 8), step=1),
            StepBegan(1, 64),
        ],
        num_blocks=3,
    )
    assert state.cached == {A0: (1, 2)}
    apply(state, BlocksTaken("C", 0, (1,), (1,), ("A.0",)))
    assert state.cached == {A0: (2,)}
    block = state.blocks[1]
    assert (block.block_hash, block.kv_valid, block.token_ids) == (None, False, ())
    assert (block.request_id, block.num_written_slots) == ("C", 0)


def test_a_cache_reset_forgets_hashes_and_leaves_the_queue() -> None:
    state = fold([*LONE, CacheReset(3, ok=True)])
    assert state.cached == {}
    assert list(state.free_queue()) == [3, 4, 5, 6, 7, 2, 1]
    assert state.snapshot()["blocks"] == []
    refused = fold([*STEP_0, CacheReset(1, ok=False, num_blocks_in_use=2)])
    assert refused.cached == {A0: (1,)}


def test_a_hole_is_the_null_block_and_frees_from_right_to_left() -> None:
    tokens = tuple(range(12))
    state = fold(
        [
            *added("A", tokens),
            StepBegan(0, 64),
            *prefill("A", tokens, (1, 2, 3)),
            StepScheduled(0, 12, (0,)),
            SlotsWritten(12, (1, 2, 3)),
            TokensSampled("A", (12,)),
            StepEnded(0),
            StepBegan(1, 64),
            HolesMade("A", 0, (1, 0), (2, 1)),
        ]
    )
    assert state.requests["A"].block_tables == [[0, 0, 3]]
    assert list(state.free_queue()) == [4, 5, 6, 7, 2, 1]
    state = fold([BlocksTaken("A", 0, (4,)), RequestScheduled("A", 1, 12)], state)
    check(state)


def test_rejected_drafts_take_computed_tokens_back() -> None:
    state = after_step_0(
        DraftsSet("A", (7, 8, 9)),
        StepBegan(1, 64),
        BlocksTaken("A", 0, (3,)),
        RequestScheduled("A", 4, 6, (7, 8, 9)),
        StepScheduled(1, 4, (0,)),
        SlotsWritten(4),
    )
    request = state.requests["A"]
    assert request.spec_token_ids == ()
    assert (request.num_computed_tokens, state.blocks[3].num_written_slots) == (10, 2)
    apply(state, TokensSampled("A", (7, 5), num_rejected_tokens=2))
    assert state.requests["A"].num_computed_tokens == 8
    assert state.requests["A"].num_tokens == 9
    assert [state.blocks[id_].num_written_slots for id_ in (2, 3)] == [4, 0]


def test_several_groups_are_freed_one_by_one() -> None:
    groups = [{"type": "full", "block_size": None}, {"type": "sliding", "window": 4}]
    before = [
        *added("A", (1, 2, 3, 4, 5)),
        StepBegan(0, 64),
        BlocksTaken("A", 0, (1, 2)),
        BlocksTaken("A", 1, (3, 4)),
        RequestAdmitted("A", 0),
        RequestScheduled("A", 5, 0),
        StepScheduled(0, 5, (0, 0)),
        SlotsWritten(5),
        TokensSampled("A", (6,)),
        RequestFinished("A", "length"),
    ]
    for freed in (
        [BlocksFreed("A", (2, 1)), BlocksFreed("A", (4, 3))],
        [BlocksFreed("A", (2, 1, 4, 3))],
    ):
        state = fold([*before, *freed], kv_groups=groups)
        assert list(state.free_queue()) == [5, 6, 7, 2, 1, 4, 3]
        assert state.requests["A"].block_tables == [[], []]


def test_the_free_queue_survives_many_rounds() -> None:
    """Whoever is taken from the head again and again: the places of the deleted are given up."""
    events: list[Event] = []
    free = list(range(1, 8))
    for step in range(600):
        request_id = f"r{step}"
        taken, free = (free[0],), free[1:]
        events += [
            *added(request_id, (1,), step=step),
            StepBegan(step, 64),
            BlocksTaken(request_id, 0, taken),
            RequestAdmitted(request_id, 0),
            RequestScheduled(request_id, 1, 0),
            StepScheduled(step, 1, (0,)),
            SlotsWritten(1),
            TokensSampled(request_id, (2,)),
            RequestFinished(request_id, "length"),
            BlocksFreed(request_id, taken),
            StepEnded(step),
        ]
        free += taken
    state = fold(events)
    assert list(state.free_queue()) == free
    check(state)
