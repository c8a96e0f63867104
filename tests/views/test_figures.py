"""Every figure on the recorded workloads, and what a few of them must say."""

import base64
import json

import pytest

from engine.trace.state import Cursor
from lessons.library import load_lesson
from lessons.places import find_place
from tests.views.runs import NAMES, doc_moment, golden_trace, moments, trace_with_cut_hits
from tests.views.trees import run
from views.figures.block.block import block
from views.figures.cache.pool import MAX_REF, pool
from views.figures.cache.queue import queue
from views.figures.cache.requests import requests
from views.figures.cache.tables import tables
from views.figures.moment import moment_at
from views.figures.time.narration import narration
from views.figures.time.transport import transport
from views.text import Text

TEXT = Text("en")
CHUNK, WITH_HIT = 3, 6


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_draws_every_recorded_workload(name):
    trace = golden_trace(name)
    for moment in moments(trace):
        for figure in (requests, tables, pool, queue):
            json.dumps(figure(moment, TEXT))
        for block_id in (None, 0, 1, 2, moment.state.num_blocks - 1, 10**9):
            json.dumps(block(moment, TEXT, selected=block_id))
    for step in range(0, trace.num_steps, max(1, trace.num_steps // 30)):
        cursor = trace.after_update(step)
        assert all(line["text"] for line in narration(trace, cursor, TEXT)["lines"])
        json.dumps(transport(trace, cursor, TEXT, can_go_on=False))


def find(step, kind):
    """The cursor just after the first event of this kind in the step of the A-O example."""
    trace = golden_trace("doc_example")
    for sub_step in range(trace.num_sub_steps(step)):
        if any(type(event).__name__ == kind for event in trace.events(step, sub_step)):
            return Cursor(step, sub_step + 1)
    raise AssertionError(f"no {kind} in step {step}")


def at(step, kind):
    return moment_at(golden_trace("doc_example"), find(step, kind))


def test_the_second_request_of_the_example_hits_two_blocks_and_takes_two():
    moment = at(3, "BlocksTaken")
    assert sorted(moment.touched_blocks) == [6, 7]
    cells = pool(moment, TEXT)["cells"]
    assert [cell["state"] for cell in cells] == [
        *("null", "shared", "shared", "used", "used", "used", "used", "used"),
        *("unused", "unused", "unused"),
    ]
    assert [cell["ref"] for cell in cells[1:4]] == [2, 2, 1]
    row = tables(moment, TEXT)["rows"][1]
    assert [cell["block"] for cell in row["groups"][0]["items"]] == [1, 2, 6, 7]


def test_a_hash_is_registered_before_its_keys_and_values_are_computed():
    before, after = at(0, "BlocksCached"), at(0, "SlotsWritten")
    assert [cell.get("hash") for cell in pool(before, TEXT)["cells"][1:5]] == [
        *("unwritten", "unwritten", "unwritten", None)
    ]
    assert [cell.get("hash") for cell in pool(after, TEXT)["cells"][1:5]] == [
        *("valid", "valid", "valid", None)
    ]


def test_tokens_are_cut_where_blocks_end_and_coloured_by_what_happened_to_them():
    card = requests(at(3, "StepScheduled"), TEXT)["cards"][1]
    assert [part["block"] for part in card["blocks"]] == [1, 2, 6, 7]
    hit, scheduled, now = ([name] * 4 for name in ("hit", "scheduled", "now"))
    assert token_states(card) == [hit, hit, scheduled, scheduled[:2]]
    assert ["hit", "hit 8"] in card["facts"]
    written = requests(at(3, "SlotsWritten"), TEXT)["cards"][1]
    assert token_states(written) == [hit, hit, now, now[:2]]


def token_states(card):
    return [[token[1] for token in part["tokens"]] for part in card["blocks"]]


def test_tokens_are_large_in_a_small_pool_as_long_as_all_stay_in_sight():
    assert requests(moment_at(golden_trace("doc_example"), Cursor(3, 4)), TEXT)["roomy"]
    prompts = [(list(range(n, n + 40)), {}) for n in (0, 100)]
    many = run(prompts, num_blocks=16, block_size=8)
    first = moment_at(many, Cursor(0, 1))
    assert requests(first, TEXT)["roomy"], "40 tokens"
    wide = run([(list(range(70)), {})], num_blocks=16, block_size=8)
    assert not requests(moment_at(wide, Cursor(0, 1)), TEXT)["roomy"], "70 tokens"
    assert not requests(moment_at(run(prompts, num_blocks=64), Cursor(0, 1)), TEXT)["roomy"]


def test_the_queue_names_the_next_victim_and_what_is_forgotten_with_it():
    fresh = queue(doc_moment(0, 1), TEXT)
    assert fresh["victim"] == "Taken next: block 1, which holds nothing that could be hit."
    moment = at(6, "BlocksTaken")
    payload = queue(moment, TEXT)
    assert [node["block"] for node in payload["items"] if not node.get("ghost")] == [7, 6]
    assert payload["victim_block"] == 7
    assert payload["victim"].startswith("Taken next: block 7. With it goes hash ")
    assert payload["moves"] == ["8, 9, 10, 5, 4 left the head."]


def test_a_touched_block_leaves_the_queue_from_where_it_stood():
    assert queue(at(6, "BlocksTouched"), TEXT)["moves"] == [
        "1, 2, 3 left from where they stood (a hit)."
    ]


def test_what_later_versions_reuse_first_stands_and_joins_in_front():
    trace = load_lesson("14").traces["seven_later"]
    payload = queue(moment_at(trace, find_place(trace, "after first BlocksFreed about A")), TEXT)
    assert [node["block"] for node in payload["items"]] == [3, 4, 5, 6, 7, 2, 1]
    assert [node["block"] for node in payload["items"] if node.get("joined")] == [3, 2, 1]
    assert payload["victim_block"] == 3
    assert payload["moves"] == [
        "3 joined the head: without a hash, nobody can hit them.",
        "2, 1 joined the tail, in this order.",
    ]
    taken = queue(moment_at(trace, find_place(trace, "after first BlocksTaken about B")), TEXT)
    assert [node["block"] for node in taken["items"] if node.get("ghost")] == [3, 4, 5]


def test_sentences_name_vllms_functions():
    lines = narration(golden_trace("doc_example"), find(6, "BlocksTaken"), TEXT)
    line = lines["lines"][lines["current"]]
    assert line["text"] == (
        "request2 takes blocks 8, 9, 10, 5, 4 from the head of the free queue. "
        "Block 4 forgets what it held."
    )
    assert line["functions"] == ["BlockPool.get_new_blocks"]


def test_a_large_pool_is_one_byte_for_each_block_that_was_ever_used():
    trace = golden_trace("big_pool_131928")
    for moment in moments(trace, at_most=3):
        payload = pool(moment, TEXT)
        codes = base64.b64decode(payload["codes"])
        assert len(codes) == moment.state.next_unused
        assert sum(1 for code in codes if code & MAX_REF) == moment.state.num_used_blocks
        assert len(json.dumps(payload)) < 4_000


def test_a_position_counts_sub_steps_and_every_finished_step_has_an_end():
    trace = golden_trace("doc_example")
    payload = transport(trace, Cursor(1, 0), TEXT, can_go_on=False)
    assert payload["position"] == trace.num_sub_steps(0)
    assert payload["step"] == 0, "the start of a step is the end of the one before"
    assert len(payload["ends"]) == trace.num_steps
    assert payload["ends"][-1] == payload["last"] == trace.num_positions - 1


def test_a_cut_hit_is_marked_as_a_departure_from_vllm():
    trace = trace_with_cut_hits()
    lines = [
        line
        for step in range(trace.num_steps)
        for line in narration(trace, trace.after_update(step), TEXT)["lines"]
    ]
    cut = [line["text"] for line in lines if line.get("departs")]
    assert cut
    assert all("vLLM would use it." in sentence for sentence in cut)
