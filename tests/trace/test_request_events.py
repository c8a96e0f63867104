"""What the events about requests and steps mean, told with literal ids."""

from engine.trace.events import (
    AdmissionStopped,
    AllocationFailed,
    BlocksFreed,
    BlocksTaken,
    BlocksTouched,
    DraftsSet,
    Event,
    HitCut,
    PrefixLookedUp,
    RequestAborted,
    RequestAdmitted,
    RequestPreempted,
    RequestQueued,
    RequestScheduled,
    RequestSetAside,
    RequestUnscheduled,
    SettingChanged,
    StepBegan,
    StepEnded,
    StepScheduled,
)
from engine.trace.invariants import check
from engine.trace.state import Lookup, PrefixCacheStats, ScheduledRow, State, cache_key
from tests.trace.stories import LONE, LONE_PROMPT, added, fold, prefill

A0, A1 = cache_key("A.0", 0), cache_key("A.1", 0)
STEP_0 = LONE[:12]  # A's prefill: blocks 1 and 2 are held, block 1 is cached and valid


def after_step_0(*more: Event) -> State:
    return fold([*STEP_0, *more])


def test_a_request_comes_in_and_waits() -> None:
    state = fold(added("A", LONE_PROMPT))
    request = state.requests["A"]
    assert (state.waiting, state.running) == (["A"], [])
    assert (request.status, request.num_tokens, request.num_cached_tokens) == ("WAITING", 6, None)
    assert request.block_hashes == ["A.0"]
    assert request.block_tables == [[]]


def test_requests_are_queued_where_they_are_served() -> None:
    state = fold([*added("A", (1,)), *added("B", (2,), index=1), *added("C", (3,), index=0)])
    assert state.waiting == ["C", "A", "B"]


def test_admission_moves_the_request_to_the_end_of_running() -> None:
    state = fold(LONE[:8])
    assert (state.waiting, state.running) == ([], ["A"])
    assert state.scheduled == {"A": ScheduledRow("A", "new", 6, 0)}
    assert state.requests["A"].num_computed_tokens == 0
    assert state.requests["A"].num_cached_tokens == 0
    assert state.requests["A"].lookup == Lookup(0, 6, 0, ((),), "miss", "A.0", 0)


def test_computed_tokens_count_from_the_end_of_schedule_on() -> None:
    state = fold(LONE[:9])
    assert state.requests["A"].num_computed_tokens == 6
    assert state.is_scheduled
    assert not state.is_written
    assert [state.blocks[id_].num_written_slots for id_ in (1, 2)] == [0, 0]


def test_a_sampled_token_is_known_but_not_computed() -> None:
    state = after_step_0()
    request = state.requests["A"]
    assert request.token_ids == [10, 11, 12, 13, 14, 15, 16]
    assert (request.num_tokens, request.num_computed_tokens) == (7, 6)
    assert (request.output_text, request.output_token_bytes) == ("six", [b"six"])
    assert request.output_logprobs == [-0.5]
    assert state.block_tokens(2) == (14, 15)
    assert state.step_stats == PrefixCacheStats(requests=1, queries=6)


def test_a_finished_request_gives_up_its_tail_first_and_keeps_the_hashes() -> None:
    state = fold(LONE)
    request = state.requests["A"]
    assert list(state.free_queue()) == [3, 4, 5, 6, 7, 2, 1]
    assert state.cached == {A0: (1,), A1: (2,)}
    assert (request.status, request.finish_reason) == ("FINISHED_LENGTH_CAPPED", "length")
    assert (request.first_scheduled_step, request.finished_step) == (0, 2)
    assert request.block_tables == [[]]
    assert request.output_text == "sixteen"
    assert state.live_requests() == {}


def test_preemption_takes_all_blocks_and_the_drafts() -> None:
    state = after_step_0(
        DraftsSet("A", (7, 8)),
        StepBegan(1, 64),
        AllocationFailed("A", 1, 0),
        RequestPreempted("A", "A"),
        BlocksFreed("A", (2, 1)),
        RequestQueued("A", 0),
        AdmissionStopped("preempted", "A"),
        StepScheduled(1, 0, (0,)),
        StepEnded(1),
    )
    request = state.requests["A"]
    assert (state.waiting, state.running, state.preempted) == (["A"], [], ["A"])
    assert (request.status, request.num_computed_tokens) == ("PREEMPTED", 0)
    assert (request.num_preemptions, state.num_preemptions) == (1, 1)
    assert request.spec_token_ids == ()
    assert request.num_tokens == 7
    check(state)


def test_a_resumed_request_keeps_what_it_reported_as_cached() -> None:
    state = after_step_0(
        StepBegan(1, 64),
        RequestPreempted("A", "Z"),
        BlocksFreed("A", (2, 1)),
        RequestQueued("A", 0),
        StepScheduled(1, 0, (0,)),
        StepEnded(1),
        StepBegan(2, 64),
        BlocksTouched("A", 0, (1,)),
        BlocksTaken("A", 0, (3,)),
        RequestAdmitted("A", 4, resumed=True),
        RequestScheduled("A", 3, 4),
    )
    request = state.requests["A"]
    assert (request.num_computed_tokens, request.num_cached_tokens) == (4, 0)
    assert request.num_hit_tokens == 4
    assert state.scheduled["A"].kind == "resumed"
    assert state.preempted == []


def test_an_unscheduled_victim_loses_its_row() -> None:
    state = after_step_0(StepBegan(1, 64), RequestScheduled("A", 1, 6), RequestUnscheduled("A", 1))
    assert state.scheduled == {}
    assert state.requests["A"].num_computed_tokens == 6


def test_an_abort_while_the_model_runs_keeps_the_row_and_drops_the_request() -> None:
    state = fold(
        [*LONE[:10], RequestAborted("A", 0, ok=True, phase="mid"), BlocksFreed("A", (2, 1))]
    )
    assert "A" in state.scheduled
    assert state.running == []
    assert state.requests["A"].finish_reason == "abort"
    assert list(state.free_queue()) == [3, 4, 5, 6, 7, 2, 1]
    assert state.cached == {A0: (1,)}


def test_an_abort_that_came_too_late_changes_nothing() -> None:
    state = fold([*LONE, RequestAborted("A", 3, ok=False), RequestAborted("Z", 3, ok=False)])
    assert state.snapshot() == fold(LONE).snapshot()


def test_a_request_that_is_not_scheduled_keeps_its_drafts() -> None:
    state = after_step_0(DraftsSet("A", (7,)), StepBegan(1, 64), StepScheduled(1, 0, (0,)))
    assert state.requests["A"].spec_token_ids == (7,)


def test_a_request_set_aside_keeps_its_place() -> None:
    state = fold(
        [
            *added("A", (1,)),
            *added("B", (2,), index=1),
            *added("C", (3,), index=2),
            StepBegan(0, 64),
            RequestSetAside("A"),
            *prefill("B", (2,), (1,))[1:2],
            RequestAdmitted("B", 0),
        ]
    )
    assert state.set_aside == ["A"]
    assert state.waiting == ["A", "C"]


def test_a_cut_hit_is_what_the_request_looked_up_in_the_end() -> None:
    state = fold(
        [
            *added("A", tuple(range(9))),
            PrefixLookedUp("A", 9, 8, ((1, 2),), "end"),
            HitCut("A", 2, 0, 8, 4),
        ]
    )
    assert state.requests["A"].lookup == Lookup(0, 9, 4, ((1,),), "end", None, 0)


def test_a_changed_setting_counts_from_the_next_step() -> None:
    state = fold([SettingChanged(0, "max_num_batched_tokens", 16), StepBegan(0, 16)])
    assert (state.config["max_num_batched_tokens"], state.token_budget) == (16, 16)


def test_stats_of_steps_add_up() -> None:
    state = fold(
        [*LONE, StepBegan(3, 64), StepScheduled(3, 0, (0,)), StepEnded(3, queries=4, hits=2)]
    )
    assert state.step_stats == PrefixCacheStats(queries=4, hits=2)
    assert state.stats == PrefixCacheStats(requests=1, queries=10, hits=2)


def test_an_abort_belongs_to_the_step_in_whose_list_it_stands() -> None:
    between = fold([*STEP_0, RequestAborted("A", 1, ok=True), BlocksFreed("A", (2, 1))])
    assert between.requests["A"].finished_step == 1
    mid = fold([*LONE[:10], RequestAborted("A", 0, ok=True, phase="mid"), BlocksFreed("A", (2, 1))])
    assert mid.requests["A"].finished_step == 0
    at_once = fold([*added("A", LONE_PROMPT), RequestAborted("A", 0, ok=True)])
    assert at_once.requests["A"].finished_step == 0
