"""How many of the blocks that missed hold words that are known from behind another start."""

import pytest

from engine.questions.miss import Miss, why_miss
from engine.questions.reasons import Diverges, NoSharedPrefix, OtherParent
from engine.trace.events import BlocksCached
from engine.trace.state import NULL_BLOCK_ID, Cursor
from engine.trace.trace import Trace
from tests.questions.builders import lookups, request, run, sub_steps, verdict
from tests.views.runs import NAMES, golden_trace

EAGLE = {"method": "eagle", "num_speculative_tokens": 2}


def test_with_eagle_the_own_chain_is_no_other_start():
    """Block 2 of `a` matches and is dropped: it stands behind the very same tokens."""
    early = request("a", range(1, 16))
    late = request("b", [*range(1, 13), *range(70, 75)], step=2)
    found = verdict(run(early, late, block_size=4, spec=EAGLE), "b")
    assert found.found.num_hit_tokens == 8
    assert found.num_same_words == 0


def test_another_salt_alone_is_no_other_start():
    early = request("a", range(1, 16))
    salted = request("salted", range(1, 13), step=1, cache_salt="s")
    late = request("b", [*range(1, 13), *range(70, 75)], step=2, cache_salt="s")
    found = verdict(run(early, salted, late, spec=EAGLE), "b")
    assert found.num_same_words == 0


def test_the_same_words_behind_another_start_count_with_eagle_too():
    early = request("a", [1, 2, 3, 4, *range(50, 62)])
    late = request("b", [9, 9, 9, 9, *range(50, 62), 70], step=2)
    found = verdict(run(early, late, spec=EAGLE), "b")
    assert found.num_same_words == 3


@pytest.mark.parametrize("name", NAMES)
def test_every_lookup_counts_the_blocks_whose_tokens_were_cached_behind_other_tokens(name):
    trace = golden_trace(name)
    cached = list(cached_texts(trace))
    for cursor, event in lookups(trace):
        miss = why_miss(trace, cursor, event.request_id)
        assert miss is not None
        if isinstance(miss.reasons[-1], Diverges | NoSharedPrefix | OtherParent):
            assert miss.num_same_words == counted_by_hand(trace, cursor, miss, cached)


def cached_texts(trace: Trace) -> list[tuple[Cursor, list[int], list[int]]]:
    """When a block of group 0 was cached, with the tokens in front of it and those in it."""
    texts = []
    for cursor, happened in sub_steps(trace):
        for event in happened:
            if not isinstance(event, BlocksCached) or event.group_id != 0:
                continue
            size = len(event.token_ids) // len(event.block_ids)
            tokens = trace.at(trace.next(cursor)).requests[event.request_id].token_ids
            for place, block_id in enumerate(event.block_ids):
                start = (event.first_logical_index + place) * size
                if block_id != NULL_BLOCK_ID:
                    texts.append((cursor, tokens[:start], tokens[start : start + size]))
    return texts


def counted_by_hand(trace: Trace, cursor: Cursor, miss: Miss, cached: list) -> int:
    state = trace.at(cursor)
    tokens, size = state.requests[miss.request_id].token_ids, state.group_block_sizes[0]
    first = miss.found.num_hit_tokens // size * size
    return sum(
        any(
            when < cursor and block == tokens[start : start + size] and front != tokens[:start]
            for when, front, block in cached
        )
        for start in range(first, len(tokens) - size + 1, size)
    )
