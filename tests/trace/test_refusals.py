"""Events that cannot have happened are refused, and copies of a State stay apart."""

import pytest

from engine.errors import TraceError
from engine.trace.events import (
    BlocksCached,
    BlocksFreed,
    BlocksTaken,
    BlocksTouched,
    CacheReset,
    Event,
    HitCut,
    HolesMade,
    PrefixLookedUp,
    RequestAdmitted,
    RequestFinished,
    RequestPreempted,
    RequestQueued,
    RequestScheduled,
    RequestUnscheduled,
    SettingChanged,
    SlotsWritten,
    StepBegan,
    StepEnded,
    StepScheduled,
    TokensSampled,
)
from engine.trace.reducer import apply
from tests.trace.stories import LONE, added, fold

STEP_0 = LONE[:12]  # A's prefill: blocks 1 and 2 are held, block 1 is cached and valid


def test_two_copies_go_different_ways() -> None:
    first = fold(LONE[:10])
    second = first.copy()
    before = first.snapshot()
    apply(second, TokensSampled("A", (99,), text="other"))
    assert first.snapshot() == before
    apply(first, LONE[10])
    apply(second, TokensSampled("A", (98,), text="!"))
    assert first.requests["A"].output_token_ids == [16]
    assert first.requests["A"].output_text == "six"
    assert second.requests["A"].output_token_ids == [99, 98]
    assert second.requests["A"].output_text == "other!"


def test_a_copy_does_not_see_what_the_original_gains() -> None:
    original = fold(LONE[:10])
    copies = [original.copy()]
    before = original.snapshot()
    for event in LONE[10:]:
        apply(original, event)
        copies.append(original.copy())
    assert copies[0].snapshot() == before
    for count, copy in enumerate(copies, 10):
        assert copy.snapshot() == fold(LONE[:count]).snapshot()


IMPOSSIBLE: dict[str, tuple[list[Event], str]] = {
    "added twice": ([*STEP_0, *added("A", (1,))], "A was added twice"),
    "queued twice": ([*STEP_0[:2], RequestQueued("A", 0)], "A cannot be queued"),
    "queued nowhere": ([STEP_0[0], RequestQueued("A", 1)], "place 1 in a queue of 0"),
    "taken from the middle": ([*LONE[:4], BlocksTaken("A", 0, (2,))], r"begins with \(1,\)"),
    "more than there are": (
        [*LONE[:4], BlocksTaken("A", 0, tuple(range(1, 9)))],
        r"begins with \(1, 2, 3, 4, 5, 6, 7\)",
    ),
    "evicted uncached": (
        [*LONE[:4], BlocksTaken("A", 0, (1,), (1,), ("x",))],
        r"\(1,\) were evicted, but cached are \(\)",
    ),
    "touched unused": ([*LONE[:4], BlocksTouched("A", 0, (1,))], "1 was touched, but was never"),
    "cached twice": ([*LONE[:6], LONE[5]], "block 1 was cached while it has a hash"),
    "cached unheld": (
        [*LONE[:5], BlocksCached("A", 0, 0, (2,), ("x",), None, (1, 2, 3, 4))],
        r"does not hold blocks \(2,\) from place 0",
    ),
    "cached in part": (
        [*LONE[:5], BlocksCached("A", 0, 0, (1,), ("x",), None, (1, 2, 3))],
        "1 blocks of 4 tokens were cached with 1 hashes and 3 tokens",
    ),
    "freed by a stranger": ([*STEP_0, BlocksFreed("A", (2, 3))], "that are not the tail"),
    "to the head, hashed": (
        [*STEP_0, BlocksFreed("A", (2, 1), (1,))],
        "block 1 joined the head of the free queue in use or hashed",
    ),
    "to the head, but not freed": ([*STEP_0, BlocksFreed("A", (2, 1), (3,))], "block 3 joined"),
    "hole elsewhere": (
        [*STEP_0, HolesMade("A", 0, (0,), (2,))],
        r"its table holds \[1\]",
    ),
    "admitted unqueued": ([*LONE[:8], RequestAdmitted("A", 0)], "does not wait"),
    "admitted with more than it holds": (
        [*LONE[:6], RequestAdmitted("A", 9)],
        "with 9 tokens computed, but its blocks hold 8",
    ),
    "admitted with less than nothing": ([*LONE[:6], RequestAdmitted("A", -1)], "with -1 tokens"),
    "cached in no group": (
        [*LONE[:5], BlocksCached("A", -1, 0, (1,), ("x",), None, (1, 2, 3, 4))],
        "no cache group -1",
    ),
    "over budget": (
        [*LONE[:2], StepBegan(0, 5), *LONE[3:8], StepScheduled(0, 6, (0,))],
        "6 tokens were scheduled with a budget of 5",
    ),
    "resumed new": ([*LONE[:6], RequestAdmitted("A", 0, resumed=True)], "A is WAITING"),
    "scheduled elsewhere": (
        [*STEP_0, StepBegan(1, 64), RequestScheduled("A", 1, 5)],
        "it has computed 6",
    ),
    "scheduled after schedule": ([*LONE[:9], RequestScheduled("A", 1, 6)], "cannot be given 1"),
    "nothing scheduled": ([*LONE[:7], RequestScheduled("A", 0, 0)], "cannot be given 0"),
    "unscheduled twice": ([*STEP_0, RequestUnscheduled("A", 1)], "gave back 1 tokens"),
    "preempted waiting": ([*LONE[:2], RequestPreempted("A", None)], "but is WAITING"),
    "another total": ([*LONE[:8], StepScheduled(0, 7, (0,))], "7 tokens, but its requests got 6"),
    "written twice": ([*LONE[:10], SlotsWritten(6)], "outside of the run of step 0"),
    "valid uncached": ([*LONE[:9], SlotsWritten(6, (2,))], "block 2 became valid"),
    "sampled unwritten": ([*LONE[:9], TokensSampled("A", (1,))], "did not run it"),
    "rejected too many": (
        [*LONE[:10], TokensSampled("A", (1,), num_rejected_tokens=7)],
        "7 of 6 tokens were rejected",
    ),
    "finished twice": ([*LONE, RequestFinished("A", "stop")], "ended twice"),
    "step left out": ([*STEP_0, StepBegan(2, 64)], "step 2 began where step 1"),
    "step in a step": ([*LONE[:3], StepBegan(1, 64)], "step 1 began where step 0"),
    "ended unscheduled": ([*LONE[:3], StepEnded(0)], "step 0 is not over"),
    "reset in use": ([*STEP_0, CacheReset(1, ok=True)], "reset with 2 blocks in use"),
    "fixed setting": ([SettingChanged(0, "num_blocks", 9)], "num_blocks cannot change"),
    "unknown setting": ([SettingChanged(0, "colour", 9)], "colour cannot change"),
    "cut without lookup": ([*LONE[:2], HitCut("A", 1, 0, 4, 0)], "there was no lookup"),
    "hit in other groups": (
        [*LONE[:2], PrefixLookedUp("A", 6, 0, ((), ()), "miss")],
        "a hit in 2 groups of 1",
    ),
}


@pytest.mark.parametrize(("events", "reason"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_what_cannot_be_is_refused_with_numbers(events: list[Event], reason: str) -> None:
    with pytest.raises(TraceError, match=reason):
        fold(events)
