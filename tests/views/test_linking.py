"""What a figure names, folds, and keeps in sight, so that one thing lights up everywhere."""

import base64
import json
import time

import pytest

from engine.trace.events import BlocksFreed, BlocksTouched, RequestAborted
from engine.trace.header import TraceHeader
from engine.trace.state import NULL_BLOCK_ID, Cursor
from engine.trace.trace import Trace
from engine.workload import ScriptedRun, parse_workload
from tests.views.runs import NAMES, golden_trace, moments
from views.figures.cache.pool import MAX_REF, UNWRITTEN, VALID, pool
from views.figures.cache.queue import queue
from views.figures.cache.request_tokens import token_spans
from views.figures.cache.requests import Looks, requests
from views.figures.cache.tables import tables
from views.figures.cache.tokens import pieces, pieces_between
from views.figures.moment import kept, moment_at
from views.text import Text

TEXT = Text("en")


def run(config, *added):
    """A scripted run to its end; each of `added` is (id, arrival step, prompt, number of outputs)."""
    described = [
        {
            "id": id_,
            "arrival_step": step,
            "prompt": prompt,
            "output": list(range(9000, 9000 + made)),
        }
        for id_, step, prompt, made in added
    ]
    config = {"max_model_len": 2048, **config}
    workload = parse_workload({"name": "test", "config": config, "requests": described})
    trace = Trace(TraceHeader(config=workload.config.to_mapping()))
    for _ in ScriptedRun(workload, emit=trace.append).run():
        pass
    return trace


def cursors(trace, kind):
    """After each sub-step with an event of this kind."""
    for step in range(trace.num_steps):
        for sub_step in range(trace.num_sub_steps(step)):
            if any(isinstance(event, kind) for event in trace.events(step, sub_step)):
                yield Cursor(step, sub_step + 1)


@pytest.mark.parametrize(
    ("wanted", "drawn"),
    [
        ((range(2), range(8, 10)), [range(2), range(8, 10)]),
        ((range(2), range(3, 5)), [range(5)]),
        ((range(1, 3),), [range(3)]),
        ((range(2), range(5, 9)), [range(2), range(5, 10)]),
        ((range(4, 6), range(-3, 2), range(4, 5)), [range(2), range(4, 6)]),
        ((range(-2, 30),), [range(10)]),
    ],
)
def test_a_fold_never_hides_a_single_item_of_ten(wanted, drawn):
    assert kept(10, *wanted) == drawn


def test_nothing_is_drawn_of_an_empty_list():
    assert kept(0, range(3), range(-2, 0)) == []


@pytest.mark.parametrize("name", NAMES)
def test_every_token_block_and_free_block_is_drawn_or_counted_in_a_fold(name):
    for moment in moments(golden_trace(name), at_most=12):
        for row in tables(moment, TEXT)["rows"]:
            request = moment.state.requests[row["request"]]
            for group, table in zip(row["groups"], request.block_tables, strict=True):
                sizes = [item.get("holes", item.get("hidden", 1)) for item in group["items"]]
                assert sum(sizes) == len(table)
        drawn = [item for item in queue(moment, TEXT)["items"] if not item.get("ghost")]
        ids = [item["block"] for item in drawn if "block" in item]
        assert ids == [id_ for id_ in moment.state.free_queue() if id_ in set(ids)]


@pytest.mark.parametrize("name", NAMES)
def test_every_block_that_leaves_the_queue_is_a_ghost_where_it_stood(name):
    trace = golden_trace(name)
    for cursor in list(cursors(trace, BlocksTouched))[:20]:
        moment = moment_at(trace, cursor)
        stood = list(moment.before.free_queue())
        shown = [item for item in queue(moment, TEXT)["items"] if "block" in item]
        joined = [item["block"] for item in shown if item.get("joined")]
        assert [item["block"] for item in shown] == [
            id_ for id_ in [*stood, *joined] if id_ in {item["block"] for item in shown}
        ]
        left = set(stood) - set(moment.state.free_queue())
        assert {item["block"] for item in shown if item.get("ghost")} <= left
        assert bool(left) == any(item.get("ghost") for item in shown)


def test_freed_blocks_join_at_the_tail_and_say_so():
    trace = golden_trace("doc_example")
    cursor = next(cursors(trace, BlocksFreed))
    items = queue(moment_at(trace, cursor), TEXT)["items"]
    assert [item["block"] for item in items if item.get("joined")] == [5, 4, 3]
    assert [item["block"] for item in items][-3:] == [5, 4, 3]


def test_a_touched_block_keeps_its_old_neighbours_for_one_sub_step():
    trace = golden_trace("doc_example")
    at = next(c for c in cursors(trace, BlocksTouched) if c.step == 6)
    items = queue(moment_at(trace, at), TEXT)["items"]
    shown = [(item["block"], item.get("ghost", False)) for item in items]
    assert shown[3:] == [
        *((5, False), (4, False), (3, True), (7, False), (6, False), (2, True), (1, True))
    ]
    after = queue(moment_at(trace, trace.next(at)), TEXT)["items"]
    assert 3 not in {item.get("block") for item in after}


def test_the_fold_of_the_queue_opens_around_a_lit_block():
    trace = golden_trace("big_pool_131928")
    moment = moment_at(trace, trace.last)
    folds = queue(moment, TEXT)["items"]
    assert len(folds) < 22
    items = queue(moment, TEXT, lit=(70_000,))["items"]
    blocks = [item.get("block") for item in items]
    at = blocks.index(70_000)
    assert blocks[at - 2 : at + 3] == [None, 69_999, 70_000, 70_001, None]


@pytest.mark.parametrize("num_prompt", [3, 4, 5, 400])
def test_what_happens_is_never_hidden_by_a_fold(num_prompt):
    config = {"block_size": 4, "num_blocks": 200, "max_num_batched_tokens": 32, "max_num_seqs": 4}
    trace = run(config, ("long", 0, list(range(1, num_prompt + 1)), 3))
    for position in range(trace.num_positions):
        moment = moment_at(trace, trace.cursor_at(position))
        for card in requests(moment, TEXT)["cards"]:
            spans = token_spans(moment.state, moment.state.requests["long"])
            drawn = {
                part["start"] + place: token[1]
                for part in card["blocks"]
                for place, token in enumerate(part.get("tokens", ()))
            }
            if spans[3] > spans[1]:
                assert drawn[spans[1]] == drawn[spans[3] - 1] != "computed"


def test_a_fold_says_what_it_hides_and_a_click_shows_it():
    config = {"block_size": 4, "num_blocks": 200, "max_num_batched_tokens": 512, "max_num_seqs": 4}
    trace = run(config, ("long", 0, list(range(1, 401)), 3))
    moment = moment_at(trace, trace.after_update(0))
    (card,) = requests(moment, TEXT)["cards"]
    (fold,) = [part["fold"] for part in card["blocks"] if "fold" in part]
    assert fold == "83 blocks folded: 332 computed in step 0"
    (whole,) = requests(moment, TEXT, looks=Looks(unfolded={"long"}))["cards"]
    assert sum(len(part["tokens"]) for part in whole["blocks"]) == 401
    assert whole["fold_again"] == "fold long parts"
    (lit,) = requests(moment, TEXT, looks=Looks(lit=(40,)))["cards"]
    assert 40 in [part.get("block") for part in lit["blocks"]]
    assert len([part for part in lit["blocks"] if "fold" in part]) == 2


def test_unfinished_requests_come_first_among_very_many():
    config = {"block_size": 4, "num_blocks": 200, "max_num_batched_tokens": 512, "max_num_seqs": 64}
    added = [(f"r{i}", 0, [i + 1, 2, 3], 1 if i < 20 else 9) for i in range(30)]
    trace = run(config, *added)
    cards = requests(moment_at(trace, trace.after_update(2)), TEXT)
    assert [card["id"] for card in cards["cards"][:10]] == [f"r{i}" for i in range(20, 30)]
    assert len(cards["cards"]) == 24
    assert cards["more"] == "and 6 more requests"


def test_between_two_steps_what_was_computed_is_of_the_step_that_is_over():
    config = {"block_size": 4, "num_blocks": 50, "max_num_batched_tokens": 8, "max_num_seqs": 4}
    trace = run(config, ("a", 0, list(range(1, 21)), 3))

    def said(cursor):
        cards = requests(moment_at(trace, cursor), TEXT)
        (fact,) = [words for kind, words in cards["cards"][0]["facts"] if kind == "now"]
        return fact, dict(cards["legend"])["now"]

    assert said(trace.after_schedule(1)) == ("this step 8", "computed in this step")
    assert said(trace.after_update(1)) == ("in step 1: 8", "computed in step 1")
    begun = Cursor(2, 1)  # step 2 has begun, and nobody is scheduled in it yet
    assert dict(requests(moment_at(trace, begun), TEXT)["legend"])["now"] == "computed in this step"


def test_a_card_says_what_is_left_to_compute_and_to_make():
    config = {"block_size": 4, "num_blocks": 50, "max_num_batched_tokens": 8, "max_num_seqs": 4}
    trace = run(config, ("a", 0, list(range(1, 21)), 3))
    (card,) = requests(moment_at(trace, trace.after_schedule(1)), TEXT)["cards"]
    words = [words for _, words in card["facts"]]
    assert words == ["prompt 20", "made 0 of 3", "hit 0", "this step 8", "to compute 4"]
    (done,) = requests(moment_at(trace, trace.last), TEXT)["cards"]
    assert done["word"] == "finished: length"
    assert "max_tokens" in done["why"]
    assert done["facts"][-1][1] == "ended in step 4"


@pytest.mark.parametrize("name", ["abort_mix", "fuzz_02", "fuzz_12"])
def test_a_card_names_the_step_in_whose_list_the_abort_stands(name):
    trace = golden_trace(name)
    named = 0
    for cursor in cursors(trace, RequestAborted):
        event = trace.events(cursor.step, cursor.sub_step - 1)[0]
        if isinstance(event, RequestAborted) and event.ok:
            cards = requests(moment_at(trace, cursor), TEXT)["cards"]
            card = next(card for card in cards if card["id"] == event.request_id)
            assert card["word"] == "aborted"
            assert card["facts"][-1][1] == f"ended in step {cursor.step}"
            named += 1
    assert named


def test_before_the_first_request_the_cards_say_when_it_arrives():
    config = {"block_size": 4, "num_blocks": 9, "max_num_batched_tokens": 8, "max_num_seqs": 4}
    trace = run(config, ("late", 2, [1, 2, 3], 1))
    says = [
        requests(moment_at(trace, cursor), TEXT)["empty"] for cursor in (Cursor(0, 0), Cursor(1, 1))
    ]
    assert says == ["No request yet: the first arrives in step 2."] * 2
    assert requests(moment_at(trace, trace.last), TEXT)["empty"] == ""
    nobody = Trace(trace.header)
    moment = moment_at(nobody, nobody.last)
    empty = requests(moment, TEXT, unfinished=())["empty"]
    assert empty == "No request yet. Add a prompt above, or start an example."
    assert requests(moment, TEXT)["empty"] == "No request yet.", "a recorded run takes no prompt"


@pytest.mark.parametrize("name", ["hybrid_full_sliding", "hybrid_block_sizes", "sliding_window"])
def test_holes_are_null_blocks_and_groups_have_names(name):
    trace = golden_trace(name)
    holes = 0
    for moment in moments(trace):
        for row in tables(moment, TEXT)["rows"]:
            names = [group["name"] for group in row["groups"]]
            assert len(set(names)) == len(moment.state.groups)
            cells = [item for group in row["groups"] for item in group["items"]]
            holes += sum(item.get("block") == NULL_BLOCK_ID for item in cells)
            assert all(c["state"] == "null" for c in cells if c.get("block") == NULL_BLOCK_ID)
    assert holes


def test_groups_of_different_block_size_say_it():
    trace = golden_trace("hybrid_block_sizes")
    row = tables(moment_at(trace, trace.after_update(2)), TEXT)["rows"][0]
    assert [group["name"] for group in row["groups"]] == [
        "full attention, blocks of 8",
        "sliding window 9, blocks of 4",
    ]


def test_a_byte_of_a_large_pool_holds_ref_count_and_hash():
    config = {"block_size": 4, "num_blocks": 1024, "max_num_batched_tokens": 64, "max_num_seqs": 8}
    trace = run(config, ("a", 0, list(range(1, 15)), 4), ("b", 1, list(range(1, 15)), 4))
    codes = base64.b64decode(pool(moment_at(trace, trace.after_schedule(0)), TEXT)["codes"])
    assert list(codes) == [0, 1 | UNWRITTEN, 1 | UNWRITTEN, 1 | UNWRITTEN, 1]
    codes = base64.b64decode(pool(moment_at(trace, trace.after_update(1)), TEXT)["codes"])
    assert [code & MAX_REF for code in codes] == [0, 2, 2, 2, 1, 1]
    assert codes[1] == 2 | VALID


def test_a_pool_of_131928_blocks_costs_little():
    trace = golden_trace("big_pool_131928")
    moment = moment_at(trace, trace.last)
    took = []
    for _ in range(5):
        start = time.perf_counter()
        payload = pool(moment, TEXT)
        took.append(time.perf_counter() - start)
    assert min(took) < 0.005
    assert len(json.dumps(payload)) < 4_000


@pytest.mark.parametrize("text", ["a吾b👨‍👩‍👧c", "你好，世界", "🇯🇵👍🏽", "plain"])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_window_of_a_text_is_drawn_as_the_whole_text_is(text, size):
    raw = text.encode() + b"\xff\x80\x80\x80\x80\x80" + text.encode()
    cut = [raw[start : start + size] for start in range(0, len(raw), size)]
    cut.insert(3, b"")
    whole = pieces(tuple(cut))
    for start in range(len(cut)):
        for stop in range(start, len(cut) + 1):
            assert pieces_between(cut, start, stop) == whole[start:stop]
