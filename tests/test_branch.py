"""A branch: the same run up to a moment, then other settings or another prompt beside it."""

import msgspec
import pytest

from engine.config import EngineConfig, SamplingParams
from engine.core.block_hash import none_hash
from engine.errors import ConfigError
from engine.sources.branch import (
    branch_step,
    plan_branch,
    settings_at,
)
from engine.sources.live import LiveSource
from engine.sources.prompt import Prompt
from engine.trace.codec import without_times
from engine.trace.events import (
    BlocksTaken,
    CacheReset,
    RequestAborted,
    RequestAdded,
    SettingChanged,
    StepBegan,
    TokensSampled,
)
from engine.trace.state import Cursor
from tests.runner.builders import build_loaded, build_stock

CONFIG = EngineConfig(
    block_size=4, num_blocks=24, max_num_batched_tokens=16, max_num_seqs=4, max_model_len=120
)
WARM = SamplingParams(max_tokens=9, temperature=1.0, seed=5, ignore_eos=True)
GREEDY = SamplingParams(max_tokens=9, ignore_eos=True)


@pytest.fixture(scope="module")
def model():
    return build_loaded(build_stock())


@pytest.fixture(scope="module")
def run(model):
    """Three prompts at steps 0, 0 and 4, a refused reset before step 3, an abort before step 8."""
    source = LiveSource(model, CONFIG)
    source.add_request("Tell me a story about a fox.", mode="raw", sampling=WARM)
    source.add_request("Tell me a story about a hen.", mode="raw", sampling=GREEDY)
    for step in range(40):
        if step == 3:
            assert not source.reset_prefix_cache()
        if step == 4:
            source.add_request("Tell me a joke.", mode="raw", sampling=WARM)
        if step == 8:
            assert source.abort("r2")
        if source.has_unfinished_requests:
            source.step()
    return source


def finish(source):
    while source.has_unfinished_requests and source.stuck_reason is None:
        source.step()
    return source


def catch_up(source):
    while source.branch_step is not None:
        source.step()
    return source


def plain(trace):
    return [without_times(event) for event in trace.events_from(0)]


def rounded(trace):
    """Without times, and with logprobs to a hair: they may differ in the last digit."""
    return [
        msgspec.structs.replace(event, logprobs=(), top_logprobs=())
        if isinstance(event, TokensSampled)
        else event
        for event in plain(trace)
    ]


def answers(source):
    state = source.trace.at(source.trace.last)
    return {id_: request.output_token_ids for id_, request in state.requests.items()}


def of_kind(trace, kind):
    return [event for event in trace.events_from(0) if isinstance(event, kind)]


# Where a branch begins ----------------------------------------------------------------------------


def test_inside_a_step_a_branch_begins_before_it_and_at_its_end_after_it(run):
    trace = run.trace
    assert branch_step(trace, Cursor(0, 0)) == 0
    assert branch_step(trace, Cursor(2, 1)) == 2
    assert branch_step(trace, trace.after_schedule(2)) == 2
    assert branch_step(trace, Cursor(2, trace.num_sub_steps(2) - 1)) == 2
    assert branch_step(trace, trace.after_update(2)) == 3
    assert branch_step(trace, trace.last) == trace.num_steps
    assert branch_step(trace, Cursor(99, 99)) == trace.num_steps


def test_a_step_that_only_has_its_inputs_has_not_begun(model):
    source = LiveSource(model, CONFIG)
    source.add_request("Hi", mode="raw")
    assert branch_step(source.trace, source.trace.last) == 0


# Without changes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [0, 1, 4, 8, 9])
def test_a_branch_with_all_inputs_is_the_same_run_event_for_event(run, step):
    branch = run.branch(run.trace.after_update(step), {}, keep_later=True)
    assert rounded(finish(branch).trace) == rounded(run.trace)


@pytest.mark.parametrize("sub_step", [0, 1, 5, 99])
def test_from_anywhere_in_a_step_the_branch_is_the_same_run(run, sub_step):
    branch = run.branch(run.trace.clamp(Cursor(8, sub_step)), {}, keep_later=True)
    assert rounded(finish(branch).trace) == rounded(run.trace)


def test_a_branch_stands_where_it_began_with_k_and_v_rebuilt(run):
    branch = run.branch(run.trace.after_update(5), {})
    assert branch.branch_step == 6
    assert branch.trace.num_steps == 1, "nothing has run yet"
    catch_up(branch)
    assert branch.engine.step_index == 6
    assert rounded(branch.trace) == rounded(run.trace)[: branch.trace.num_events]
    old = LiveSource(run.model, CONFIG)
    for prompt, sampling in (("Tell me a story about a fox.", WARM), ("...hen.", GREEDY)):
        old.add_request(
            prompt.replace("...", "Tell me a story about a "), mode="raw", sampling=sampling
        )
    for _ in range(4):
        old.step()
    for block_id in (1, 5):
        keys, old_keys = (source.peek_kv(block_id, 1, 0)[0] for source in (branch, old))
        assert keys[0] == pytest.approx(old_keys[0])
        assert any(keys[0])


def test_what_came_later_is_left_out_unless_asked(run):
    early = finish(run.branch(run.trace.after_update(2), {}))
    assert not of_kind(early.trace, CacheReset)
    assert list(answers(early)) == ["r0", "r1"]
    assert not of_kind(early.trace, RequestAborted)
    assert {id_: answers(early)[id_] for id_ in ("r0", "r1")} == {
        id_: answers(run)[id_] for id_ in ("r0", "r1")
    }
    after_the_reset = finish(run.branch(Cursor(3, 1), {}))
    assert [event.step for event in of_kind(after_the_reset.trace, CacheReset)] == [3]


def test_the_original_does_not_notice_its_branch(run):
    before = plain(run.trace)
    finish(run.branch(run.trace.after_update(3), {"block_size": 8}))
    assert plain(run.trace) == before


def test_a_chain_that_began_at_random_goes_on_in_the_branch(model):
    source = LiveSource(model, msgspec.structs.replace(CONFIG, hash_seed=None))
    source.add_request("Tell me a story", mode="raw", sampling=GREEDY)
    finish(source)
    branch = finish(source.branch(source.trace.after_update(1), {}))
    assert rounded(branch.trace) == rounded(source.trace)
    assert source.trace.header.none_hash != none_hash("sha256", "0").hex()


# With changes -------------------------------------------------------------------------------------


def test_a_budget_changes_from_the_branch_on_and_the_past_stays(run):
    branch = run.branch(run.trace.after_update(2), {"max_num_batched_tokens": 4})
    finish(branch)
    budgets = [event.token_budget for event in of_kind(branch.trace, StepBegan)]
    assert budgets[:5] == [16, 16, 16, 4, 4]
    (changed,) = of_kind(branch.trace, SettingChanged)
    assert (changed.step, changed.name, changed.value) == (3, "max_num_batched_tokens", 4)
    num_same = len(run.trace.events_before(run.trace.after_update(2)))
    assert rounded(branch.trace)[:num_same] == rounded(run.trace)[:num_same]
    assert answers(branch)["r0"] == answers(run)["r0"], "a token's draw depends on its place alone"


def test_another_block_size_does_the_past_again_and_keeps_the_tokens(run):
    cursor = run.trace.after_update(6)
    past = run.trace.at(cursor).requests
    branch = catch_up(run.branch(cursor, {"block_size": 8}))
    assert branch.engine.step_index == 7
    assert of_kind(branch.trace, BlocksTaken)[0].block_ids == (1, 2)
    now = branch.trace.at(branch.trace.last).requests
    assert list(now) == list(past) == ["r0", "r1", "r2"]
    assert now["r2"].added.step == 4
    for id_, request in past.items():
        num = min(request.num_output_tokens, now[id_].num_output_tokens)
        assert num > 0
        assert now[id_].output_token_ids[:num] == request.output_token_ids[:num]


def test_kept_tokens_are_given_also_where_their_request_gets_them_later(run):
    """With room for one request at a time r1 is served after r0: its tokens wait for it."""
    cursor = run.trace.after_update(7)
    kept = run.trace.at(cursor).requests["r1"].output_token_ids
    settings = {"block_size": 8, "max_num_seqs": 1}
    branch = run.branch(cursor, settings)
    branch._course.tokens["r1"] = forged = tuple(260 - 1 - id_ for id_ in kept)
    finish(branch)
    assert tuple(answers(branch)["r1"][: len(kept)]) == forged
    assert len(kept) > 3


def test_both_kinds_together_hold_from_the_start(run):
    settings = {"block_size": 8, "max_num_batched_tokens": 8}
    plan = plan_branch(run.trace, run.trace.after_update(4), settings)
    assert plan.redone == ("block_size", "max_num_batched_tokens")
    branch = finish(run.branch(run.trace.after_update(4), settings))
    assert {event.token_budget for event in of_kind(branch.trace, StepBegan)} == {8}
    assert not of_kind(branch.trace, SettingChanged)


def test_a_branch_of_a_branch_knows_what_was_changed_before_it(run):
    first = finish(run.branch(run.trace.after_update(2), {"max_num_seqs": 1}))
    assert settings_at(first.trace, first.trace.after_update(2)).max_num_seqs == 4
    assert settings_at(first.trace, first.trace.last).max_num_seqs == 1
    second = finish(first.branch(first.trace.after_update(6), {"max_num_batched_tokens": 8}))
    changes = [(e.step, e.name, e.value) for e in of_kind(second.trace, SettingChanged)]
    assert changes == [(3, "max_num_seqs", 1), (7, "max_num_batched_tokens", 8)]
    same = plan_branch(first.trace, first.trace.last, {"max_num_seqs": 1})
    assert same.changes == {}
    third = first.branch(first.trace.after_update(6), {"num_blocks": 30})
    assert (third.config.num_blocks, third.config.max_num_seqs) == (30, 1)
    assert not of_kind(finish(third).trace, SettingChanged)


@pytest.mark.parametrize(("seqs", "budget"), [(2, 2), (20, 20)])
def test_budget_and_seats_change_in_an_order_that_is_never_wrong(model, seqs, budget):
    source = LiveSource(model, msgspec.structs.replace(CONFIG, max_num_batched_tokens=4))
    source.add_request("Hi", mode="raw", sampling=GREEDY)
    source.step()
    settings = {"max_num_batched_tokens": budget, "max_num_seqs": seqs}
    branch = finish(source.branch(source.trace.last, settings))
    assert settings_at(branch.trace, branch.trace.last).max_num_seqs == seqs
    assert branch.engine.config.max_num_batched_tokens == budget


def test_another_prompt_comes_when_the_branch_begins(run):
    prompt = Prompt("And a bee?", mode="raw", sampling=WARM)
    branch = run.branch(run.trace.after_update(2), {}, prompts=[prompt])
    catch_up(branch)
    added = of_kind(branch.trace, RequestAdded)[-1]
    assert (added.request_id, added.step, added.prompt_text) == ("r2", 3, "And a bee?")
    assert branch.add_request("More", mode="raw") == "r3"
    finish(branch)
    assert answers(branch)["r0"] == answers(run)["r0"]
    kept = run.branch(run.trace.after_update(2), {}, prompts=[prompt], keep_later=True)
    assert [e.request_id for e in of_kind(finish(kept).trace, RequestAdded)] == [
        *("r0", "r1", "r3", "r2")
    ]


def test_a_branch_waits_for_inputs_that_are_still_to_come(run):
    branch = run.branch(run.trace.after_update(0), {"num_blocks": 60}, keep_later=True)
    assert branch.has_unfinished_requests
    finish(branch)
    assert [event.step for event in of_kind(branch.trace, RequestAborted)] == [8]


@pytest.mark.parametrize(
    ("settings", "prompts", "said"),
    [
        ({"block_size": 0}, [], "block_size=0 is out of range"),
        ({"max_num_batched_tokens": 3}, [], "max_num_batched_tokens=3 is below max_num_seqs=4"),
        ({"refuse_oversized": True, "num_blocks": 4}, [], "the pool has 3"),
        ({}, [Prompt("x" * 400, mode="raw")], "max_model_len=120"),
        ({}, [Prompt("", mode="raw")], "cannot be empty"),
        ({"block_size": 64, "num_blocks": 3_999_999}, [], "lower num_blocks"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(run, settings, prompts, said):
    before = run.trace.num_events
    with pytest.raises(ConfigError, match=said):
        run.branch(run.trace.after_update(2), settings, prompts=prompts)
    assert run.trace.num_events == before
