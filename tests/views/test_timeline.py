"""The timeline shows in every cell what the picture at that position shows."""

import base64
import json
from typing import NamedTuple

import pytest

from engine.trace.block_log import BLOCK_STATES
from engine.trace.events import BlocksTaken
from engine.trace.header import TraceHeader
from engine.trace.history import history_of
from engine.trace.state import Cursor
from engine.trace.trace import Trace
from engine.workload import ScriptedRun, parse_workload
from tests.views.runs import NAMES, golden_trace
from views.figures.moment import block_state
from views.figures.time.strip import EVICTED, MAX_COLUMNS, MAX_ROWS, run_strip, window_strip
from views.figures.time.timeline import MAX_LANES, STATUSES, ZOOMS, timeline
from views.text import Text

TEXT = Text("en")
MAX_BYTES = 48_000


class Cell(NamedTuple):
    state: str
    is_evicted: bool


def unpacked(packed, num_rows, num_columns):
    digits = base64.b64decode(packed).hex()
    values = [int(digit, 16) for digit in digits[: num_rows * num_columns]]
    cells = [Cell(BLOCK_STATES[value % EVICTED], value >= EVICTED) for value in values]
    return [cells[row * num_columns :][:num_columns] for row in range(num_rows)]


def rows_of(payload):
    return unpacked(payload["cells"], payload["num_rows"], len(payload["targets"]))


def value_at(runs, column):
    return [value for start, value in zip(runs[::2], runs[1::2]) if start <= column][-1]


def scripted(num_blocks, requests, **config):
    """A run of the engine without a model: (arrival step, prompt, number of answers) each."""
    workload = parse_workload(
        {
            "name": "story",
            "config": {"block_size": 4, "num_blocks": num_blocks, **config},
            "max_steps": 20_000,
            "requests": [
                {"id": f"r{i}", "arrival_step": step, "prompt": prompt, "output": [7] * answers}
                for i, (step, prompt, answers) in enumerate(requests)
            ],
        }
    )
    trace = Trace(TraceHeader(config=workload.config.to_mapping()))
    return trace, ScriptedRun(workload, emit=trace.append).run()


def whole(*story, **config):
    trace, steps = scripted(*story, **config)
    for _ in steps:
        pass
    return trace


@pytest.mark.parametrize("zoom", ZOOMS)
@pytest.mark.parametrize("name", NAMES)
def test_every_cell_is_what_its_block_was_when_its_column_ended(name, zoom):
    trace = golden_trace(name)
    cursor = trace.cursor_at(trace.num_positions // 2)
    payload = timeline(trace, cursor, TEXT, zoom=zoom)
    assert len(json.dumps(payload)) < MAX_BYTES
    assert payload["targets"] == sorted(set(payload["targets"]))
    if payload["per_row"] > 1:
        return
    rows = rows_of(payload)
    for column, target in enumerate(payload["targets"]):
        state = trace.at(trace.cursor_at(target))
        assert [row[column].state for row in rows] == [
            block_state(state, block_id) for block_id in range(1, len(rows) + 1)
        ]
        assert payload["steps"][column] == trace.cursor_at(target).step


@pytest.mark.parametrize("name", NAMES)
def test_a_lane_says_what_its_request_was_doing_in_each_column(name):
    trace = golden_trace(name)
    payload = timeline(trace, trace.last, TEXT)
    for lane in payload["lanes"]:
        busy_until = -1
        for number, runs in lane:
            assert runs[0] > busy_until, "requests of a lane follow one another"
            is_over = runs[-1] == STATUSES.index("FINISHED")
            busy_until = runs[-2] if is_over else len(payload["targets"])
            for column in range(runs[0], len(payload["targets"])):
                state = trace.at(trace.cursor_at(payload["targets"][column]))
                status = state.requests[payload["names"][number]].status
                assert status.startswith(STATUSES[value_at(runs, column)])


def test_takers_are_named_and_the_cursor_has_its_column():
    trace = golden_trace("doc_example")
    cursor = trace.after_update(4)
    payload = timeline(trace, cursor, TEXT)
    assert payload["targets"][payload["at"]] == trace.position(cursor)
    taker = [payload["names"][value_at(runs, payload["at"])] for runs in payload["takers"][:7]]
    assert taker == ["request0"] * 5 + ["request1"] * 2


def test_only_block_4_of_the_example_is_marked_as_evicted_where_request2_takes_it():
    trace = golden_trace("doc_example")
    payload = timeline(trace, trace.last, TEXT)
    marked = [
        (row + 1, payload["targets"][column])
        for row, cells in enumerate(rows_of(payload))
        for column, cell in enumerate(cells)
        if cell.is_evicted
    ]
    ((block_id, position),) = marked
    cursor = trace.cursor_at(position)
    (event,) = trace.events(cursor.step, cursor.sub_step - 1)
    assert block_id == 4
    assert isinstance(event, BlocksTaken)
    assert event.request_id == "request2"


def test_a_short_run_has_nothing_to_zoom_and_one_that_has_not_begun_says_so():
    trace = golden_trace("doc_example")
    assert timeline(trace, trace.last, TEXT)["zooms"] == []
    begun = Trace(trace.header)
    payload = timeline(begun, Cursor(0, 0), TEXT)
    assert payload["empty"] == "Nothing has happened yet."
    assert (payload["num_rows"], payload["lanes"], payload["cells"]) == (0, [], "")


def test_near_the_cursor_every_sub_step_has_a_column_and_the_cursor_is_one_of_them():
    trace = golden_trace("fuzz_01")
    for position in (0, 1, 59, 60, 61, 400, trace.num_positions - 1):
        payload = timeline(trace, trace.cursor_at(position), TEXT, zoom="near")
        targets = payload["targets"]
        assert targets == list(range(targets[0], targets[0] + 120))
        assert targets[payload["at"]] == position


def test_the_window_stands_still_while_the_cursor_goes_half_of_its_width():
    trace = golden_trace("fuzz_01")
    firsts = [
        timeline(trace, trace.cursor_at(position), TEXT, zoom="near")["targets"][0]
        for position in range(300, 420)
    ]
    assert sorted(set(firsts)) == [270, 330]


def long_story():
    prompts = [[i % 5, *range(20), i] for i in range(90)]
    return 24, [(i * 12, prompt, 14) for i, prompt in enumerate(prompts)]


def test_a_picture_that_grew_with_its_run_is_the_one_that_is_drawn_at_once():
    trace, steps = scripted(*long_story())
    for step, _ in enumerate(steps):
        if step % 7 == 0:
            timeline(trace, trace.last, TEXT)
    timeline(trace, trace.last, TEXT)
    history = history_of(trace)
    grown, drawn = run_strip(trace), window_strip(history, 0, history.last_position)
    assert grown.cut == drawn.cut
    assert grown.cut.stride > 8
    assert grown.packed() == drawn.packed()
    assert grown.takers == drawn.takers


def test_a_long_run_is_drawn_in_columns_of_many_sub_steps_and_loses_no_eviction():
    trace = whole(*long_story())
    payload = timeline(trace, trace.last, TEXT)
    assert MAX_COLUMNS // 2 < len(payload["targets"]) <= MAX_COLUMNS
    assert "32 sub-steps in a column" in payload["hint"]
    rows, targets = rows_of(payload), payload["targets"]
    positions, block_ids = history_of(trace).evictions
    assert len(positions) > 100
    for position, block_id in zip(positions, block_ids, strict=True):
        column = next(column for column, target in enumerate(targets) if position <= target)
        assert rows[block_id - 1][column].is_evicted
    assert len(json.dumps(payload)) < MAX_BYTES
    assert len(payload["lanes"]) <= MAX_LANES


def test_many_blocks_share_rows_that_show_what_most_of_them_are():
    trace = whole(400, [(0, [*range(1200)], 3), (1, [*range(5000, 5100)], 2)], max_model_len=1300)
    cursor = trace.after_update(0)
    payload = timeline(trace, cursor, TEXT, selected=7)
    per_row, at = payload["per_row"], payload["at"]
    assert payload["num_rows"] <= MAX_ROWS
    assert per_row == 4
    state = trace.at(trace.cursor_at(payload["targets"][at]))
    for row, cells in enumerate(rows_of(payload)):
        held = range(row * per_row + 1, (row + 1) * per_row + 1)
        states = [block_state(state, id_) for id_ in held]
        most = max(map(states.count, states))
        assert states.count(cells[at].state) == most
    (own,) = unpacked(payload["own"]["cells"], 1, len(payload["targets"]))
    for column, target in enumerate(payload["targets"]):
        assert own[column].state == block_state(trace.at(trace.cursor_at(target)), 7)


def test_a_selected_block_that_was_never_used_has_no_row():
    trace = whole(400, [(0, [*range(1200)], 3)], max_model_len=1300)
    for selected in (None, 0, 399, 10**9):
        assert timeline(trace, trace.last, TEXT, selected=selected)["own"] is None
