"""A run that was killed comes back to its last finished step, and goes on as if nothing had been."""

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import ConfigError, SourceError, TraceError
from engine.sources.live import LiveSource
from engine.sources.recorded import last_whole
from engine.trace.codec import encode_trace, read_trace
from engine.trace.events import (
    INPUT_EVENTS,
    StepEnded,
)
from engine.trace.trace import Trace
from tests.runner.builders import build_loaded, build_stock
from tests.test_branch import CONFIG, GREEDY, WARM, answers, catch_up, finish, rounded

ADDED, RESET, ABORTED = 4, 3, 8  # steps before which something comes in


@pytest.fixture(scope="module")
def model():
    return build_loaded(build_stock())


def step_with_inputs(source, step):
    """The visitor of every run in this file: what they do depends on the step alone."""
    if step == RESET:
        source.reset_prefix_cache()
    if step == ADDED:
        source.add_request("Tell me a joke.", mode="raw", sampling=WARM)
    if step == ABORTED:
        source.abort("r2")
    source.step()


def start(model, **changes):
    source = LiveSource(model, msgspec.structs.replace(CONFIG, **changes))
    source.add_request("Tell me a story about a fox.", mode="raw", sampling=WARM)
    source.add_request("Tell me a story about a hen.", mode="raw", sampling=GREEDY)
    return source


@pytest.fixture(scope="module")
def whole(model):
    source = start(model)
    for step in range(40):
        if source.has_unfinished_requests:
            step_with_inputs(source, step)
    assert [
        type(e).__name__ for e in source.trace.events_from(0) if isinstance(e, INPUT_EVENTS)
    ] == [*("RequestAdded", "RequestAdded", "CacheReset", "RequestAdded", "RequestAborted")]
    return source


@pytest.fixture(scope="module")
def file(whole):
    return encode_trace(whole.trace)


def come_back(content, model):
    """What a restarted server makes of a file that was cut off."""
    loaded = read_trace(content)
    assert loaded.trace is not None
    return LiveSource.resume(model, last_whole(loaded.trace))


def go_on(source):
    """The visitor again, from where the run stands: inputs that are there are not given again."""
    catch_up(source)
    done = {e.step for e in source.trace.events_from(0) if isinstance(e, INPUT_EVENTS)}
    for step in range(source.engine.step_index, 40):
        if not source.has_unfinished_requests:
            break
        if step in done:
            source.step()
        else:
            step_with_inputs(source, step)
    return source


def lines_until(content, num_events):
    return b"".join(content.splitlines(keepends=True)[: num_events + 1])


# Going on ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_steps", [0, 1, 3, 4, 5, 8, 9, 10])
def test_killed_after_any_step_the_run_goes_on_as_if_nothing_had_been(
    model, whole, file, num_steps
):
    ends = [i + 1 for i, e in enumerate(whole.trace.events_from(0)) if isinstance(e, StepEnded)]
    content = lines_until(file, ends[num_steps - 1] if num_steps else 0)
    back = come_back(content, model)
    if not num_steps:
        back.add_request("Tell me a story about a fox.", mode="raw", sampling=WARM)
        back.add_request("Tell me a story about a hen.", mode="raw", sampling=GREEDY)
    go_on(back)
    assert rounded(back.trace) == rounded(whole.trace)
    assert answers(back) == answers(whole)
    state = back.trace.at(back.trace.last)
    assert state.snapshot() == back.engine.snapshot()


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(share=st.floats(0.15, 1))
def test_killed_anywhere_in_the_file_the_run_goes_on_as_if_nothing_had_been(
    model, whole, file, share
):
    header = file.index(b"\n") + 1
    back = come_back(file[: header + int(share * (len(file) - header))], model)
    if len(answers(back)) < 2:
        return
    assert rounded(go_on(back).trace) == rounded(whole.trace)


def test_the_file_cut_at_every_byte_of_its_last_two_lines_keeps_every_finished_step(
    model, whole, file
):
    """The last line is a StepEnded: without the whole of it its step has not happened."""
    lines = file.splitlines(keepends=True)
    for size in range(len(file) - len(lines[-1]) - len(lines[-2]), len(file) + 1):
        back = last_whole(read_trace(file[:size]).trace)
        is_there = size >= len(file) - 1  # the line break itself may be missing
        assert back.num_steps == whole.trace.num_steps - (not is_there)
    again = come_back(file[:-2], model)
    assert rounded(go_on(again).trace) == rounded(whole.trace)


def test_the_past_is_there_at_once_and_grows_only_when_the_engine_has_caught_up(model, whole, file):
    ends = [i + 1 for i, e in enumerate(whole.trace.events_from(0)) if isinstance(e, StepEnded)]
    back = come_back(lines_until(file, ends[5]), model)
    assert (back.branch_step, back.engine.step_index) == (6, 0)
    assert back.trace.num_events == ends[5]
    assert back.kv_shape(0) is None
    assert back.pool_bytes == 24 * 4 * 2 * 2 * 2 * 8 * 4, (
        "blocks, slots, layers, K V, heads, floats"
    )
    for refused in (
        lambda: back.add_request("Hi", mode="raw"),
        lambda: back.abort("r0"),
        back.reset_prefix_cache,
    ):
        with pytest.raises(ConfigError, match="stands before step 0 of 6: wait"):
            refused()
    for step in range(6):
        assert back.branch_step == 6
        assert back.trace.num_events == ends[5]
        assert back.engine.step_index == step
        back.step()
    assert back.branch_step is None
    assert back.kv_shape(0) == ((0, 1), 2)
    assert back.add_request("Hi", mode="raw") == "r3"
    back.step()
    assert back.trace.num_events > ends[5]


def test_k_and_v_are_there_again(model, whole, file):
    ends = [i + 1 for i, e in enumerate(whole.trace.events_from(0)) if isinstance(e, StepEnded)]
    other = start(model)
    for step in range(6):
        step_with_inputs(other, step)
    back = catch_up(come_back(lines_until(file, ends[5]), model))
    for block_id in (1, 5, 9):
        assert back.peek_kv(block_id, 1, 0) == other.peek_kv(block_id, 1, 0)
    assert any(back.peek_kv(1, 1, 0)[0][0])


def test_a_chain_that_began_at_random_goes_on(model):
    source = finish(start(model, hash_seed=None))
    content = encode_trace(source.trace)
    ends = [i + 1 for i, e in enumerate(source.trace.events_from(0)) if isinstance(e, StepEnded)]
    back = finish(come_back(lines_until(content, ends[3]), model))
    assert rounded(back.trace) == rounded(source.trace)


def test_a_small_pool_with_preemptions_goes_on(model):
    source = finish(start(model, num_blocks=12))
    assert source.trace.at(source.trace.last).num_preemptions > 0
    content = encode_trace(source.trace)
    ends = [i + 1 for i, e in enumerate(source.trace.events_from(0)) if isinstance(e, StepEnded)]
    for end in ends[1::4]:
        back = finish(come_back(lines_until(content, end), model))
        assert rounded(back.trace) == rounded(source.trace)


# Branches ----------------------------------------------------------------------------------------


def branch_and_its_file(whole, cursor, changes, **options):
    branch = whole.branch(cursor, changes, **options)
    return branch, msgspec.json.decode(msgspec.json.encode(branch.rest), type=type(branch.rest))


@pytest.mark.parametrize(
    ("changes", "keep_later"), [({"max_num_seqs": 1}, True), ({"block_size": 8}, False), ({}, True)]
)
def test_a_branch_that_was_killed_on_its_way_knows_what_was_still_to_come(
    model, whole, changes, keep_later
):
    cursor = whole.trace.after_update(5)
    branch, rest = branch_and_its_file(whole, cursor, changes, keep_later=keep_later)
    finish(branch)
    content = encode_trace(branch.trace)
    events = branch.trace.events_from(0)
    for num_events in range(1, len(events), 31):
        loaded = read_trace(lines_until(content, num_events))
        back = LiveSource.resume(model, last_whole(loaded.trace), rest)
        assert rounded(finish(back).trace) == rounded(branch.trace), num_events


def test_a_branch_that_went_on_is_brought_back_with_what_came_later(model, whole):
    branch, rest = branch_and_its_file(whole, whole.trace.after_update(2), {"max_num_seqs": 1})
    catch_up(branch)
    branch.add_request("And a bee?", mode="raw", sampling=WARM)
    for _ in range(3):
        branch.step()
    content = encode_trace(branch.trace)
    finish(branch)
    back = LiveSource.resume(model, last_whole(read_trace(content).trace), rest)
    assert rounded(finish(back).trace) == rounded(branch.trace)
    assert back.rest == rest, "saved again with it"


def test_a_run_that_is_no_branch_has_no_rest(whole):
    assert whole.rest is None


# What is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"model": "big"}, "model='big', and this server has 'tiny'"),
        ({"dtype": "bfloat16"}, "dtype='bfloat16', and this server has 'float32'"),
        ({"device": "cuda:0"}, "device='cuda:0'"),
    ],
)
def test_a_run_of_another_model_or_machine_can_only_be_looked_at(model, whole, changed, said):
    other = Trace(msgspec.structs.replace(whole.trace.header, **changed))
    other.extend(whole.trace.events_from(0))
    with pytest.raises(SourceError, match=said) as refused:
        LiveSource.resume(model, other)
    assert "it can be looked at, but not gone on with" in str(refused.value)


def test_a_run_with_settings_that_do_not_fit_is_refused(model, whole):
    config = {**whole.trace.header.config, "max_model_len": 9000}
    other = Trace(msgspec.structs.replace(whole.trace.header, config=config))
    with pytest.raises(ConfigError, match="exceeds the 256 positions"):
        LiveSource.resume(model, other)
    config = {**whole.trace.header.config, "recompute_invalid_hits": False}
    other = Trace(msgspec.structs.replace(whole.trace.header, config=config))
    with pytest.raises(SourceError, match="understands in another way"):
        LiveSource.resume(model, other)


def test_a_forged_trace_does_not_repeat_itself_and_says_so(model, whole):
    events = whole.trace.events_from(0)
    place = next(i for i, e in enumerate(events) if isinstance(e, StepEnded))
    forged = Trace(whole.trace.header)
    forged.extend([*events[:place], msgspec.structs.replace(events[place], queries=999)])
    back = LiveSource.resume(model, forged)
    with pytest.raises(TraceError, match=f"event {place} was StepEnded") as refused:
        back.step()
    assert "It can be looked at, but not gone on with" in str(refused.value)
    assert forged.num_events == place + 1
