"""Each invariant notices what it is about."""

from collections.abc import Callable

import pytest

from engine.trace.invariants import check, violations
from engine.trace.state import ScheduledRow, State
from tests.trace.stories import LONE, added, build_trace, fold, prefill


def scheduled_state() -> State:
    """A runs with blocks 1 and 2, 1 is cached; B waits; the model has not run yet."""
    trace = build_trace([*LONE[:2], *added("B", (1, 2), index=1), *LONE[2:9]])
    return trace.at(trace.last)


def test_a_sound_picture_has_no_violations() -> None:
    check(scheduled_state())
    check(fold([]))


def lose_a_block(state: State) -> None:
    del state.blocks[2]


def count_a_reference_twice(state: State) -> None:
    state.blocks[1].ref_cnt = 2


def free_a_block_in_use(state: State) -> None:
    state.freed[1] = None


def free_a_block_at_both_ends(state: State) -> None:
    state.at_head = [1]
    state.freed[1] = None


def put_a_hashed_block_at_the_head(state: State) -> None:
    state.at_head = [1]


def forget_a_free_block(state: State) -> None:
    state.next_unused += 1


def cache_the_wrong_block(state: State) -> None:
    state.cached["A.000000000"] = (2,)


def cache_a_block_twice(state: State) -> None:
    state.cached["A.000000000"] = (1, 1)


def forget_the_tokens_of_a_hash(state: State) -> None:
    state.blocks[1].token_ids = ()


def call_unwritten_slots_valid(state: State) -> None:
    state.blocks[1].kv_valid = True


def lower_the_budget(state: State) -> None:
    state.token_budget = 5


def run_a_waiting_request(state: State) -> None:
    state.running.append("B")


def lose_a_waiting_request(state: State) -> None:
    state.waiting.clear()


def list_an_unknown_request(state: State) -> None:
    state.running.append("Z")


def compute_beyond_the_table(state: State) -> None:
    state.requests["A"].num_computed_tokens = 9


def give_blocks_to_a_waiting_request(state: State) -> None:
    state.requests["B"].block_tables[0].append(2)


def write_into_anothers_block(state: State) -> None:
    state.scheduled["B"] = ScheduledRow("B", "new", 2, 0)
    state.requests["B"].block_tables[0].append(2)
    state.blocks[2].ref_cnt = 2


def write_over_valid_content(state: State) -> None:
    state.blocks[1].kv_valid = True
    state.blocks[1].num_written_slots = 4


def write_into_the_null_block(state: State) -> None:
    state.requests["A"].block_tables[0][1] = 0


DAMAGE: dict[Callable[[State], None], str] = {
    lose_a_block: "block 2 is in a table, but was never taken",
    count_a_reference_twice: "block 1 has ref_cnt 2, but 1 entries",
    free_a_block_in_use: "block 1 has ref_cnt 1 and is in the free queue",
    free_a_block_at_both_ends: "a block stands twice in the free queue",
    put_a_hashed_block_at_the_head: "block 1 stands at the head of the free queue with a hash",
    forget_a_free_block: r"4 free \+ 2 used \+ 1 null block are not 8",
    cache_the_wrong_block: "block 1 has key A.000000000, but the cache lists it at None",
    cache_a_block_twice: r"key A.000000000 lists blocks \(1, 1\)",
    forget_the_tokens_of_a_hash: "block 1 of 4 tokens has 0 tokens",
    call_unwritten_slots_valid: "block 1 is valid with 0 of 4 slots written",
    lower_the_budget: "6 tokens are scheduled with a budget of 5",
    run_a_waiting_request: "request B is WAITING and stands 1 times in waiting, 1 times in running",
    lose_a_waiting_request: "request B is WAITING and stands 0 times in waiting",
    list_an_unknown_request: "request Z is unknown",
    compute_beyond_the_table: "has computed 9 tokens, but holds 2 blocks of 4",
    give_blocks_to_a_waiting_request: "request B is WAITING and holds 1 blocks",
    write_into_anothers_block: "block 2 is written by A and by B in one step",
    write_over_valid_content: "A overwrites block 1, which is valid in the cache",
    write_into_the_null_block: "A writes block 0 at 1, taken by nobody",
}


@pytest.mark.parametrize(
    ("damage", "sentence"), DAMAGE.items(), ids=[damage.__name__ for damage in DAMAGE]
)
def test_it_notices(damage: Callable[[State], None], sentence: str) -> None:
    state = scheduled_state()
    damage(state)
    with pytest.raises(AssertionError, match=sentence):
        check(state)


def test_a_reader_of_what_nobody_computed_is_noticed_where_hits_must_be_valid() -> None:
    state = fold([*LONE[:9], LONE[9]], recompute_invalid_hits=True)
    check(state)
    state.blocks[1].num_written_slots = 3
    state.blocks[1].kv_valid = False
    state.scheduled["A"] = ScheduledRow("A", "new", 2, 4)
    assert violations(state) == ["A reads block 1 at 0: 3 of 4 slots are written"]


def test_two_requests_that_take_the_same_prefix_in_one_step_are_sound() -> None:
    """Without a hit each computes a copy of its own."""
    state = fold(
        [
            *added("A", (1, 2, 3, 4, 5)),
            *added("B", (1, 2, 3, 4, 5), index=1),
            LONE[2],
            *prefill("A", (1, 2, 3, 4, 5), (1, 2)),
            *prefill("B", (1, 2, 3, 4, 5), (3, 4)),
        ]
    )
    check(state)
