"""The numbers in a block: drawn slot by slot, as long as they are those of the moment."""

import base64
import math
from array import array

import pytest

from engine.config import EngineConfig, SamplingParams
from engine.trace.state import Cursor
from engine.trace.trace import Trace
from tests.runner.builders import build_loaded, build_stock, random_prompt
from tests.views.runs import golden_trace
from tests.views.test_block_page import find
from views.figures.block.kv import Cache, Place, Sight, kv, sight
from views.text import Text

TEXT = Text("en")


def values(picture):
    found = array("f")
    found.frombytes(base64.b64decode(picture["values"]))
    width = picture["columns"]
    return [list(found[row * width : (row + 1) * width]) for row in range(picture["rows"])]


def test_only_written_slots_are_drawn_and_the_ends_of_the_scale_are_theirs():
    keys = [[1.0, -2.0], [0.5, 99.0], [0.0, 0.0], [0.0, 0.0]]
    payload = kv(
        Sight(num_slots=1),
        TEXT,
        cache=Cache((0, 1), 3),
        place=Place(1, 2),
        numbers=(keys, keys),
    )
    picture = payload["pictures"][0]
    drawn = values(picture)
    assert drawn[0] == [1.0, -2.0]
    assert all(math.isnan(value) for row in drawn[1:] for value in row)
    assert (picture["lowest"], picture["highest"], picture["full"]) == (-2.0, 1.0, 2.0)
    assert payload["choosers"] == [["layer", "layer", [0, 1], 1], ["head", "KV head", [0, 1, 2], 2]]
    assert payload["hint"].startswith("1 slot is written")


def test_a_few_large_numbers_do_not_pale_the_rest():
    keys = [[0.1] * 99 + [50.0]]
    picture = kv(Sight(num_slots=1), TEXT, cache=Cache((0,), 1), numbers=(keys, keys))["pictures"][
        0
    ]
    assert picture["highest"] == 50.0
    assert picture["full"] == pytest.approx(0.1)


def test_what_cannot_be_drawn_says_why():
    cache = Cache((0,), 1)
    assert kv(Sight(), TEXT, cache=cache)["why_not"].startswith("Not computed")
    assert kv(Sight(num_slots=4), TEXT)["why_not"].startswith("Not in this file")
    assert kv(Sight(num_slots=4), TEXT, ran_model=False)["why_not"] == (
        "Not computed: the tokens of this run are scripted, no model ran."
    )
    gone = Sight(num_slots=4, overwritten_at=Cursor(6, 3))
    assert kv(gone, TEXT, cache=cache)["why_not"].startswith("Overwritten at step 6")


def test_block_4_is_overwritten_by_its_next_taker_and_block_5_is_not_by_its_next_token():
    trace = golden_trace("doc_example")
    assert sight(trace, trace.after_update(3), 4).overwritten_at.step == 6
    assert sight(trace, trace.after_update(2), 5).overwritten_at.step == 6
    assert sight(trace, trace.last, 4).is_intact
    assert sight(trace, find(0, "BlocksTaken"), 1) == Sight()


def test_slots_that_the_same_request_fills_later_are_left_out_and_their_step_is_named():
    """Block 7 has m and n of request1 in step 3, o in step 4 and p in step 5."""
    trace, numbers = golden_trace("doc_example"), [[1.0]] * 4
    seen = sight(trace, trace.after_update(3), 7)
    assert (seen.num_slots, seen.appended_at.step, seen.overwritten_at) == (2, 4, None)
    payload = kv(seen, TEXT, cache=Cache((0,), 1), numbers=(numbers, numbers))
    drawn = values(payload["pictures"][0])
    assert drawn[:2] == [[1.0], [1.0]]
    assert all(math.isnan(value) for row in drawn[2:] for value in row)
    assert payload["hint"] == (
        "2 slots are written; rows are slots, columns the dimensions of the head. "
        "From slot 2 on nothing is drawn: it was written later, at step 4."
    )
    full = sight(trace, trace.after_update(5), 7)
    assert full == Sight(num_slots=4, appended_at=None)


def test_a_block_that_was_forgotten_and_taken_by_another_is_overwritten_when_that_one_is_computed():
    """request2 takes block 4 of request0 in step 6; until the model has run its numbers lie there."""
    trace, cache = golden_trace("doc_example"), Cache((0,), 1)
    before = sight(trace, trace.after_update(5), 4)
    assert (before.num_slots, before.overwritten_at.step) == (4, 6)
    assert kv(before, TEXT, cache=cache)["why_not"] == (
        "Overwritten at step 6: the cache tensor holds other numbers now."
    )
    assert kv(before, TEXT, cache=cache)["pictures"] == []
    half = sight(trace, trace.after_update(0), 4)
    assert (half.num_slots, half.overwritten_at.step, half.appended_at) == (3, 6, None)
    taken = Trace(trace.header)
    taken.extend(trace.events_before(find(6, "BlocksTaken")))
    assert sight(taken, taken.last, 4) == Sight(), "request2 has nothing in it yet"
    assert sight(taken, trace.after_update(5), 4).is_intact, "nothing was written over it so far"


def test_where_a_block_was_never_used_there_is_nothing_to_see():
    trace = golden_trace("doc_example")
    assert sight(trace, Cursor(0, 0), 9) == Sight()


def test_a_layer_of_another_group_gives_way_to_the_nearest():
    cache = Cache(layers=(1, 3, 5), num_kv_heads=2)
    assert cache.nearest(Place(0, 7)) == Place(1, 1)
    assert cache.nearest(Place(5, 0)) == Place(5, 0)
    assert Place.from_browser({"layer": 3, "head": 1}) == Place(3, 1)
    for nonsense in (None, 7, {}, {"layer": -1, "head": "x"}, {"layer": True, "head": 1.5}):
        assert Place.from_browser(nonsense) == Place(0, 0)


def test_what_is_said_to_be_intact_is_in_the_cache_tensor_as_it_was():
    """Two requests in a pool so small that one is preempted and blocks change hands."""
    source = live_source()
    known = {}
    while source.has_unfinished_requests:
        source.step()
        for block_id, entry in source.trace.at(source.trace.last).blocks.items():
            if entry.num_written_slots:
                known[source.trace.last, block_id] = source.peek_kv(block_id, 1, 0)
    num_intact, num_changed = 0, 0
    for (cursor, block_id), then in known.items():
        seen, now = sight(source.trace, cursor, block_id), source.peek_kv(block_id, 1, 0)
        is_same = all(
            before[: seen.num_slots] == after[: seen.num_slots]
            for before, after in zip(then, now, strict=True)
        )
        assert is_same or not seen.is_intact, (cursor, block_id)
        num_intact += seen.is_intact
        num_changed += not is_same
    assert source.trace.at(source.trace.last).num_preemptions
    assert num_intact > 10
    assert num_changed > 10


def live_source():
    live = pytest.importorskip("engine.sources.live")
    config = EngineConfig(block_size=4, num_blocks=9, max_num_batched_tokens=32, max_model_len=32)
    source = live.LiveSource(build_loaded(build_stock()), config)
    for seed in (1, 2):
        prompt = random_prompt(9, seed=seed)
        source.add_request(prompt, sampling=SamplingParams(max_tokens=14, ignore_eos=True))
    return source
