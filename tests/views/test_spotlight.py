"""On every recorded workload: what lights up is there, and lights up the other way round as well."""

import json

import pytest

from tests.views.runs import NAMES, golden_trace, moments
from views.figures.prompt import prompt_tokens
from views.figures.selection import Selection, lit, spotlight
from views.text import Text

TEXT = Text("en")
MAX_TOKENS = 12  # of a request that are asked about


def some(items, at_most):
    return list(items)[:: max(1, len(items) // at_most)]


def every_selection(state):
    unused = {0, state.next_unused, state.num_blocks - 1}
    yield from (Selection(block_id=id_) for id_ in {*state.blocks, *unused})
    hashes = {block.block_hash for block in state.blocks.values() if block.block_hash}
    hashes.update(hash_ for request in state.requests.values() for hash_ in request.block_hashes)
    yield from (Selection(block_hash=hash_) for hash_ in some(sorted(hashes), 60))
    for request_id, request in state.requests.items():
        yield Selection(request_id=request_id)
        for token in {*some(range(request.num_tokens), MAX_TOKENS), request.num_tokens}:
            yield Selection(request_id=request_id, token=token)


def assert_exists(state, found):
    assert all(0 <= id_ < state.num_blocks for id_ in found.blocks)
    assert set(found.requests) <= set(state.requests)
    in_chains = {hash_ for each in state.requests.values() for hash_ in each.block_hashes}
    in_blocks = {block.block_hash for block in state.blocks.values()}
    assert set(found.hashes) <= in_chains | in_blocks
    for request_id, start, stop in found.tokens:
        assert 0 <= start < stop <= state.requests[request_id].num_tokens


def names(found, request_id, token):
    return any(id_ == request_id and start <= token < stop for id_, start, stop in found.tokens)


def assert_symmetric(state, chosen, found):
    if chosen.kind == "token" and found.tokens:
        for other in [
            *(Selection(block_id=id_) for id_ in found.blocks),
            *(Selection(block_hash=hash_) for hash_ in found.hashes),
        ]:
            assert names(spotlight(state, other), chosen.request_id, chosen.token), other
    if chosen.kind == "block":
        for block_hash in found.hashes:
            assert chosen.block_id in spotlight(state, Selection(block_hash=block_hash)).blocks
        for request_id in found.requests:
            of_request = spotlight(state, Selection(request_id=request_id))
            assert chosen.block_id in of_request.blocks
            assert set(found.hashes) <= set(of_request.hashes)
        for request_id, start, _ in found.tokens:
            of_token = spotlight(state, Selection(request_id=request_id, token=start))
            assert chosen.block_id in of_token.blocks
    if chosen.kind == "hash":
        for request_id, start, stop in found.tokens:
            for token in (start, stop - 1):
                of_token = spotlight(state, Selection(request_id=request_id, token=token))
                assert set(of_token.hashes) & {chosen.block_hash} or is_of_a_larger_block(
                    state, chosen.block_hash
                )


def is_of_a_larger_block(state, block_hash):
    """No single hash of a chain: a token names it only while its own block has it."""
    return all(block_hash not in each.block_hashes for each in state.requests.values())


@pytest.mark.parametrize("name", NAMES)
def test_what_lights_up_exists_and_lights_up_the_other_way_round(name):
    trace, num_lit = golden_trace(name), 0
    for moment in moments(trace, at_most=7):
        state = moment.state
        for chosen in every_selection(state):
            found = spotlight(state, chosen)
            assert_exists(state, found)
            assert_symmetric(state, chosen, found)
            num_lit += len(found.tokens)
        for chosen in some(list(every_selection(state)), 20):
            assert json.dumps(lit(state, chosen))
    assert num_lit


@pytest.mark.parametrize("name", NAMES)
def test_the_prompt_form_draws_every_prompt_and_cuts_it_where_blocks_end(name):
    state = golden_trace(name).at(golden_trace(name).last)
    for request in state.requests.values():
        ids = request.added.prompt_token_ids
        form = prompt_tokens(
            ids, request.added.prompt_token_bytes, TEXT, block_size=state.block_size
        )
        assert json.dumps(form)
        assert form["count"].startswith(f"{len(ids)} token")
        places = [piece for piece in form["pieces"] if "id" in piece]
        drawn = ids if len(ids) <= 84 else (*ids[:72], *ids[-12:])
        assert [piece["id"] for piece in places] == list(drawn)
        cuts = [at for at, piece in enumerate(form["pieces"]) if piece.get("end")]
        ends = [piece["i"] for piece in places if piece["i"] and piece["i"] % state.block_size == 0]
        assert [form["pieces"][at + 1]["i"] for at in cuts] == ends
