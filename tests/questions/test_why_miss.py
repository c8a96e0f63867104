"""Why a lookup ended where it did, a short story for each reason."""

import pytest

from engine.questions.miss import why_miss
from engine.questions.reasons import (
    Diverges,
    Evicted,
    FullHit,
    GroupsDisagree,
    LastBlockDropped,
    LastTokenKept,
    NoSharedPrefix,
    NotCachedYet,
    NotComputed,
    NothingCached,
    OtherKeys,
    OtherParent,
    PartialBlock,
    Parting,
    ReadingSkipped,
    Reset,
    ShorterThanBlock,
    WindowGap,
)
from engine.trace.events import BlocksTaken, CacheReset, HitCut
from tests.questions.builders import lookups, request, run, verdict
from tests.views.runs import golden_trace, trace_with_cut_hits

DOC = range(50, 62)  # three blocks
EARLY = request("early", range(1, 16))


def reasons(trace, request_id):
    return verdict(trace, request_id).reasons


def test_the_first_request_finds_an_empty_cache():
    assert reasons(run(EARLY), "early") == (NothingCached(0),)


def test_not_even_the_first_token_is_shared():
    trace = run(EARLY, request("late", [99, *range(2, 16)], step=1))
    found = verdict(trace, "late")
    assert found.reasons == (NoSharedPrefix(1),)
    assert found.num_same_words == 2, "blocks 5 to 12 hold the same words behind another start"


def test_a_prompt_shorter_than_a_block_has_no_hash():
    trace = run(EARLY, request("late", [1, 2, 3], step=1))
    assert reasons(trace, "late") == (ShorterThanBlock(3, 4),)


def test_two_prompts_part_at_a_token_and_both_tokens_are_named():
    trace = golden_trace("doc_example")
    parting = Parting("request0", 10, 201, 11)
    assert reasons(trace, "request1") == (Diverges(parting, 2, 1, 2),)
    assert verdict(trace, "request1").found.num_hit_tokens == 8


def test_a_block_was_evicted_and_the_place_where_that_happened_is_named():
    trace = run(
        request("first", range(8)),
        request("greedy", range(100, 120), step=3),
        request("again", range(9), step=7),
        num_blocks=7,
    )
    (reason,) = reasons(trace, "again")
    assert isinstance(reason, Evicted)
    assert (reason.by_request_id, reason.cached_step, reason.step) == ("greedy", 0, 4)
    right_after = trace.cursor_at(reason.position)
    taken = trace.events(right_after.step, right_after.sub_step - 1)[0]
    assert isinstance(taken, BlocksTaken)
    assert reason.block_id in taken.evicted_block_ids
    assert reason.block_hash in taken.evicted_hashes


def test_the_whole_cache_was_forgotten():
    trace = run(
        EARLY, request("late", range(1, 16), step=4), ops=[{"step": 3, "op": "reset_prefix_cache"}]
    )
    (reason,) = reasons(trace, "late")
    assert isinstance(reason, Reset)
    assert (reason.step, reason.block_index) == (3, 0)
    right_after = trace.cursor_at(reason.position)
    assert isinstance(trace.events(right_after.step, right_after.sub_step - 1)[0], CacheReset)


@pytest.mark.parametrize(("num_tokens", "hit"), [(4, 0), (8, 4), (12, 8)])
def test_a_prompt_of_whole_blocks_computes_its_last_block_again(num_tokens, hit):
    trace = run(request("one", range(num_tokens)), request("two", range(num_tokens), step=3))
    found = verdict(trace, "two")
    assert found.found.num_hit_tokens == hit
    assert found.reasons == (LastTokenKept(num_tokens // 4, hit // 4, 4),)


def test_a_last_block_that_nobody_cached_is_not_blamed_on_the_last_token():
    trace = run(EARLY, request("late", [1, 2, 3, 4, 5, 6, 7, 99], step=1))
    assert reasons(trace, "late") == (Diverges(Parting("early", 7, 99, 8), 1, 1, 0),)


def test_the_same_tokens_with_another_salt_are_another_prefix():
    trace = run(EARLY, request("late", range(1, 16), step=1, cache_salt="s"))
    assert reasons(trace, "late") == (OtherKeys("early", 15, None, None, "s", None),)


def test_the_same_tokens_with_another_adapter_are_another_prefix():
    trace = run(
        {**EARLY, "lora": "fr"}, request("late", range(1, 16), step=1, lora="de"), max_loras=2
    )
    assert reasons(trace, "late") == (OtherKeys("early", 15, "de", "fr", None, None),)


def test_an_empty_salt_is_no_salt():
    trace = run(EARLY, request("late", range(1, 16), step=1, cache_salt=""))
    assert verdict(trace, "late").found.num_hit_tokens == 12


def test_a_request_that_does_not_read_and_a_cache_that_is_off_are_told_apart():
    late = request("late", range(1, 16), step=1)
    skips = run(EARLY, {**late, "skip_reading_prefix_cache": True})
    assert reasons(skips, "late") == (ReadingSkipped(False),)
    off = run(EARLY, late, enable_prefix_caching=False)
    assert reasons(off, "late") == (ReadingSkipped(True),)


def test_eagle_drops_the_last_block_and_what_stopped_behind_it_is_said_too():
    trace = golden_trace("eagle")
    assert reasons(trace, "b") == (
        LastBlockDropped(3, 2, 1),
        Diverges(Parting("a", 13, 501, 1001), 3, 1, 1),
    )


def test_the_same_words_behind_another_start_are_another_block():
    trace = run(request("early", [9, 9, 9, 9, *DOC]), request("late", [*DOC, 1], step=1))
    (reason,) = reasons(trace, "late")
    assert reason == OtherParent(Parting("early", 0, 50, 9), 0, "early", 1, 2)
    assert verdict(trace, "late").num_same_words == 3


def test_a_time_stamp_in_front_costs_every_block_behind_it():
    early, late = [7, 7, 7, 1, *DOC], [7, 7, 7, 2, *DOC]
    found = verdict(run(request("early", early), request("late", late, step=1)), "late")
    assert found.reasons == (Diverges(Parting("early", 3, 2, 1), 0, 4, 0),)
    assert found.num_same_words == 3


def test_a_shared_end_that_fills_no_block_is_computed_again():
    trace = run(EARLY, request("late", range(1, 15), step=1))
    assert reasons(trace, "late") == (PartialBlock(Parting("early", 14, None, 15), 3, 2, 4, True),)


def test_the_other_s_last_block_was_never_full():
    trace = run(request("early", range(1, 7), output=[7]), request("late", range(1, 16), step=2))
    assert reasons(trace, "late") == (PartialBlock(Parting("early", 7, 8, None), 1, 3, 4, False),)


def test_the_last_sampled_token_is_never_computed_so_its_block_is_never_cached():
    trace = run(request("early", range(1, 8), output=[8]), request("late", range(1, 16), step=2))
    assert reasons(trace, "late") == (NotCachedYet("early", 1, "never"),)


def test_chunked_prefill_has_cached_only_as_far_as_its_chunks_got():
    trace = run(
        request("early", range(30)),
        request("late", range(31), step=1),
        max_num_batched_tokens=12,
    )
    found = why_miss(trace, trace.after_update(1), "late")
    assert found is not None
    assert found.is_forecast
    assert found.reasons == (NotCachedYet("early", 6, "prefill"),)


def test_in_the_same_step_a_block_hits_before_it_is_computed():
    trace = run(EARLY, request("late", range(1, 14)))
    assert verdict(trace, "late").found.num_hit_tokens == 12
    assert reasons(trace, "late") == (PartialBlock(Parting("early", 13, None, 14), 3, 1, 4, True),)


def test_two_who_wait_with_the_same_prompt_have_nothing_to_give_yet():
    holder = request("holder", range(200, 220), output=[1] * 6)
    twins = [request(name, range(1, 16), step=1) for name in ("one", "two")]
    trace = run(holder, *twins, num_blocks=7)
    found = why_miss(trace, trace.after_update(1), "two")
    assert found is not None
    assert found.is_forecast
    assert found.reasons == (NotCachedYet("one", 0, "waiting"),)


def test_who_waits_behind_it_is_no_reason():
    """first and second share a start; at first's lookup nobody but `other` had run."""
    trace = run(
        request("other", range(200, 215)),
        request("first", [*range(1, 13), 40]),
        request("second", [*range(1, 13), 41]),
    )
    assert reasons(trace, "first") == (NoSharedPrefix(1),)
    assert verdict(trace, "second").found.num_hit_tokens == 12


def test_an_adapter_counts_before_somebody_who_waits_as_well():
    trace = golden_trace("lora_keys")
    assert reasons(trace, "b1") == (OtherKeys("a1", 13, "de", "fr", None, None),)
    b2_waits = why_miss(trace, trace.after_update(0), "b2")
    assert b2_waits is not None
    assert b2_waits.reasons == (
        OtherKeys("a1", 13, "de", "fr", None, None),
        NotCachedYet("b1", 0, "waiting"),
    )


def test_an_adapter_that_has_cached_nothing_yet_is_no_reason_either():
    """Nobody but `holder` has run: `two` with an adapter waits first, then plain, then one."""
    holder = request("holder", range(200, 220), output=[1] * 6)
    plain, one = request("plain", range(1, 16), step=1), request("one", range(1, 16), step=1)
    two = request("two", range(1, 16), step=1, lora="fr")
    trace = run(holder, two, plain, one, num_blocks=7, max_loras=1)
    found = why_miss(trace, trace.after_update(1), "one")
    assert found is not None
    assert found.reasons == (NotCachedYet("plain", 0, "waiting"),)


def test_whoever_is_preempted_misses_the_block_that_was_not_full():
    trace = golden_trace("eagle_preempt_chunked")
    assert NotCachedYet("b", 4, "preempted") in reasons(trace, "b")


def test_a_full_hit_leaves_no_reason_to_complain():
    trace = run(request("early", range(8)), request("late", [*range(8), 60, 61], step=3))
    found = verdict(trace, "late")
    assert found.found.num_hit_tokens == 8
    assert found.reasons == (FullHit(2),)


def test_several_groups_had_to_agree_and_the_one_that_held_back_is_named():
    trace = golden_trace("fuzz_15")
    found = [
        verdict
        for cursor, event in lookups(trace)
        if (verdict := why_miss(trace, cursor, event.request_id))
        and isinstance(verdict.reason, GroupsDisagree)
    ]
    assert found
    for miss in found:
        reason = miss.reason
        assert isinstance(reason, GroupsDisagree)
        assert max(reason.num_hit_tokens) > miss.found.num_hit_tokens
        assert miss.found.num_hit_tokens % reason.alignment == 0
    assert any(isinstance(miss.reasons[-1], Evicted) for miss in found)


def test_a_window_needs_its_blocks_in_a_row():
    """early: [. . 3 4 5] at its end. Its blocks 2 and 1 left the window first and went to other."""
    trace = run(
        request("early", range(1, 17), output=[17, 18, 19, 20]),
        request("other", range(100, 115), step=4),
        request("late", [*range(1, 13), 98, 99], step=8),
        kv_groups=[{"type": "sliding", "window": 9}],
        num_blocks=8,
    )
    gap, missing = reasons(trace, "late")
    assert gap == WindowGap(0, 2, 1, 1)
    assert isinstance(missing, Evicted)
    assert (missing.block_id, missing.block_index, missing.by_request_id) == (2, 1, "other")


def test_a_block_that_nobody_computed_ends_the_hit():
    trace = trace_with_cut_hits()
    cut = next(
        (cursor, event)
        for cursor, event in lookups(trace)
        if isinstance(trace.events(cursor.step, cursor.sub_step + 1)[0], HitCut)
    )
    found = why_miss(trace, cut[0], cut[1].request_id)
    assert found is not None
    assert found.reasons == (NotComputed(15, 12),)
