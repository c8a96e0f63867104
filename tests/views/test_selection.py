import pytest

from tests.views.runs import doc_moment
from views.figures.selection import NOTHING, Selection, block_of, lit, spotlight


@pytest.mark.parametrize(
    "sent",
    [
        {"block": 5},
        {"hash": "ab"},
        {"request": "r0"},
        {"request": "r0", "token": 3},
        {},
    ],
)
def test_a_selection_comes_back_from_the_browser_as_it_was_sent(sent):
    assert Selection.from_browser(sent).named() == sent


@pytest.mark.parametrize("sent", [None, 7, {"block": -1}, {"block": "x"}, {"block": True}, []])
def test_what_names_nothing_selects_nothing(sent):
    assert Selection.from_browser(sent) == NOTHING


def test_an_address_names_a_block_by_its_digits():
    assert Selection.from_browser({"block": "12"}) == Selection(block_id=12)


def test_a_shared_block_lights_both_holders_its_hash_and_the_tokens_in_it():
    state = doc_moment(3, 6).state  # request1 was admitted with two hits
    found = spotlight(state, Selection(block_id=2))
    assert found.blocks == (2,)
    assert found.hashes == (state.blocks[2].block_hash,)
    assert found.requests == ("request0", "request1")
    assert found.tokens == (("request0", 4, 8), ("request1", 4, 8))


def test_a_token_lights_the_block_that_holds_its_k_and_v_and_the_hash_that_covers_it():
    state = doc_moment(3, 6).state
    found = spotlight(state, Selection(request_id="request1", token=9))
    assert found.blocks == (6,)
    assert found.hashes == (state.requests["request1"].block_hashes[2],)
    assert found.tokens == (("request1", 9, 10),)


def test_a_hash_lights_its_blocks_and_every_request_whose_chain_has_it():
    state = doc_moment(3, 6).state
    block_hash = state.blocks[1].block_hash
    found = spotlight(state, Selection(block_hash=block_hash))
    assert found.blocks == (1,)
    assert found.requests == ("request0", "request1")
    assert found.tokens == (("request0", 0, 4), ("request1", 0, 4))


def test_a_request_lights_its_table_and_its_chain():
    state = doc_moment(3, 6).state
    found = spotlight(state, Selection(request_id="request1"))
    assert found.blocks == (1, 2, 6, 7)
    assert found.hashes == tuple(state.requests["request1"].block_hashes)


@pytest.mark.parametrize(
    "gone",
    [
        Selection(block_id=10**9),
        Selection(block_hash="00"),
        Selection(request_id="nobody"),
        Selection(request_id="nobody", token=1),
        NOTHING,
    ],
)
def test_what_is_not_there_lights_nothing(gone):
    found = lit(doc_moment(3, 6).state, gone)
    assert {name: found[name] for name in ("blocks", "requests", "tokens")} == {
        "blocks": [],
        "requests": [],
        "tokens": [],
    }


def test_the_block_page_of_a_token_or_hash_is_that_of_the_block_that_holds_it():
    state = doc_moment(3, 6).state
    assert block_of(state, Selection(request_id="request1", token=9)) == 6
    assert block_of(state, Selection(block_hash=state.blocks[2].block_hash)) == 2
    assert block_of(state, Selection(block_id=8)) == 8
    assert block_of(state, Selection(request_id="request1")) is None
    assert block_of(state, Selection(block_hash="00")) is None
