"""The blocks of a batch: coloured as in the pool at the same moment, and counted where shared."""

from engine.trace.state import Cursor
from tests.views.runs import golden_trace
from tests.views.test_batch import BLOCK, REF, STATE, TEXT, given_up, large, rows_of
from views.figures.batch.batch import batch
from views.figures.selection import Selection


def test_a_shared_block_says_how_many_share_it():
    """Step 3: request1 reads blocks 1 and 2, which request0 holds too."""
    trace = golden_trace("doc_example")
    picture = batch(trace, Cursor(3, 13), TEXT, selection=Selection(request_id="request1"))
    strip = [(entry["block"], entry["ref"]) for entry in picture["reads"]["blocks"]]
    assert strip == [(1, 2), (2, 2), (6, 0), (7, 0)]
    assert {(row[BLOCK], row[REF]) for _, row in rows_of(picture)} == {(5, 0), (6, 0), (7, 0)}


def test_a_block_of_the_batch_is_what_the_pool_says_at_the_same_moment():
    """Step 4: request0 makes its last token, and what it shared is request1's alone then."""
    trace = golden_trace("doc_example")
    before, after = (
        batch(trace, Cursor(4, sub_step), TEXT)
        for sub_step in (trace.after_schedule(4).sub_step, 9)
    )
    strips = [
        [(entry["block"], entry["state"], entry["ref"]) for entry in picture["reads"]["blocks"]]
        for picture in (before, after)
    ]
    kept = [(3, "used", 0), (4, "used", 0), (5, "used", 0)]
    assert strips[0] == [(1, "shared", 2), (2, "shared", 2), *kept]
    gone = [(3, "remembered", 0), (4, "remembered", 0), (5, "free", 0)]
    assert strips[1] == [(1, "used", 0), (2, "used", 0), *gone]
    (_, row), *_ = rows_of(after)
    assert (row[BLOCK], row[STATE]) == (5, "free")
    assert after["note"] == given_up("request0")


def test_many_who_gave_up_their_blocks_are_counted():
    trace, _ = large(256, 20)
    picture = batch(trace, trace.last, TEXT)
    assert picture["note"].startswith(
        "Since the model ran, 256 requests have given up their blocks"
    )
