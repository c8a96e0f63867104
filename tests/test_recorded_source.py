"""A trace file to be looked at: what can be read is opened, and what a run can rest on is found."""

import gzip

import msgspec
import pytest

from engine.config import EngineConfig
from engine.errors import SourceError
from engine.sources.recorded import RecordedSource, last_whole, open_recorded
from engine.trace.codec import encode_trace, is_midway
from engine.trace.events import (
    INPUT_EVENTS,
    CacheReset,
    RequestAborted,
    RequestAdded,
    SettingChanged,
    StepEnded,
)
from engine.trace.trace import Trace
from tests.trace.stories import LONE, build_trace
from tests.views.runs import NAMES, golden_trace


def cut(trace, num_events):
    shorter = Trace(trace.header)
    shorter.extend(trace.events_from(0)[:num_events])
    return shorter


def num_steps(events):
    return sum(isinstance(event, StepEnded) for event in events)


# Files -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_whole_file_is_opened(tmp_path, pack):
    content = pack(encode_trace(build_trace(LONE)))
    (tmp_path / "run.jsonl").write_bytes(content)
    for given in (content, tmp_path / "run.jsonl", str(tmp_path / "run.jsonl")):
        source = open_recorded(given)
        assert source.trace.events_from(0) == LONE
        assert source.problem is None
        assert source.config == EngineConfig.from_mapping(source.trace.header.config)


def test_a_file_that_was_cut_is_opened_with_the_sentence_about_the_rest():
    content = b"".join(encode_trace(build_trace(LONE)).splitlines(keepends=True)[:17])
    source = open_recorded(content)
    assert source.trace.events_from(0) == LONE[:16]
    assert source.problem == (
        "line 18: the file ends in the middle of step 1; what stands before it can be opened"
    )


def test_a_file_of_which_nothing_can_be_read_gets_one_sentence(tmp_path):
    for content in (b"", b"hello", b"[" * 50_000):
        with pytest.raises(SourceError, match="nothing of this file can be opened: line 1: "):
            open_recorded(content)
    with pytest.raises(SourceError, match="nothing of this file can be opened: the file cannot"):
        open_recorded(tmp_path / "missing.jsonl")


def test_a_small_file_that_unfolds_to_a_large_one_is_read_up_to_the_limit():
    content = gzip.compress(encode_trace(build_trace(LONE)) + b" " * 5_000_000)
    assert len(content) < 10_000
    source = open_recorded(content, max_bytes=20_000)
    assert source.trace.events_from(0) == LONE
    assert source.problem is not None
    assert "unpacks to more than 20,000 B" in source.problem


def test_settings_that_this_engine_does_not_know_are_told():
    trace = build_trace(LONE)
    header = msgspec.structs.replace(trace.header, config={**trace.header.config, "colour": 1})
    with pytest.raises(SourceError, match=r"settings of this run are not understood.*colour"):
        RecordedSource(Trace(header))


def test_the_settings_are_those_of_the_end():
    trace = build_trace([*LONE, SettingChanged(3, "max_num_batched_tokens", 33)])
    assert RecordedSource(trace).config.max_num_batched_tokens == 33


# The last whole part -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES[::3])
def test_cut_anywhere_a_run_ends_after_a_step_or_a_whole_input(name):
    trace = golden_trace(name)
    events = trace.events_from(0)[:400]
    for end in range(0, len(events) + 1, 1 + len(events) // 60):
        kept = last_whole(cut(trace, end))
        assert not is_midway(kept.at(kept.last))
        assert kept.events_from(0) == events[: kept.num_events]
        assert num_steps(kept.events_from(0)) == num_steps(events[:end])


def test_a_run_that_is_whole_stays_the_same_trace():
    for trace in (golden_trace("doc_example"), build_trace(LONE), build_trace([])):
        assert last_whole(trace) is trace


def test_a_step_that_has_begun_is_left_out_with_what_came_in_its_middle():
    for end in range(13, 19):
        assert last_whole(build_trace(LONE[:end])).events_from(0) == LONE[:12]
    aborted = [*LONE[:16], RequestAborted("A", 1, ok=True, phase="mid")]
    assert last_whole(build_trace(aborted)).events_from(0) == LONE[:12]


def test_inputs_after_the_last_step_are_kept_and_a_half_one_is_not():
    added = msgspec.structs.replace(LONE[0], request_id="B", step=3)
    queued = msgspec.structs.replace(LONE[1], request_id="B")
    reset = CacheReset(3, ok=True)
    assert isinstance(added, RequestAdded)
    whole = build_trace([*LONE, reset, added, queued])
    assert last_whole(whole) is whole
    half = build_trace([*LONE, reset, added])
    assert last_whole(half).events_from(0) == [*LONE, reset]
    assert last_whole(build_trace([added])).events_from(0) == []


def test_some_golden_runs_have_inputs_in_the_middle_of_a_step():
    middle = {
        event.phase
        for name in NAMES[::3]
        for event in golden_trace(name).events_from(0)
        if isinstance(event, INPUT_EVENTS)
    }
    assert middle == {"before", "mid"}
