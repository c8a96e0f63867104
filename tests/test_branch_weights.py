"""A branch with its weights in another dtype: the same tokens, K and V of those weights."""

import pytest

from engine.config import EngineConfig, SamplingParams
from engine.errors import SourceError
from engine.sources.branch import plan_branch
from engine.sources.live import LiveSource
from engine.trace.events import RequestAdded, SettingChanged, TokensSampled
from engine.trace.header import TraceHeader
from engine.trace.trace import Trace
from tests.runner.builders import build_loaded, build_stock

CONFIG = EngineConfig(
    block_size=4, num_blocks=24, max_num_batched_tokens=16, max_num_seqs=4, max_model_len=120
)
SAMPLING = SamplingParams(max_tokens=9, temperature=1.0, seed=5, ignore_eos=True)


@pytest.fixture(scope="module")
def model():
    return build_loaded(build_stock())


@pytest.fixture(scope="module")
def other():
    return build_loaded(build_stock().bfloat16())


def start(model, num_steps=0):
    source = LiveSource(model, CONFIG)
    source.add_request("Tell me a story about a fox.", mode="raw", sampling=SAMPLING)
    source.add_request("Tell me a story about a hen.", mode="raw", sampling=SAMPLING)
    for _ in range(num_steps):
        source.step()
    return source


def tokens(trace, step):
    state = trace.at(trace.after_update(step))
    return {id_: tuple(each.output_token_ids) for id_, each in state.requests.items()}


def first_block(source):
    """K and V of the first four tokens of r0, in the second layer."""
    table = source.trace.at(source.trace.last).requests["r0"].block_tables[0]
    return source.peek_kv(table[0], 1, 0)


def catch_up(source):
    while source.branch_step is not None:
        source.step()
    return source


def test_the_plan_does_the_past_again_with_whatever_else_changes():
    trace = Trace(TraceHeader(config=CONFIG.to_mapping(), dtype="bfloat16"))
    plan = plan_branch(trace, trace.last, {"dtype": "4bit"})
    assert (plan.redone, plan.changes, plan.config) == (("dtype",), {}, CONFIG)
    both = plan_branch(trace, trace.last, {"dtype": "4bit", "max_num_seqs": 2})
    assert (both.redone, both.changes, both.config.max_num_seqs) == (
        ("max_num_seqs", "dtype"),
        {},
        2,
    )
    same = plan_branch(trace, trace.last, {"dtype": "bfloat16", "max_num_seqs": 2})
    assert (same.redone, same.changes) == ((), {"max_num_seqs": 2})


def test_its_tokens_stay_and_k_and_v_are_those_that_the_other_weights_compute(model, other):
    run = start(model, num_steps=8)
    branch = catch_up(run.branch(run.trace.after_update(5), {}, model=other))
    assert (run.trace.header.dtype, branch.trace.header.dtype) == ("float32", "bfloat16")
    assert branch.engine.step_index == 6
    assert tokens(branch.trace, 5) == tokens(run.trace, 5)
    fresh = start(other, num_steps=3)
    assert first_block(branch) == first_block(fresh)
    assert first_block(branch) != first_block(run)


def test_what_comes_after_the_branch_is_drawn_from_the_other_weights(model, other):
    run = start(model, num_steps=4)
    branch = catch_up(run.branch(run.trace.last, {}, model=other))
    for source in (run, branch):
        while source.has_unfinished_requests:
            source.step()
    [of_run, of_branch] = (
        [e for e in source.trace.events_from(0) if isinstance(e, TokensSampled)]
        for source in (run, branch)
    )
    assert [e.logprobs for e in of_run] != [e.logprobs for e in of_branch]
    assert all(
        len(answer) == 9 for answer in tokens(branch.trace, branch.trace.num_steps - 1).values()
    )


def test_a_setting_that_had_changed_on_the_way_holds_from_its_start(model, other):
    run = start(model, num_steps=3)
    first = run.branch(run.trace.last, {"max_num_seqs": 1})
    for _ in range(6):
        first.step()
    second = catch_up(first.branch(first.trace.last, {}, model=other))
    assert second.config.max_num_seqs == 1
    events = second.trace.events_from(0)
    assert not any(isinstance(event, SettingChanged) for event in events)
    assert len([event for event in events if isinstance(event, RequestAdded)]) == 2


def test_a_saved_branch_goes_on_with_its_own_weights_and_with_no_others(model, other):
    run = start(model, num_steps=4)
    branch = catch_up(run.branch(run.trace.last, {}, model=other))
    for _ in range(2):
        branch.step()
    saved = Trace(branch.trace.header)
    saved.extend(branch.trace.events_from(0))
    with pytest.raises(SourceError, match="dtype='bfloat16', and this server has 'float32'"):
        LiveSource.resume(model, saved, branch.rest)
    again = catch_up(LiveSource.resume(other, saved, branch.rest))
    assert first_block(again) == first_block(branch)
    num_steps = again.trace.num_steps
    again.step()
    assert again.trace.num_steps == num_steps + 1
