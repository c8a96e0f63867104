"""The numbers of a run are vLLM's own, at every step, and cost one fold of its events."""

import gzip
import json
from pathlib import Path

import pytest

from engine.trace.events import BlocksFreed, SettingChanged
from engine.trace.header import TraceHeader
from engine.trace.state import Cursor
from engine.trace.trace import Trace
from tests.views.runs import NAMES, golden_trace, moments
from views.figures import run_numbers as module
from views.figures.moment import moment_at
from views.figures.numbers import MAX_POINTS, _percent, numbers, points
from views.figures.run_numbers import COUNTED, NOTHING_YET, numbers_of, run_numbers
from views.text import Text

TEXT = Text("en")
RECORDED = Path(__file__).parents[1] / "data" / "golden" / "traces"


def recorded_steps(name):
    lines = gzip.decompress((RECORDED / f"{name}.jsonl.gz").read_bytes()).splitlines()
    return [json.loads(line) for line in lines[1:]]


def shown_at(name, cursor):
    trace = golden_trace(name)
    return numbers(trace, moment_at(trace, cursor), cursor, TEXT)


def rows_at(name, cursor):
    return {row["key"]: row for row in shown_at(name, cursor)["numbers"]}


@pytest.mark.parametrize("name", NAMES)
def test_every_step_of_the_run_equals_the_picture_after_its_update(name):
    trace = golden_trace(name)
    steps = run_numbers(trace).steps
    assert len(steps) == trace.num_steps
    for step, counted in enumerate(steps):
        assert counted == numbers_of(trace.at(trace.after_update(step))), step


@pytest.mark.parametrize("name", NAMES)
def test_every_step_of_the_run_equals_what_vllm_recorded(name):
    totals = dict.fromkeys(COUNTED, 0)
    num_preemptions = 0
    steps = run_numbers(golden_trace(name)).steps
    for counted, recorded in zip(steps, recorded_steps(name), strict=True):
        after, stats = recorded["after_update"], recorded["prefix_cache_stats"]
        resets = [*recorded["ops"], *recorded["mid_ops"]]
        num_preemptions += len(recorded["preempted"])
        num_preemptions += sum(len(op.get("preempted", ())) for op in resets)
        totals = {key: totals[key] + stats[key] for key in COUNTED}
        usable = counted.num_usable_blocks
        assert 1.0 - (usable - counted.num_used_blocks) / usable == recorded["kv_cache_usage"]
        assert counted.num_running == len(after["running"])
        assert counted.num_waiting == len(after["waiting"])
        assert counted.num_scheduled_tokens == recorded["total_num_scheduled_tokens"]
        assert counted.num_preemptions == num_preemptions
        assert {key: getattr(counted, key) for key in COUNTED} == totals


@pytest.mark.parametrize("name", NAMES)
def test_slots_of_held_blocks_are_full_or_empty(name):
    trace = golden_trace(name)
    for step in range(trace.num_steps):
        state = trace.at(trace.after_update(step))
        full = 0
        for group_id, size in enumerate(state.group_block_sizes):
            written = {}
            for id_ in state.running:
                request = state.requests[id_]
                for index, block_id in enumerate(request.block_tables[group_id]):
                    filled = min(size, max(0, request.num_computed_tokens - index * size))
                    if block_id:
                        written[block_id] = max(filled, written.get(block_id, 0))
            full += sum(written.values())
        counted = numbers_of(state)
        assert counted.num_held_slots - counted.num_empty_slots == full


@pytest.mark.parametrize("name", NAMES)
def test_the_card_draws_every_recorded_workload(name):
    trace = golden_trace(name)
    for moment in moments(trace):
        payload = numbers(trace, moment, trace.last, TEXT)
        assert len(json.dumps(payload)) < 8_000
        for row in payload["numbers"]:
            assert len(row["points"]) <= MAX_POINTS
            assert all(value is None or 0 <= value <= 100 for value in row["points"])


def test_the_card_says_what_each_number_is_a_share_of():
    rows = rows_at("doc_example", golden_trace("doc_example").after_update(3))
    said = {key: (row["value"], row["beside"]) for key, row in rows.items()}
    assert said == {
        "usage": ("70%", "7 of 10"),
        "hit_rate": ("28%", "8 of 29"),
        "running": ("2", "of 8"),
        "waiting": ("0", ""),
        "preemptions": ("0", ""),
        "tokens": ("7", "of 64"),
        "empty": ("14%", "4 of 28"),  # 18 tokens in 5 blocks of 4, 14 in 4
    }
    assert rows["usage"]["name"] == "vllm:kv_cache_usage_perc"
    assert rows["waiting"]["facts"] == "Over the run: always 0."
    assert rows["usage"]["facts"] == "7 of 10. Over the run: at most 80%, first in step 6."


def test_a_number_follows_the_cursor_inside_a_step():
    trace = golden_trace("doc_example")
    before = rows_at("doc_example", Cursor(0, 1))
    after = rows_at("doc_example", trace.after_schedule(0))
    assert [rows["tokens"]["value"] for rows in (before, after)] == ["0", "15"]
    assert [rows["empty"]["value"] for rows in (before, after)] == ["–", "6%"]
    assert [rows["hit_rate"]["value"] for rows in (before, after)] == ["–", "–"], "at a step's end"


def test_a_step_that_has_not_begun_shows_no_tokens_of_the_step_before():
    """request1 comes in before step 3 schedules; step 2 computed one token of request0."""
    trace = golden_trace("doc_example")
    assert trace.at(Cursor(3, 1)).step == 2
    shown = (rows_at("doc_example", cursor)["tokens"] for cursor in (Cursor(3, 0), Cursor(3, 1)))
    assert [(row["value"], row["beside"]) for row in shown] == [("1", "of 64"), ("0", "of 64")]
    assert rows_at("doc_example", Cursor(3, 1))["running"]["value"] == "1"


def test_the_budget_of_a_step_that_has_not_begun_is_the_one_that_it_will_have():
    part = grown(golden_trace("doc_example"), 0)
    step = golden_trace("doc_example").step_events(0)
    part.extend([*step, SettingChanged(1, "max_num_batched_tokens", 32)])
    row = numbers(part, moment_at(part, part.last), part.last, TEXT)["numbers"][-2]
    assert (row["key"], row["value"], row["beside"]) == ("tokens", "0", "of 32")


def test_blocks_taken_for_an_admission_are_as_full_as_they_will_be():
    """request2: 29 tokens, a hit of 12 in three blocks, then five more."""
    trace = golden_trace("doc_example")
    counted = [numbers_of(trace.at(Cursor(6, sub_step))) for sub_step in range(3, 9)]
    slots = [(numbers.num_empty_slots, numbers.num_held_slots) for numbers in counted]
    assert slots == [(0, 0), (0, 12), *[(3, 32)] * 4]


@pytest.mark.parametrize("name", NAMES)
def test_empty_slots_never_outgrow_the_tables_inside_schedule(name):
    """Nobody who is in the middle of its admission has empty blocks: it takes what it will fill."""
    trace = golden_trace(name)
    for position in range(trace.num_positions):
        state = trace.at(trace.cursor_at(position))
        counted = numbers_of(state)
        assert 0 <= counted.num_empty_slots <= counted.num_held_slots
        if state.in_step and not state.is_scheduled:
            for id_ in state.waiting:
                request = state.requests[id_]
                empty = module._num_empty_slots(state, request)
                assert empty < max(state.group_block_sizes) * len(state.groups)


def test_the_lookups_of_preempted_requests_stand_apart_all_through_the_run():
    trace = golden_trace("preempt_resume_hit")
    assert "preempted_hit_rate" in rows_at("preempt_resume_hit", Cursor(0, 0))
    asked = [
        rows_at("preempt_resume_hit", trace.after_update(step))["preempted_hit_rate"]["beside"]
        for step in (5, 6, 7, 9)
    ]
    assert asked == ["", "12 of 17", "24 of 34", "48 of 68"], "refused, it asks again every step"
    assert "preempted_hit_rate" not in rows_at("doc_example", golden_trace("doc_example").last)


def test_the_curve_knows_what_has_happened():
    trace = golden_trace("doc_example")
    assert trace.num_steps == 8
    start, inside, end = (
        shown_at("doc_example", cursor)
        for cursor in (Cursor(0, 0), trace.after_schedule(3), trace.after_update(7))
    )
    assert [(shown["seen"], shown["at"]) for shown in (start, inside, end)] == [
        *((0.0, 0.0625), (0.375, 0.4375), (1.0, 0.9375)),
    ]
    assert rows_at("doc_example", trace.last)["tokens"]["points"][:4] == [88, 6, 6, 41]


@pytest.mark.parametrize(
    ("column", "drawn"),
    [
        ([], []),
        ([0.0], [0]),
        ([NOTHING_YET, 0.5, 0.25], [None, 100, 50]),
        ([NOTHING_YET, NOTHING_YET], [None, None]),
        ([1.0] * 119 + [2.0], [50] * 119 + [100]),
        ([1.0] * 120 + [2.0], [50] * 60 + [100]),
        ([0.0] * 999 + [4.0], [0] * 111 + [100]),
    ],
)
def test_a_long_run_becomes_a_hundred_points_and_its_peaks_stay(column, drawn):
    assert points(column) == drawn
    assert len(drawn) <= MAX_POINTS


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0.0, "0%"),
        (5e-5, "<0.1%"),
        (0.001, "0.1%"),
        (0.0071, "0.7%"),
        (0.5, "50%"),
        (0.9999, "99%"),
        (1.0, "100%"),
    ],
)
def test_something_is_never_nothing_and_nearly_all_is_not_all(share, said):
    assert _percent(share) == said


def test_a_large_pool_has_short_numbers_and_exact_ones_behind_them():
    row = rows_at("big_pool_131928", golden_trace("big_pool_131928").after_update(3))["usage"]
    assert row["beside"] == "11 of 131,927"
    assert row["value"] == "<0.1%"
    assert " of 131,927." in row["facts"]


def grown(trace, num_events):
    """The beginning of a run, as a trace that can still grow."""
    part = Trace(TraceHeader(config=trace.header.config))
    part.extend(trace.events_from(0)[:num_events])
    return part


def test_a_growing_trace_is_folded_once_and_only_forward(monkeypatch):
    whole = golden_trace("fuzz_00")
    part, folded = grown(whole, 500), []
    extend = module.RunNumbers.extend
    monkeypatch.setattr(
        module.RunNumbers,
        "extend",
        lambda run, new: (folded.append(len(new)), extend(run, new))[1],
    )
    first = len(run_numbers(part).steps)
    for event in whole.events_from(500):
        part.append(event)
    assert run_numbers(part).steps == run_numbers(whole).steps
    run_numbers(part)
    assert first < len(run_numbers(part).steps)
    assert folded[:2] == [500, whole.num_events - 500]
    assert sum(folded) <= part.num_events + whole.num_events


def test_what_follows_an_event_that_cannot_have_happened_is_not_counted():
    part = grown(golden_trace("doc_example"), 60)
    done = len(run_numbers(part).steps)
    part.append(BlocksFreed("nobody", (9, 9, 9)))
    part.extend(golden_trace("doc_example").events_from(60))
    assert done > 0
    assert len(run_numbers(part).steps) == done
    cursor = Cursor(1, 0)
    assert numbers(part, moment_at(part, cursor), cursor, TEXT)["numbers"]
