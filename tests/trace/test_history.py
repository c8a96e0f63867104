"""A history tells block by block what the pictures show moment by moment."""

import gc
import weakref

import pytest

from engine.trace.block_log import BLOCK_STATES, BlockLog
from engine.trace.events import BlocksTaken, CacheReset, RequestFinished, RequestPreempted
from engine.trace.history import History, history_of
from engine.trace.trace import Trace
from tests.views.runs import NAMES, golden_trace
from views.figures.moment import block_state


def told(trace, block_id):
    """(step, kind, request id) of everything that happened to the block."""
    history = history_of(trace)
    return [
        (history.cursor_at(done.position).step, done.kind, getattr(done.event, "request_id", None))
        for done in history.occurrences(block_id)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_at_every_position_spans_and_pictures_show_each_block_in_the_same_state(name):
    trace = golden_trace(name)
    history = history_of(trace)
    spans = {id_: history.spans(id_) for id_ in range(1, history.blocks.num_used_blocks + 1)}
    assert history.last_position == trace.num_positions - 1
    for position in range(0, trace.num_positions, max(1, trace.num_positions // 400)):
        state = trace.at(trace.cursor_at(position))
        picture = history.blocks.at(position)
        assert len(picture.codes) == state.next_unused
        for block_id, block_spans in spans.items():
            passed = [span.state for span in block_spans if span.position <= position]
            expected = block_state(state, block_id)
            assert (passed[-1] if passed else "unused") == expected, (position, block_id)
            if block_id < len(picture.codes):
                assert BLOCK_STATES[picture.codes[block_id]] == expected
                taker = history.request_ids[picture.takers[block_id]]
                assert taker == state.blocks[block_id].request_id


@pytest.mark.parametrize("name", NAMES)
def test_a_lane_follows_the_status_of_its_request(name):
    trace = golden_trace(name)
    history = history_of(trace)
    for position in range(0, trace.num_positions, max(1, trace.num_positions // 100)):
        state = trace.at(trace.cursor_at(position))
        for request_id, request in state.requests.items():
            passed = [span for span in history.lanes[request_id] if span.position <= position]
            assert passed[-1].state == request.status, (position, request_id)


@pytest.mark.parametrize("name", ["doc_example", "fuzz_00", "priority_unschedule"])
def test_taken_in_piece_by_piece_it_is_the_same_history(name):
    trace = golden_trace(name)
    whole, grown = history_of(trace), History(trace.header.config)
    for place in range(trace.num_events):
        grown.extend(trace.events_from(place)[:1])
    assert grown.lanes == whole.lanes
    assert grown.evictions == whole.evictions
    assert grown.blocks.positions == whole.blocks.positions
    for block_id in range(1, whole.blocks.num_used_blocks + 1):
        assert grown.occurrences(block_id) == whole.occurrences(block_id)


def test_block_4_of_the_documentation_s_example_is_filled_hashed_left_and_taken_again():
    assert told(golden_trace("doc_example"), 4) == [
        (0, "taken", "request0"),
        (1, "cached", "request0"),
        (1, "filled", None),
        (4, "freed", "request0"),
        (6, "taken", "request2"),
        (7, "freed", "request2"),
    ]


def test_a_cursor_put_where_something_happened_shows_it_and_one_before_does_not():
    trace = golden_trace("doc_example")
    for block_id in range(1, 11):
        for done in history_of(trace).occurrences(block_id):
            here = trace.cursor_at(done.position)
            assert done.event in trace.events(here.step, here.sub_step - 1)


def test_a_freed_block_says_what_its_request_was_doing():
    history = history_of(golden_trace("preempt_resume_hit"))
    openers = {
        type(done.opener)
        for block_id in range(1, history.blocks.num_used_blocks + 1)
        for done in history.occurrences(block_id)
        if done.kind == "freed"
    }
    assert openers == {RequestFinished, RequestPreempted}


def test_a_hit_is_a_reference_more_and_the_second_holder_makes_a_block_shared():
    touched = [
        (done.event.request_id, done.ref_cnt, done.state)
        for done in history_of(golden_trace("doc_example")).occurrences(1)
        if done.kind == "touched"
    ]
    assert touched == [("request1", 2, "shared"), ("request2", 1, "used")]


def test_an_eviction_is_written_down_where_a_cached_block_is_taken():
    trace = golden_trace("doc_example")
    positions, block_ids = history_of(trace).evictions
    assert list(block_ids) == [4]
    cursor = trace.cursor_at(positions[0])
    (event,) = trace.events(cursor.step, cursor.sub_step - 1)
    assert isinstance(event, BlocksTaken)
    assert event.evicted_block_ids == (4,)


def test_a_hole_and_a_reset_are_part_of_a_life():
    kinds = {kind for _, kind, _ in told(golden_trace("sliding_window"), 1)}
    assert "hole" in kinds
    trace = golden_trace("reset_cache")
    granted = [e for e in trace.events_from(0) if isinstance(e, CacheReset) and e.ok]
    history = history_of(trace)
    resets = {
        done.position
        for block_id in range(1, history.blocks.num_used_blocks + 1)
        for done in history.occurrences(block_id)
        if done.kind == "reset"
    }
    assert granted
    assert 1 <= len(resets) <= len(granted)


def test_what_is_appended_behind_written_slots_overwrites_nothing():
    """Block 5 of the example gets Q in step 2 and R in step 3; block 4 is taken again in step 6."""
    trace = golden_trace("doc_example")
    history = history_of(trace)
    after_q, before = (trace.position(trace.after_update(step)) for step in (2, 5))
    assert trace.at(trace.after_update(2)).blocks[5].num_written_slots == 1
    assert trace.at(trace.after_update(3)).blocks[5].num_written_slots == 2
    five = history.overwritten_at(5, after_q, 1)
    assert history.cursor_at(five).step == 6, "by request2, not by R"
    four = history.overwritten_at(4, before, 4)
    assert history.cursor_at(four).step == 6
    assert history.overwritten_at(4, trace.num_positions - 1, 4) is None
    assert history.overwritten_at(9, 0, 0) is None


@pytest.mark.parametrize("name", ["ngram_spec", "fuzz_00", "fuzz_33", "hybrid_three_groups"])
def test_slots_that_count_as_written_stay_until_the_place_where_they_are_said_to_go(name):
    """The reducer's own count: it falls, or the taker changes, only once slots were overwritten,
    taken back (wrong drafts) or given to somebody else who has not written yet."""
    trace = golden_trace(name)
    history = history_of(trace)
    for position in range(0, trace.num_positions, max(1, trace.num_positions // 40)):
        state = trace.at(trace.cursor_at(position))
        for block_id, block in state.blocks.items():
            over = history.overwritten_at(block_id, position, block.num_written_slots)
            if over is None:
                continue
            writer = trace.cursor_at(over)
            (event,) = trace.events(writer.step, writer.sub_step - 1)
            assert event.num_tokens == sum(
                row.num_scheduled_tokens for row in trace.at(writer).scheduled.values()
            )
            later = trace.at(writer).blocks[block_id]
            assert any(
                block_id in table
                for request_id in trace.at(writer).scheduled
                for table in trace.at(writer).requests[request_id].block_tables
            )
            assert later.num_written_slots >= 1


def test_a_large_pool_costs_what_was_used_of_it():
    history = history_of(golden_trace("big_pool_131928"))
    assert history.blocks.num_used_blocks < 100
    assert len(history.blocks.now.codes) == history.blocks.num_used_blocks + 1


def test_pictures_far_apart_are_found_from_the_frame_before_them():
    log, expected = BlockLog(), {}
    for position in range(1, 30_000):
        block_id, code = position % 37 + 1, position % 5
        log.note(position, block_id, code=code, taker=position)
        expected[block_id] = (code, position)
        if position in (4_095, 4_096, 4_097, 20_000):
            picture = log.at(position)
            assert {id_: (picture.codes[id_], picture.takers[id_]) for id_ in expected} == expected
    assert log.at(0).codes == bytearray(1)
    assert log.at(40).codes == log.at(40).codes[:38]


def test_a_history_goes_when_its_trace_goes():
    trace = Trace(golden_trace("doc_example").header)
    trace.extend(golden_trace("doc_example").events_from(0))
    known = weakref.ref(history_of(trace))
    assert history_of(trace) is known()
    del trace
    gc.collect()
    assert known() is None
