"""The export for ui.perfetto.dev: it keeps to the format, and says what the trace says."""

import json

import pytest

from engine.trace.codec import without_times
from engine.trace.events import Event, SlotsWritten, StepBegan, StepEnded, StepScheduled
from engine.trace.history import history_of
from engine.trace.perfetto import MAX_BLOCK_TRACKS, perfetto_pieces
from engine.trace.step_clock import (
    REAL,
    SCHEDULER,
    STEPS_BROKEN,
    STEPS_ONLY,
    StepClock,
    which_times,
)
from engine.trace.trace import Trace
from tests.trace.perfetto import Picture, picture, read
from tests.trace.stories import LONE, added, build_header, build_trace, prefill
from tests.views.runs import NAMES, golden_trace
from views.figures.run_numbers import run_numbers


def timeless(trace: Trace) -> Trace:
    """The same run without what its clock said."""
    copy = Trace(trace.header)
    copy.extend(without_times(event) for event in trace.events_from(0))
    return copy


def names(found: Picture, group: str, track: str, depth: int = 0) -> list[str]:
    return [slice_.name for slice_ in found.tracks[group, track] if slice_.depth == depth]


@pytest.mark.parametrize("name", NAMES)
def test_every_recorded_run_gives_a_file_that_keeps_to_the_format(name: str) -> None:
    trace = golden_trace(name)
    assert picture(trace).about["times"] == (REAL if trace.header.model else SCHEDULER)
    assert picture(timeless(trace)).about["times"] == STEPS_ONLY


@pytest.mark.parametrize("name", ["doc_example", "fuzz_01", "priority_unschedule", "abort_mix"])
def test_the_counters_are_the_numbers_of_the_run(name: str) -> None:
    trace, found = golden_trace(name), picture(golden_trace(name))
    steps = run_numbers(trace).steps
    counted = [values for _, values in found.counters["blocks"]]
    assert [values["in_use"] for values in counted] == [step.num_used_blocks for step in steps]
    usable = {sum(values.values()) for values in counted}
    assert usable == {trace.header.config["num_blocks"] - 1}
    assert [values for _, values in found.counters["requests"]] == [
        {"running": step.num_running, "waiting": step.num_waiting} for step in steps
    ]
    assert [values["tokens"] for _, values in found.counters["scheduled tokens"]] == [
        step.num_scheduled_tokens for step in steps
    ]
    rates = [round(100 * step.hits / step.queries, 2) for step in steps if step.queries]
    told = found.counters["prefix hit rate since the run began, %"]
    assert [values["rate"] for _, values in told] == rates


@pytest.mark.parametrize("name", ["doc_example", "fuzz_01", "priority_unschedule", "reset_cache"])
def test_the_tracks_of_blocks_are_their_lives(name: str) -> None:
    trace, found = golden_trace(name), picture(golden_trace(name))
    history = history_of(trace)
    blocks = [int(track.split()[1]) for group, track in found.tracks if group == "Blocks"]
    assert sorted(blocks) == [*range(1, history.blocks.num_used_blocks + 1)]
    for block_id in blocks:
        spans = history.spans(block_id)
        taken = sum(
            span.state in ("used", "shared")
            and (place == 0 or spans[place - 1].state in ("free", "remembered"))
            for place, span in enumerate(spans)
        )
        kept = sum(span.state == "remembered" for span in spans)
        told = names(found, "Blocks", f"block {block_id}")
        assert told.count("free, still cached") == kept
        assert len(told) == kept + taken


def test_each_step_of_the_documentations_example_is_a_millisecond() -> None:
    found = picture(timeless(golden_trace("doc_example")))
    steps = found.tracks["Engine", "steps"]
    assert [slice_[:3] for slice_ in steps[:2]] == [
        ("step 0", 0, 1000),
        ("step 1", 1000, 2000),
    ]
    assert steps[3].args == {"num_scheduled_tokens": 7, "token_budget": 64}
    assert len(steps) == 8


def test_a_request_waits_runs_and_computes_its_tokens_step_by_step() -> None:
    found = picture(timeless(golden_trace("doc_example")))
    assert names(found, "Requests", "request1") == ["waiting", "running"]
    assert names(found, "Requests", "request1", 1) == ["6 tokens", "1 token", "1 token"]
    running = found.tracks["Requests", "request1"][1]
    assert running.args == {"num_hit_tokens": 8}
    assert [name for _, name in found.instants["Requests", "request1"]] == [
        "prefix hit 8 of 14 tokens",
        "finished: length",
    ]


def test_a_block_is_held_cached_shared_and_then_free_but_cached() -> None:
    found = picture(timeless(golden_trace("doc_example")))
    assert [(slice_.depth, slice_.name) for slice_ in found.tracks["Blocks", "block 1"]] == [
        (0, "request0"),
        (1, "cached #762b2e"),
        (2, "shared by 2"),
        (0, "free, still cached"),
        (0, "request2"),
        (1, "cached #762b2e"),
        (0, "free, still cached"),
    ]
    assert found.instants["Blocks", "block 4"] == [(6300.0, "evicted #c3a1a9")]


def test_a_victim_is_preempted_and_its_tokens_are_given_back() -> None:
    found = picture(timeless(golden_trace("priority_unschedule")))
    assert names(found, "Requests", "bad") == ["waiting", "running", "preempted", "running"]
    preempted = [s for s in found.tracks["Requests", "bad"] if s.name == "preempted"]
    assert [slice_.args for slice_ in preempted] == [{"for_request": "good"}]
    assert names(found, "Requests", "bad", 1)[8] == "1 token, given back"


def test_the_tokens_on_the_tracks_are_those_that_were_scheduled() -> None:
    found = picture(golden_trace("fuzz_03"))
    on_tracks = sum(
        int(slice_.name.split()[0])
        for (group, _), slices in found.tracks.items()
        for slice_ in slices
        if group == "Requests" and slice_.depth == 1 and "given back" not in slice_.name
    )
    assert on_tracks == sum(v["tokens"] for _, v in found.counters["scheduled tokens"]) > 0


@pytest.mark.parametrize("name", ["priority_unschedule", "abort_mix", "reset_cache"])
def test_a_run_that_is_cut_anywhere_still_closes_what_it_opened(name: str) -> None:
    whole = golden_trace(name)
    for num_events in range(whole.num_events):
        cut = Trace(whole.header)
        cut.extend(whole.events_from(0)[:num_events])
        picture(cut)


# Times ------------------------------------------------------------------------------------------


def step(number: int, began: float | None, *parts: float | None) -> list[Event]:
    schedule, run, update = parts or (None, None, None)
    return [
        StepBegan(number, 8, began),
        StepScheduled(number, 0, (0,)),
        SlotsWritten(0),
        StepEnded(number, schedule_s=schedule, run_s=run, update_s=update),
    ]


def test_measured_times_stand_where_they_were_measured() -> None:
    clock = StepClock(is_real=True)
    assert clock.times(step(0, 2.0, 0.001, 0.5, 0.002)) == [2e6, 2_001e3, 2_501e3, 2_503e3]
    assert clock.times(step(1, 2.4, 0.001, 0.0, 0.0))[0] == 2_503e3  # no time is before the last
    found = picture(build_trace([*step(0, 2.0, 0.001, 0.5, 0.002)]))
    assert [slice_[:4] for slice_ in found.tracks["Engine", "steps"]] == [
        ("step 0", 2e6, 2_503e3, 0),
        ("schedule", 2e6, 2_001e3, 1),
        ("run", 2_001e3, 2_501e3, 1),
        ("update", 2_501e3, 2_503e3, 1),
    ]


@pytest.mark.parametrize(
    ("events", "says"),
    [
        ([], STEPS_ONLY),
        (step(0, None), STEPS_ONLY),
        (step(0, 1.0), REAL),
        ([*step(0, 1.0), *step(1, None)], STEPS_BROKEN),
        ([*step(0, 1.0), *step(1, 0.5)], STEPS_BROKEN),
        (step(0, -1.0), STEPS_BROKEN),
        (step(0, 1e300), STEPS_BROKEN),
        (step(0, 1.0, 0.1, -0.1, 0.1), STEPS_BROKEN),
    ],
)
def test_times_are_believed_only_where_they_can_be_true(events: list[Event], says: str) -> None:
    assert which_times(events) == says


def test_the_file_says_how_its_times_are_meant_beside_the_engine_too() -> None:
    content = b"".join(perfetto_pieces(timeless(build_trace(LONE))))
    entries = json.loads(content)["traceEvents"]
    labels = [entry for entry in entries if entry.get("name") == "process_labels"]
    assert [label["args"]["labels"] for label in labels] == [STEPS_ONLY]


# Size -------------------------------------------------------------------------------------------


def test_a_pool_of_which_many_blocks_were_used_is_told_by_counters_alone() -> None:
    tokens = tuple(range(4 * (MAX_BLOCK_TRACKS + 1)))
    blocks = tuple(range(1, MAX_BLOCK_TRACKS + 2))
    events = [*added("A", tokens), StepBegan(0, 10_000), *prefill("A", tokens, blocks)]
    found = picture(build_trace(events, num_blocks=1_000, max_num_batched_tokens=10_000))
    assert not any(group == "Blocks" for group, _ in found.tracks)
    assert "513 blocks were used" in found.about["blocks"]


def test_ten_thousand_steps_come_piece_by_piece() -> None:
    events = [event for number in range(10_000) for event in step(number, None)]
    trace = Trace(build_header())
    trace.extend(events)
    pieces = list(perfetto_pieces(trace))
    assert len(pieces) == 10_000 + 4  # two before the steps, two after
    assert max(map(len, pieces)) < 2_000
    found = read(b"".join(pieces))
    assert found.tracks["Engine", "steps"][-1].name == "step 9999"


def test_the_same_trace_gives_the_same_bytes() -> None:
    trace = golden_trace("fuzz_01")
    assert b"".join(perfetto_pieces(trace)) == b"".join(perfetto_pieces(trace))
