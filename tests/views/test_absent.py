"""What is selected and has no block: the lens Block says when it gets one, or when it lost it."""

import pytest

from engine.trace.state import Cursor
from tests.views.page import payload, send
from tests.views.runs import golden_trace
from views.figures.block.absent import absent
from views.figures.selection import Selection, block_of
from views.text import Text

TEXT = Text("en")


def said(name, cursor, **chosen):
    trace = golden_trace(name)
    selection = Selection(**chosen)
    assert block_of(trace.at(cursor), selection) is None
    return absent(trace, cursor, selection, TEXT)


def test_a_token_that_is_not_written_yet_says_when_it_gets_its_block():
    found = said("doc_example", Cursor(0, 4), request_id="request0", token=17)
    assert found["hint"] == "Token 17 of request0 has no block yet: it gets one in step 2."
    assert found["there"]["word"] == "Go to step 2"
    trace = golden_trace("doc_example")
    there = trace.cursor_at(found["there"]["position"])
    assert there.step == 2
    assert block_of(trace.at(there), Selection(request_id="request0", token=17)) == 5


def test_a_request_that_is_to_come_says_when():
    found = said("doc_example", Cursor(0, 4), request_id="request1", token=3)
    assert found["hint"] == "request1 has not arrived yet: it comes in step 3."
    assert "there" not in said("doc_example", Cursor(3, 6), request_id="request1")


def test_a_hash_is_cached_later_or_was_forgotten():
    trace = golden_trace("doc_example")
    block_hash = trace.at(trace.last).requests["request0"].block_hashes[3]
    later = said("doc_example", Cursor(0, 4), block_hash=block_hash)
    assert later["hint"] == "Hash #1c194c is not cached yet: it enters the prefix cache in step 1."
    gone = said("doc_example", trace.last, block_hash=block_hash)
    assert gone["hint"] == "Hash #1c194c is not cached any more: it was forgotten in step 6."
    nobody = said("doc_example", trace.last, block_hash="00ff11")
    assert nobody == {"hint": "Hash #00ff11 has not been cached so far."}


def test_a_finished_request_gave_up_its_blocks():
    trace = golden_trace("doc_example")
    found = said("doc_example", trace.last, request_id="request0", token=2)
    assert found["hint"].startswith("Token 2 of request0 has no block any more: request0 gave up")


@pytest.mark.parametrize("selection", [Selection(), Selection(request_id="nobody")])
def test_without_a_selection_it_invites_to_click(selection):
    trace = golden_trace("doc_example")
    assert absent(trace, trace.last, selection, TEXT)["hint"].startswith("Click a block anywhere")


def test_the_lens_offers_the_way_there(app):
    app.query_params["step"], app.query_params["sub"] = "0", "4"
    app.query_params["request"], app.query_params["token"] = "request0", "17"
    app.query_params["lens"] = "block"
    page = payload(app.run(), "block")
    assert page["hint"] == "Token 17 of request0 has no block yet: it gets one in step 2."
    send(app, "chosen", page["there"]["position"])
    assert payload(app, "block")["title"] == "Block 5"
    assert payload(app, "transport")["step"] == 2
