"""The batch that is drawn is the batch that the engine packs, row for row and slot for slot."""

import json
import time

import msgspec
import pytest

from engine.config import SamplingParams
from engine.runner.input_batch import build_input_batch
from engine.trace.header import TraceHeader
from engine.trace.state import Cursor
from engine.trace.trace import Trace
from engine.workload import parse_workload, read_workload
from tests.runner.builders import build_engine, build_loaded, build_stock, random_prompt
from tests.views.batches import packed_run
from tests.views.runs import NAMES, WORKLOADS, golden_trace
from views.figures.batch.batch import batch
from views.figures.batch.batch_rows import shares_of, tokens_of
from views.figures.selection import Selection
from views.text import Text

TEXT = Text("en")
ROW, POSITION, TOKEN_ID, KIND, PLACE, BLOCK, STATE, REF, OFFSET, SLOT, MARK = (
    0,
    1,
    3,
    4,
    *range(5, 12),
)


def rows_of(payload):
    """The drawn rows in order; folded ones are missing."""
    return [
        (sequence["request"], item)
        for sequence in payload["sequences"]
        for item in sequence["items"]
        if isinstance(item, list)
    ]


def every_row(trace, cursor, group_id=0):
    """All rows, also those that a picture folds: each request is opened at each of its rows."""
    found = {}
    state = trace.at(trace.after_schedule(cursor.step))
    for share in shares_of(state, group_id):
        for token in range(share.start, share.stop, 20):
            chosen = Selection(request_id=share.request.request_id, token=token)
            payload = batch(trace, cursor, TEXT, selection=chosen, group_id=group_id)
            found |= {item[ROW]: (request_id, item) for request_id, item in rows_of(payload)}
    return [found[row] for row in sorted(found)]


def assert_same(trace, real, cursor):
    """One step's picture against the engine's InputBatch, in every KV-cache group."""
    payload = batch(trace, cursor, TEXT)
    starts = [group.query_start for group in real.groups]
    for group_id, group in enumerate(real.groups):
        rows = every_row(trace, cursor, group_id)
        items = [item for _, item in rows]
        assert [item[ROW] for item in items] == list(range(real.positions.numel()))
        assert [item[POSITION] for item in items] == real.positions[0].tolist()
        assert [item[TOKEN_ID] for item in items] == real.input_ids[0].tolist()
        assert [item[SLOT] for item in items] == group.slot_mapping.tolist()
        for item in items:
            assert item[SLOT] == item[BLOCK] * group.block_size + item[OFFSET]
            assert item[POSITION] == item[PLACE] * group.block_size + item[OFFSET]
        sampled = [item[ROW] for item in items if item[MARK] == "sample"]
        assert sampled == real.sample_rows.tolist()
        requests = [request_id for request_id, _ in rows]
        begins = [row for row, name in enumerate(requests) if requests[:row].count(name) == 0]
        assert [*begins, len(rows)] == list(starts[group_id])
    if len(starts[0]) <= 9:
        assert payload["starts"] == ", ".join(map(str, starts[0]))


@pytest.mark.parametrize("name", NAMES)
def test_every_step_of_every_workload_is_the_batch_that_the_engine_packs(name):
    trace, batches = packed_run(read_workload(WORKLOADS / f"{name}.json"))
    assert batches
    for step in range(0, trace.num_steps, max(1, trace.num_steps // 25)):
        cursor = trace.after_update(step)
        if step in batches:
            assert_same(trace, batches[step], cursor)
        else:
            rows = trace.at(trace.after_schedule(step)).scheduled.values()
            assert not rows or any(row.spec_token_ids for row in rows)
            assert ("empty" in batch(trace, cursor, TEXT)) == (not rows)


def test_a_token_is_scheduled_until_the_model_ran():
    """Step 0 of the A-O example: the sixth sub-step schedules the tokens, the eighth is SlotsWritten."""
    trace = golden_trace("doc_example")
    states = [batch(trace, Cursor(0, at), TEXT).get("token_state") for at in range(11)]
    assert states == [*[None] * 6, *["scheduled"] * 2, *["now"] * 3]


@pytest.mark.parametrize("name", ["doc_example", "preempt_several_chunks", "sliding"])
def test_a_real_model_is_given_what_is_drawn(name, monkeypatch):
    """Mixed prefill and decode, prefix hits; chunks and preemption; a window beside full layers."""
    stock = build_stock("Qwen2", use_sliding_window=True, sliding_window=5, max_window_layers=1)
    stock = stock if name == "sliding" else build_stock()
    settings = {"num_blocks": 14, "max_model_len": 40} if "preempt" in name else {}
    real, taken = build_input_batch, []
    monkeypatch.setattr(
        "engine.runner.model_runner.build_input_batch",
        lambda *given: taken.append(real(*given)) or taken[-1],
    )
    engine, events = build_engine(
        build_loaded(stock), block_size=4, max_num_batched_tokens=11, max_num_seqs=4, **settings
    )
    shared = random_prompt(9)
    for index in range(3):
        engine.add_request(
            str(index),
            [*shared, *random_prompt(3 + 4 * index, seed=index)],
            sampling=SamplingParams(max_tokens=9, ignore_eos=True),
        )
    while engine.has_unfinished_requests:
        engine.step()
    trace = Trace(TraceHeader(config=engine.config.to_mapping()))
    trace.extend(events)
    assert trace.num_steps == len(taken) > 8
    assert (name == "preempt_several_chunks") == (trace.at(trace.last).num_preemptions > 0)
    for step, given in enumerate(taken):
        assert_same(trace, given, trace.after_update(step))


def test_drafts_are_marked_and_sample_too():
    payload = batch(golden_trace("ngram_spec"), golden_trace("ngram_spec").after_update(3), TEXT)
    shown = [(id_, item[POSITION], item[TOKEN_ID], item[MARK]) for id_, item in rows_of(payload)]
    assert shown[:4] == [
        *(("a", 17, 1005, "sample"), ("a", 18, 1013, "draft")),
        *(("a", 19, 1014, "draft"), ("a", 20, 1015, "draft")),
    ]
    assert payload["beside"] == "8 tokens of 2 requests in one forward pass; 8 rows sample"


def test_the_batch_of_a_step_stays_when_tables_are_freed_and_the_step_is_over():
    trace = golden_trace("doc_example")
    last = trace.num_steps - 1
    pictures = [
        batch(trace, Cursor(last, sub_step), TEXT)
        for sub_step in range(trace.after_schedule(last).sub_step, trace.num_sub_steps(last) + 1)
    ]
    assert len(pictures) > 3
    assert not trace.at(trace.last).running
    states = [picture.pop("token_state") for picture in pictures]
    words = [picture.pop("token_word") for picture in pictures]
    assert states == ["scheduled", *["now"] * (len(states) - 1)]  # until the model ran
    assert len(set(words)) == 2
    notes = [picture.pop("note") for picture in pictures]
    assert (notes[0], notes[-1]) == ("", given_up("request2"))
    uncoloured = [without_block_states(picture) for picture in pictures]
    assert all(picture == uncoloured[0] for picture in uncoloured)


def given_up(request_id):
    return f"Since the model ran, {request_id} has given up its blocks: they are drawn as they are now."


def without_block_states(picture):
    for _, item in rows_of(picture):
        item[STATE] = item[REF] = None
    for entry in picture["reads"]["blocks"]:
        entry["state"] = entry["ref"] = None
    return picture


def test_before_and_while_the_batch_is_filled():
    trace = golden_trace("doc_example")
    assert batch(trace, Cursor(0, 1), TEXT)["empty"].startswith(
        "Nothing is scheduled yet in step 0"
    )
    counts = {
        batch(trace, Cursor(3, sub_step), TEXT).get("beside", "")
        for sub_step in range(1, trace.after_schedule(3).sub_step)
    }
    so_far = "so far 1 token of 1 request; 1 row samples; schedule() goes on"
    assert so_far in counts
    idle = golden_trace("priority_ties")
    assert batch(idle, idle.after_update(7), TEXT)["empty"] == (
        "Step 7 scheduled no token, so the model does not run."
    )


def test_who_is_asked_for_and_not_in_the_batch_gets_a_word():
    trace = golden_trace("doc_example")

    def note(request_id, token=None):
        chosen = Selection(request_id=request_id, token=token)
        return batch(trace, trace.after_update(1), TEXT, selection=chosen)["note"]

    assert note("request0") == ""
    assert note("request0", 3) == (
        "Token 3 of request0 was computed before step 1; shown is the last row of request0."
    )
    assert note("request0", 40).startswith("Token 40 of request0 comes after step 1")
    assert note("nobody") == ""


@pytest.mark.parametrize("name", NAMES)
def test_every_moment_of_every_workload_can_be_drawn(name):
    trace = golden_trace(name)
    stride = max(1, trace.num_positions // 40)
    for position in range(0, trace.num_positions, stride):
        cursor = trace.cursor_at(position)
        for group_id in (0, 1, 99):
            payload = batch(trace, cursor, TEXT, group_id=group_id)
            assert len(json.dumps(payload)) < 40_000
            assert ("empty" in payload) != ("sequences" in payload)


def large(num_requests, num_tokens):
    requests = [
        {"id": f"r{i}", "arrival_step": 0, "prompt": range(i, i + num_tokens), "output": range(4)}
        for i in range(num_requests)
    ]
    config = {"block_size": 16, "num_blocks": 2_000, "max_num_batched_tokens": 16_384}
    config |= {"max_num_seqs": 256, "max_model_len": 16_384}
    requests = [{**r, "prompt": [*r["prompt"]], "output": [*r["output"]]} for r in requests]
    return packed_run(parse_workload({"name": "large", "config": config, "requests": requests}))


@pytest.mark.parametrize(("num_requests", "num_tokens"), [(1, 8_000), (2, 8_000), (256, 20)])
def test_a_large_batch_is_folded_small_and_quick_and_every_fold_opens(num_requests, num_tokens):
    trace, batches = large(num_requests, num_tokens)
    for step in (0, 1):
        cursor = trace.after_update(step)
        best = 1.0
        for _ in range(5):
            began = time.perf_counter()
            payload = batch(trace, cursor, TEXT)
            best = min(best, time.perf_counter() - began)
        assert best < 0.02, "about 2 ms on an idle machine"
        assert len(json.dumps(payload)) < 20_000
        slots = batches[step].groups[0].slot_mapping.tolist()
        assert all(item[SLOT] == slots[item[ROW]] for _, item in rows_of(payload))
        folds = [
            item
            for sequence in payload["sequences"]
            for item in sequence["items"]
            if isinstance(item, dict)
        ]
        assert folds or len(slots) < 30
        for fold in folds[:3]:
            chosen = Selection(request_id=fold["request"], token=fold["token"])
            opened = batch(trace, cursor, TEXT, selection=chosen)
            shown = [(id_, item[POSITION]) for id_, item in rows_of(opened)]
            assert (fold["request"], fold["token"]) in shown
            assert len(json.dumps(opened)) < 25_000


def test_a_character_across_tokens_is_known_whole_in_a_window_of_rows():
    trace, _ = large(1, 40)
    state = trace.at(trace.after_schedule(0))
    (share,) = shares_of(state, 0)
    added = msgspec.structs.replace(
        share.request.added,
        prompt_token_bytes=tuple([b"a"] * 20 + [b"\xe4\xbd", b"\xa0"] + [b"b"] * 18),
    )
    request = share.request.copy(0)
    request.added = added
    drawn = tokens_of(share._replace(request=request), 21, 23)
    assert drawn == [[[["A0", "bytes"]], 21, ""], ["b", 22, ""]]


def test_who_has_no_row_while_schedule_goes_on_may_still_get_some():
    """Step 3 of the A-O example: request0 is scheduled first, then request1 is looked up."""
    trace = golden_trace("doc_example")

    def note(sub_step, request_id="request1"):
        chosen = Selection(request_id=request_id)
        return batch(trace, Cursor(3, sub_step), TEXT, selection=chosen)["note"]

    assert note(3).startswith("request1 has no row yet, and schedule() still goes on")
    assert note(7) == note(3)
    assert note(8) == ""


@pytest.mark.parametrize("name", ["doc_example", "preempt_multi_victims", "priority_unschedule"])
def test_no_row_in_this_step_is_said_only_of_those_who_get_none(name):
    trace = golden_trace(name)
    for position in range(trace.num_positions):
        cursor = trace.cursor_at(position)
        state = trace.at(cursor)
        for request_id in state.requests if state.in_step and state.scheduled else ():
            chosen = Selection(request_id=request_id)
            note = batch(trace, cursor, TEXT, selection=chosen).get("note", "")
            if "has no row in step" in note:
                assert request_id not in trace.at(trace.after_schedule(cursor.step)).scheduled
            elif "has no row yet" in note:
                assert not state.is_scheduled
