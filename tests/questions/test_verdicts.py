"""Verdicts on the lookups of all recorded runs, and that nothing younger leaks into them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.questions.lookup import Query, query_of_tokens
from engine.questions.miss import why_miss, why_would_miss
from engine.questions.reasons import (
    Diverges,
    FullHit,
    GroupsDisagree,
    LastBlockDropped,
    OtherParent,
    PartialBlock,
    Parting,
    ShorterThanBlock,
)
from engine.trace.codec import encode_trace, read_trace
from engine.trace.events import PrefixLookedUp, RequestAdmitted, StepScheduled
from engine.trace.state import Cursor
from tests.questions.builders import lookups, request, run, sub_steps
from tests.views.runs import NAMES, golden_trace

FULL, SLIDING = {"type": "full"}, {"type": "sliding", "window": 4}
GROUPS = ([FULL, FULL, SLIDING], [FULL, SLIDING], [SLIDING, SLIDING, FULL])


@pytest.mark.parametrize("name", NAMES)
def test_every_lookup_of_a_recorded_run_is_explained_as_it_happened(name):
    trace = golden_trace(name)
    for cursor, event in lookups(trace):
        found = why_miss(trace, cursor, event.request_id)
        assert found is not None
        assert found.found.num_hit_tokens == event.num_hit_tokens
        assert found.reasons
        if isinstance(found.reason, FullHit):
            assert event.num_tokens - event.num_hit_tokens == found.reason.num_rest_tokens
        for reason in found.reasons:
            if isinstance(reason, Diverges | OtherParent | PartialBlock) and reason.parting:
                assert_shared(trace.at(cursor), event.request_id, reason.parting)


@pytest.mark.parametrize("name", NAMES)
def test_the_event_of_a_lookup_and_its_verdict_name_the_same_kind_of_reason(name):
    """Another group is named where one alone would hit more, a plain miss where none would."""
    assert_same_reasons(golden_trace(name))


@given(
    st.lists(st.lists(st.integers(1, 2), min_size=2, max_size=14), min_size=2, max_size=7),
    st.integers(5, 7),
    st.sampled_from(GROUPS),
)
@settings(max_examples=60, deadline=None)
def test_so_they_do_where_one_of_several_groups_has_lost_a_block(prompts, num_each, groups):
    requests = [request(f"r{i}", prompt, step=3 * i) for i, prompt in enumerate(prompts)]
    num_blocks = num_each * len(groups)
    trace = run(*requests, kv_groups=groups, num_blocks=num_blocks, block_size=2)
    assert_same_reasons(trace)


def assert_same_reasons(trace):
    for cursor, event in lookups(trace):
        reason = why_miss(trace, cursor, event.request_id).reason
        if isinstance(reason, GroupsDisagree):
            assert event.stop_reason == "groups"
        elif isinstance(reason, LastBlockDropped):
            assert event.stop_reason == "eagle"
        else:
            assert event.stop_reason != "groups" or len(trace.at(cursor).groups) == 1
            assert event.stop_reason != "eagle"
        next_block = event.num_hit_tokens // trace.at(cursor).block_size
        if event.stop_reason == "miss":
            hashes = trace.at(cursor).requests[event.request_id].block_hashes
            assert event.missed_hash == hashes[next_block]


def assert_shared(state, request_id, parting):
    own, other = state.requests[request_id].token_ids, state.requests[parting.request_id].token_ids
    at = parting.num_shared_tokens
    assert own[:at] == other[:at]
    assert parting.token_id == (own[at] if at < len(own) else None)
    assert parting.other_token_id == (other[at] if at < len(other) else None)
    both_end = at == len(own) == len(other)
    assert both_end or parting.token_id != parting.other_token_id


@pytest.mark.parametrize("name", ["fuzz_00", "fuzz_33", "multi_turn_chat", "reset_cache"])
def test_nothing_after_the_lookup_changes_its_verdict(name):
    """The same question to a trace that ends right before the lookup."""
    whole = golden_trace(name)
    for cursor, event in list(lookups(whole))[::7]:
        cut = type(whole)(whole.header)
        cut.extend(whole.events_before(cursor))
        assert why_miss(cut, cut.last, event.request_id) == why_miss(
            whole, cursor, event.request_id
        )


def test_a_request_does_not_hit_the_blocks_of_its_own_admission():
    """At sub-step 6 request2 still waits, and its own seven blocks are cached already."""
    trace = golden_trace("doc_example")
    for sub_step in range(3, 9):
        found = why_miss(trace, Cursor(6, sub_step), "request2")
        assert found is not None
        assert (found.found.num_hit_tokens, found.found.num_tokens) == (12, 29)
        assert not found.is_forecast


@pytest.mark.parametrize("name", NAMES)
def test_between_its_lookup_and_its_admission_the_verdict_is_that_of_the_lookup(name):
    trace = golden_trace(name)
    asked = None
    for cursor, happened in sub_steps(trace):
        if isinstance(happened[0], PrefixLookedUp):
            asked = why_miss(trace, cursor, happened[0].request_id)
            position = trace.position(cursor)
        elif asked is not None and asked.request_id is not None:
            found = why_miss(trace, cursor, asked.request_id)
            assert found is not None
            assert (found.position, found.found, found.reasons) == (
                position,
                asked.found,
                asked.reasons,
            )
            if isinstance(happened[0], RequestAdmitted | StepScheduled):
                asked = None


def test_an_admitted_request_keeps_its_verdict_while_the_run_goes_on():
    trace = golden_trace("doc_example")
    first = why_miss(trace, trace.after_update(3), "request1")
    assert first == why_miss(trace, trace.last, "request1")
    assert first is not None
    assert not first.is_forecast


def test_a_trace_that_grows_is_asked_again():
    whole = golden_trace("doc_example")
    grown = type(whole)(whole.header)
    events = whole.events_from(0)
    grown.extend(events[:40])
    assert why_miss(grown, grown.last, "request2") is None
    grown.extend(events[40:])
    assert why_miss(grown, grown.last, "request2") == why_miss(whole, whole.last, "request2")


def test_who_is_unknown_or_left_before_a_lookup_gets_no_verdict():
    early = request("early", range(1, 16), output=[1] * 9)
    trace = run(early, request("gone", range(5), step=1, abort_step=3), max_num_seqs=1)
    assert why_miss(trace, trace.last, "nobody") is None
    assert why_miss(trace, trace.last, "gone") is None


def test_typed_tokens_are_judged_like_a_request():
    trace = golden_trace("doc_example")
    query = query_of_tokens(trace.at(trace.last), [*range(1, 11), 77, 78])
    assert query is not None
    found = why_would_miss(trace, trace.last, query)
    assert found.is_forecast
    assert found.request_id is None
    assert found.reasons == (Diverges(Parting("request0", 10, 77, 11), 2, 1, 0),)
    too_short = why_would_miss(trace, trace.last, Query([1], []))
    assert too_short.reasons == (ShorterThanBlock(1, 4),)


def test_a_file_answers_as_the_run_did():
    trace = golden_trace("lru_eviction")
    read = read_trace(encode_trace(trace)).trace
    assert read is not None
    for cursor, event in lookups(trace):
        place = Cursor(*cursor)
        assert why_miss(read, place, event.request_id) == why_miss(trace, place, event.request_id)
