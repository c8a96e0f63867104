"""What the cache would give these tokens: the answer of the engine's own next lookup."""

import pytest

from engine.questions.lookup import look_up, query_of_request, would_hit
from engine.trace.events import BlocksTaken, HitCut
from engine.trace.header import TraceHeader
from engine.trace.state import Cursor
from engine.trace.trace import Trace
from tests.questions.builders import lookups, request, run
from tests.views.runs import NAMES, golden_trace, trace_with_cut_hits


@pytest.mark.parametrize("name", NAMES)
def test_right_before_each_lookup_it_gives_what_the_engine_then_found(name):
    trace = golden_trace(name)
    num_lookups = 0
    for cursor, event in lookups(trace):
        state = trace.at(cursor)
        asking = state.requests[event.request_id]
        if asking.added.skip_reading_prefix_cache:
            found = look_up(state, query_of_request(asking))
        else:
            found = would_hit(
                state,
                asking.token_ids,
                lora_name=asking.added.lora_name,
                cache_salt=asking.added.cache_salt,
            )
        assert found is not None
        assert found[:5] == (
            event.num_tokens,
            event.num_hit_tokens,
            event.hit_block_ids,
            event.stop_reason,
            event.missed_hash,
        )
        num_lookups += 1
    assert num_lookups


def test_a_hit_is_cut_before_a_block_that_nobody_computed_as_the_engine_cuts_it():
    trace, cuts = trace_with_cut_hits(), []
    for cursor, event in lookups(trace):
        state = trace.at(cursor)
        found = look_up(state, query_of_request(state.requests[event.request_id]))
        after = trace.events(cursor.step, cursor.sub_step + 1)[0]
        if isinstance(after, HitCut):
            cuts.append(after.block_id)
            assert found.cut_before_block == after.block_id
            assert found.num_hit_tokens == after.num_hit_tokens
        else:
            assert found.cut_before_block is None
            assert found.num_hit_tokens == event.num_hit_tokens
    assert set(cuts) == {15}


def test_it_says_what_the_rest_would_take_and_changes_nothing():
    trace = golden_trace("doc_example")
    state = trace.at(trace.after_update(5))
    before = state.snapshot()
    found = would_hit(state, [*range(1, 13), *range(401, 418)])
    assert found is not None
    assert found.hit_block_ids == ((1, 2, 3),)
    assert found.num_hit_tokens == 12
    assert found.num_new_blocks == 5
    assert found.num_queued_hits == 3
    assert found.num_blocks_needed == 8
    assert state.snapshot() == before
    taken = [e for e in trace.step_events(6) if isinstance(e, BlocksTaken)]
    assert len(taken[0].block_ids) == found.num_new_blocks


def test_a_salt_asks_another_cache():
    trace = run(request("a", range(8), cache_salt="x"))
    state = trace.at(trace.last)
    answers = [would_hit(state, [*range(8), 8], cache_salt=salt) for salt in (None, "x", "y")]
    assert [found and found.num_hit_tokens for found in answers] == [0, 8, 0]


def test_a_random_none_hash_must_have_been_written_down():
    trace = run(request("a", range(8)), hash_seed=None)
    state = trace.at(trace.last)
    assert would_hit(state, range(9)) is None
    wrong = would_hit(state, range(9), none_hash="00" * 32)
    assert wrong is not None
    assert wrong.num_hit_tokens == 0


def test_with_caching_off_nothing_is_asked():
    trace = run(request("a", range(8)), enable_prefix_caching=False)
    found = would_hit(trace.at(trace.last), range(9))
    assert found is not None
    assert (found.stop_reason, found.num_hit_tokens, found.num_new_blocks) == ("skipped", 0, 3)


def test_an_empty_run_can_be_asked():
    config = golden_trace("doc_example").header.config
    found = would_hit(Trace(TraceHeader(config=config)).at(Cursor(0, 0)), range(9))
    assert found is not None
    assert (found.stop_reason, found.num_new_blocks, found.num_free_blocks) == ("miss", 3, 10)
