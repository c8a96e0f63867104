"""The slots that a row is drawn to read are those that the engine's attention reads."""

import pytest

from engine.runner.attention.plan import span_of
from engine.workload import read_workload
from tests.views.batches import packed_run, read_slots
from tests.views.runs import NAMES, WORKLOADS, golden_trace
from views.figures.batch.attention import Query, first_position
from views.figures.batch.batch import batch
from views.figures.batch.batch_rows import shares_of
from views.figures.selection import Selection
from views.text import Text

TEXT = Text("en")


def slots_seen(trace, step, group_id):
    """(row, the slots that it reads) for all rows of a step."""
    state = trace.at(trace.after_schedule(step))
    for share in shares_of(state, group_id):
        for position in range(share.start, share.stop):
            query = Query(share.request.request_id, position, group_id)
            yield share, position, read_slots(state, query), state


@pytest.mark.parametrize("name", ["doc_example", "sliding_window", "hybrid_three_groups"])
def test_the_slots_that_a_row_reads_are_those_that_attention_gathers(name):
    workload = read_workload(WORKLOADS / f"{name}.json")
    trace, batches = packed_run(workload)
    for step, real in batches.items():
        for group_id, group in enumerate(real.groups):
            window = trace.at(trace.last).groups[group_id].get("window")
            for index in range(group.num_seqs):
                span = span_of(group, index, window)
                table = group.block_tables[index]
                size = group.block_size
                gathered = [
                    table[p // size] * size + p % size for p in range(span.first, span.last)
                ]
                first, stop = group.query_start[index], group.query_start[index + 1]
                rows = list(slots_seen(trace, step, group_id))[first:stop]
                assert rows[-1][2] == gathered[-len(rows[-1][2]) :], "the last row sees to the end"
                assert rows[0][2][0] == gathered[0], "the first row sees the first of them"
                assert {slot for row in rows for slot in row[2]} == set(gathered)


@pytest.mark.parametrize("name", NAMES)
def test_nobody_reads_the_null_block_and_each_row_reads_its_own_slot_last(name):
    trace = golden_trace(name)
    for step in range(0, trace.num_steps, max(1, trace.num_steps // 15)):
        for group_id in range(len(trace.at(trace.last).groups)):
            for share, position, slots, state in slots_seen(trace, step, group_id):
                size = state.group_block_sizes[group_id]
                assert min(slots) >= size
                own = share.table[position // size] * size + position % size
                assert slots[-1] == own
                assert len(set(slots)) == len(slots)


@pytest.mark.parametrize(
    ("group", "firsts"),
    [
        ({"type": "full"}, [0, 0, 0, 0, 0, 0, 0, 0, 0]),
        ({"type": "sliding", "window": 1}, [0, 1, 2, 3, 4, 5, 6, 7, 8]),
        ({"type": "sliding", "window": 4}, [0, 0, 0, 0, 1, 2, 3, 4, 5]),
        ({"type": "chunked_local", "chunk": 4}, [0, 0, 0, 0, 4, 4, 4, 4, 8]),
    ],
)
def test_where_a_row_begins_to_read(group, firsts):
    assert [first_position(group, position) for position in range(9)] == firsts


def runs(payload):
    return [[tuple(run) for run in block["runs"]] for block in payload["reads"]["blocks"]]


def test_a_row_reads_old_blocks_and_what_its_own_step_wrote_before_it():
    trace = golden_trace("doc_example")
    chosen = Selection(request_id="request1", token=11)
    payload = batch(trace, trace.after_update(3), TEXT, selection=chosen)
    assert payload["starts"] == "0, 1, 7"
    assert payload["chosen"] == ["request1", 11]
    assert [block["block"] for block in payload["reads"]["blocks"]] == [1, 2, 6, 7]
    assert runs(payload) == [
        *([("read", 4)], [("read", 4)], [("now", 4)]),
        [("later", 2), ("open", 2)],
    ]
    assert payload["reads"]["sentence"] == "reads 12 slots in 3 blocks"
    assert payload["reads"]["writes"] == "writes slot 27 first"


def test_a_window_hides_what_lies_left_of_it():
    trace = golden_trace("sliding_window")
    state = trace.at(trace.after_schedule(2))
    window = state.groups[0]["window"]
    payload = batch(trace, trace.after_update(2), TEXT)
    shown = [run for block in runs(payload) for run in block]
    assert {"hole", "hidden"} & {name for name, _ in shown}
    assert sum(count for name, count in shown if name in ("read", "now")) == window
    assert payload["reads"]["mask"].startswith(f"sliding window of {window}, itself included: ")


def test_blocks_that_another_request_writes_in_the_same_step_are_read_as_new():
    trace = golden_trace("duplicate_blocks")
    state = trace.at(trace.after_schedule(0))
    first, second = list(state.scheduled)[:2]
    table = [state.requests[id_].block_tables[0] for id_ in (first, second)]
    assert table[0][0] == table[1][0], "a hit in the step that computes the block"
    payload = batch(trace, trace.after_update(0), TEXT, selection=Selection(request_id=second))
    assert runs(payload)[0] == [("now", state.block_size)]


def test_blocks_that_nobody_computed_are_named_where_a_workload_reads_them():
    readers = set()
    for name in ("priority_stale_blocks", "priority_unschedule", "doc_example", "fuzz_00"):
        trace = golden_trace(name)
        for step in range(trace.num_steps):
            payload = batch(trace, trace.after_update(step), TEXT)
            if any(entry[0] == "never" for entry in payload.get("reads", {}).get("legend", ())):
                readers.add((name, step))
    assert readers == {("priority_stale_blocks", step) for step in (9, 10, 11)}
