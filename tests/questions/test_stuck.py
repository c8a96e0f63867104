"""Why nothing moves: what schedule() then does with the head of the line."""

import random

import pytest

from engine.config import EngineConfig, GroupConfig, SamplingParams
from engine.engine import Engine
from engine.questions.stuck import Holder, why_stuck
from engine.trace.events import (
    INPUT_EVENTS,
    AdmissionStopped,
    AllocationFailed,
    HitCut,
    PrefixLookedUp,
    RequestAdmitted,
    RequestPreempted,
    RequestScheduled,
    RequestSetAside,
    StepBegan,
)
from engine.trace.header import TraceHeader
from engine.trace.state import Cursor
from engine.trace.trace import Trace
from engine.workload import ScriptedRun, read_workload
from tests.core.test_state_machine import AnyTokenRunner
from tests.questions.builders import request, run, sub_steps
from tests.views.runs import NAMES, WORKLOADS, golden_trace


def fate(trace, cursor):
    """What became of the head: the first event after its lookup that says so."""
    said = (AllocationFailed, AdmissionStopped, RequestAdmitted, HitCut)
    for sub_step in range(cursor.sub_step + 1, trace.num_sub_steps(cursor.step)):
        for event in trace.events(cursor.step, sub_step):
            if isinstance(event, said):
                return event
    raise AssertionError(f"nothing became of the head at {cursor}")


def tokens_given(trace, step, request_id):
    rows = [e for e in trace.step_events(step) if isinstance(e, RequestScheduled)]
    return next(row.num_scheduled_tokens for row in rows if row.request_id == request_id)


@pytest.mark.parametrize("name", NAMES)
def test_right_before_the_head_is_asked_it_says_what_schedule_decides(name):
    trace = golden_trace(name)
    for cursor, happened in sub_steps(trace):
        event = happened[0]
        state = trace.at(cursor)
        if not isinstance(event, PrefixLookedUp | RequestSetAside) or state.set_aside:
            continue
        autopsy = why_stuck(state)
        assert autopsy is not None
        assert autopsy.request_id == event.request_id
        if isinstance(event, RequestSetAside):
            assert autopsy.cause == "lora"
            continue
        assert autopsy.num_hit_tokens == event.num_hit_tokens
        then = fate(trace, cursor)
        if isinstance(then, AllocationFailed):
            assert autopsy.cause in ("blocks", "oversized")
            assert autopsy.num_blocks_needed == then.num_blocks_needed
            assert autopsy.num_free_blocks == then.num_free_blocks
        elif isinstance(then, AdmissionStopped):
            assert (autopsy.cause, then.reason) == ("uncut", "budget")
        else:
            assert autopsy.cause == "nothing"
            given = tokens_given(trace, cursor.step, event.request_id)
            assert autopsy.num_scheduled_tokens == given


@pytest.mark.parametrize("name", NAMES)
def test_a_deadlock_is_one_when_the_engine_says_so(name):
    workload = read_workload(WORKLOADS / f"{name}.json")
    trace = Trace(TraceHeader(config=workload.config.to_mapping()))
    scripted = ScriptedRun(workload, emit=trace.append)
    while not scripted.is_over:
        scripted.step()
        agree_after_a_step(trace, scripted.engine)


def agree_after_a_step(trace, engine):
    """The engine calls itself stuck one idle step later than one can see it."""
    autopsy = why_stuck(trace.at(trace.last))
    if engine.is_stuck:
        assert autopsy is not None
        assert autopsy.is_deadlock
        assert autopsy.request_id in (engine.stuck_reason or "")
        assert f"the pool has {autopsy.num_usable_blocks}" in (engine.stuck_reason or "")
    if autopsy is not None and autopsy.is_deadlock and not engine.is_stuck:
        assert not engine.scheduler.running


GROUPS = (None, None, (GroupConfig(type="full"), GroupConfig(type="sliding", window=6)))


@pytest.mark.parametrize("seed", range(60))
def test_in_random_runs_in_tiny_pools_a_deadlock_seen_is_one_step_later_the_engines(seed):
    rng = random.Random(seed)
    config = EngineConfig(
        block_size=rng.randint(1, 4),
        num_blocks=rng.randint(2, 9),
        max_num_batched_tokens=rng.randint(4, 24),
        max_num_seqs=rng.randint(1, 4),
        max_model_len=40,
        policy=rng.choice(["fcfs", "priority"]),
        enable_prefix_caching=rng.random() < 0.7,
        kv_groups=rng.choice(GROUPS),
        recompute_invalid_hits=rng.random() < 0.5,
    )
    trace = Trace(TraceHeader(config=config.to_mapping()))
    engine = Engine(config, AnyTokenRunner(), emit=trace.append)
    for turn in range(40):
        if turn < 6:
            prompt = [rng.randint(0, 1) for _ in range(rng.randint(1, 20))]
            sampling = SamplingParams(max_tokens=rng.randint(1, 12))
            engine.add_request(f"r{turn}", prompt, sampling=sampling, priority=rng.randint(0, 2))
        before = why_stuck(trace.at(trace.last))
        engine.step()
        seen = before is not None and before.is_deadlock
        assert seen == engine.is_stuck
        if engine.is_stuck and turn > 6:
            return


def test_who_waits_for_blocks_learns_who_holds_them_and_whose_end_would_do():
    trace = run(
        request("small", range(4), output=[1] * 9),
        request("large", range(100, 112), output=[1] * 9),
        request("head", range(200, 212), step=1),
        request("behind", range(300, 303), step=1),
        num_blocks=7,
    )
    autopsy = why_stuck(trace.at(trace.after_update(1)))
    assert autopsy is not None
    assert (autopsy.request_id, autopsy.cause, autopsy.num_behind) == ("head", "blocks", 1)
    assert autopsy.num_blocks_needed == 3
    assert autopsy.num_free_blocks == 0
    assert autopsy.holders == (Holder("large", 4, 4), Holder("small", 2, 2))
    assert autopsy.num_blocks_missing == 3
    assert autopsy.enough == Holder("large", 4, 4)
    assert not autopsy.is_deadlock


def test_a_request_larger_than_the_pool_is_a_deadlock_that_names_both_numbers():
    trace = run(request("long", range(8), output=[1] * 10), num_blocks=4)
    autopsy = why_stuck(trace.at(trace.last))
    assert autopsy is not None
    assert autopsy.is_deadlock
    assert autopsy.cause == "oversized"
    assert (autopsy.num_blocks_needed, autopsy.num_usable_blocks) == (4, 3)
    assert autopsy.num_queued_hits == 3


@pytest.mark.parametrize(
    ("settings", "cause"),
    [
        ({"max_num_seqs": 1}, "seqs"),
        ({"max_loras": 1}, "lora"),
        ({"max_num_batched_tokens": 2, "max_num_seqs": 2}, "budget"),
        ({}, "nothing"),
    ],
)
def test_what_else_keeps_the_head_out(settings, cause):
    trace = run(
        request("a", range(9), lora="x", output=[1] * 30),
        request("b", range(100, 109), step=1, lora="y"),
        **settings,
    )
    begins = next(c for c, e in sub_steps(trace) if isinstance(e[0], StepBegan) and c.step == 1)
    autopsy = why_stuck(trace.at(begins))
    assert autopsy is not None
    assert (autopsy.request_id, autopsy.cause) == ("b", cause)


def test_nobody_is_admitted_in_a_step_that_preempted_somebody():
    trace = golden_trace("preempt_resume_hit")
    at = next(c for c, e in sub_steps(trace) if isinstance(e[0], RequestPreempted))
    autopsy = why_stuck(trace.at(trace.next(at)))
    assert autopsy is not None
    assert autopsy.cause == "preempted"


def test_who_is_in_the_middle_of_its_admission_misses_nothing():
    """request2 holds 1, 2, 3 by its hit and has just taken 8, 9, 10, 5, 4: two blocks are left."""
    trace = golden_trace("doc_example")
    taking = why_stuck(trace.at(Cursor(6, 4)))
    taken = why_stuck(trace.at(Cursor(6, 5)))
    assert taking is not None
    assert taken is not None
    assert (taking.cause, taking.num_hit_tokens, taking.num_blocks_needed) == ("admitting", 12, 5)
    assert (taken.cause, taken.num_hit_tokens, taken.num_blocks_needed) == ("admitting", 12, 0)
    assert not taken.is_deadlock
    before = why_stuck(trace.at(Cursor(6, 1)))
    assert before is not None
    assert (before.cause, before.is_deciding) == ("nothing", False)


@pytest.mark.parametrize("name", NAMES)
def test_whoever_is_called_admitted_now_is_admitted_in_this_step(name):
    trace = golden_trace(name)
    for cursor, happened in sub_steps(trace):
        if not isinstance(happened[0], RequestAdmitted):
            continue
        autopsy = why_stuck(trace.at(cursor))
        assert autopsy is not None
        if autopsy.request_id == happened[0].request_id:
            assert (autopsy.cause, autopsy.num_blocks_needed) == ("admitting", 0)
    for cursor, _ in sub_steps(trace):
        autopsy = why_stuck(trace.at(cursor))
        if autopsy is not None and autopsy.cause == "admitting":
            admitted = [e for e in trace.step_events(cursor.step) if isinstance(e, RequestAdmitted)]
            assert autopsy.request_id in [event.request_id for event in admitted]


@pytest.mark.parametrize("name", NAMES)
def test_no_standstill_is_seen_where_the_run_goes_on_by_itself(name):
    trace = golden_trace(name)
    goes_on = False
    for cursor, happened in reversed(list(sub_steps(trace))):
        for event in reversed(happened):
            if isinstance(event, INPUT_EVENTS):
                goes_on = False
            elif isinstance(event, RequestAdmitted | RequestScheduled):
                goes_on = True
        autopsy = why_stuck(trace.at(cursor))
        assert autopsy is None or not (autopsy.is_deadlock and goes_on), cursor


def test_with_nobody_waiting_there_is_nothing_to_explain():
    trace = golden_trace("single_short")
    assert why_stuck(trace.at(trace.last)) is None
