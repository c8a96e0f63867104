"""The same requests in each allocator: who runs, who waits, what is wasted, and what always holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.contiguous import (
    GrowingAllocator,
    Life,
    PagedAllocator,
    Region,
    ReservedAllocator,
    Usage,
)
from engine.core.contiguous_replay import Next, Replay
from tests.core.builders import build_life as life
from tests.core.builders import tokens_held

# The known example ------------------------------------------------------------------------------


def test_three_rows_of_2048_waste_74_percent_and_pages_of_16_a_quarter_percent():
    lives = [life(name, n, most=2048) for name, n in (("a", 320), ("b", 96), ("c", 1180))]
    reserved = Replay(ReservedAllocator(6144), lives).run(1).frames[0].usage
    assert (reserved.used, reserved.held) == (1596, 6144)
    assert round(100 * reserved.internal / reserved.taken, 1) == 74.0
    paging = PagedAllocator(6144, 16)
    paged = Replay(paging, lives).run(1).frames[0].usage
    assert [len(table) for table in paging.block_tables.values()] == [20, 6, 74]
    assert (paged.internal, paged.held, paged.internal / paged.taken) == (4, 1600, 0.0025)


# Replay -----------------------------------------------------------------------------------------


def test_a_request_that_waits_is_not_shortened():
    lives = [life("a", 2, 3), life("b", 1, 2, 3)]
    frames = Replay(ReservedAllocator(8), lives).run(100).frames
    assert [frame.running for frame in frames] == [*([("a",)] * 2), *([("b",)] * 3), ()]
    assert [frame.waiting for frame in frames[:3]] == [("b",), ("b",), ()]
    assert [frame.usage.used for frame in frames] == [2, 3, 1, 2, 3, 0]


def test_the_same_requests_are_all_live_at_once_where_memory_is_paged():
    lives = [life(name, 2, 3) for name in "abcd"]
    most = {
        type(allocator).__name__: max(
            len(f.running) for f in Replay(allocator, lives).run(99).frames
        )
        for allocator in (ReservedAllocator(16), GrowingAllocator(16), PagedAllocator(16, 4))
    }
    assert most == {"ReservedAllocator": 2, "GrowingAllocator": 4, "PagedAllocator": 4}


def test_first_come_first_served_nobody_overtakes_the_head_of_the_line():
    lives = [life("a", 3, 3), life("b", 6), life("c", 1)]
    frames = Replay(PagedAllocator(8, 1), lives).run(100).frames
    assert [frame.running for frame in frames] == [("a",), ("a",), ("b", "c"), ()]
    assert frames[0].next == Next("b", 1)


def test_the_last_placed_gives_way_and_comes_back_with_all_its_tokens_at_once():
    lives = [life("a", 2, 3, 4), life("b", 2, 3)]
    replay = Replay(PagedAllocator(5, 1), lives).run(100)
    assert [frame.running for frame in replay.frames] == [
        *(("a", "b"), ("a",), ("a",), ("b",), ()),
    ]
    assert replay.frames[1].waiting == ("b",)
    assert [frame.usage.used for frame in replay.frames] == [4, 3, 4, 3, 0]
    assert replay.frames[-1].num_preemptions == 1


def test_the_next_who_asks_is_the_head_of_the_line_or_who_comes_next():
    lives = [life("a", 2), life("b", 3, arrival=2)]
    frames = Replay(GrowingAllocator(4), lives).run(100).frames
    assert [frame.next for frame in frames] == [Next("b", 3), Next("b", 3), None, None]
    assert frames[0].usage == Usage(used=2, internal=0, external=2, free=0)


def test_a_request_that_can_never_fit_is_left_out_and_nobody_waits_for_it():
    replay = Replay(ReservedAllocator(8), [life("a", 1, most=9), life("b", 1)]).run(100)
    assert replay.refused == ("a",)
    assert [frame.running for frame in replay.frames] == [("b",), ()]
    assert Replay(PagedAllocator(11, 4), [life("a", 9)]).refused == ("a",)


def test_a_request_without_an_end_keeps_what_it_holds_and_the_replay_ends():
    lives = [life("a", 6, 7, is_finished=False), life("b", 3)]
    frames = Replay(GrowingAllocator(8), lives).run(100).frames
    assert frames[-1].running == ("a",)
    assert frames[-1].waiting == ("b",)
    assert len(frames) == 3


def test_without_requests_there_is_one_step_in_which_all_is_free():
    frames = Replay(GrowingAllocator(8), []).run(100).frames
    assert [(frame.running, frame.usage.free) for frame in frames] == [((), 8)]


# What always holds ------------------------------------------------------------------------------

MAKERS = (
    ReservedAllocator,
    GrowingAllocator,
    lambda capacity: PagedAllocator(capacity, 1),
    lambda capacity: PagedAllocator(capacity, 4),
    lambda capacity: PagedAllocator(capacity, 7),
)


@st.composite
def lives_of_requests(draw):
    found = []
    for number in range(draw(st.integers(1, 8))):
        steps = draw(st.lists(st.integers(0, 5), max_size=6))
        lengths = [draw(st.integers(1, 12))]
        for more in steps:
            lengths.append(lengths[-1] + more)
        most = lengths[-1] + draw(st.integers(0, 9))
        arrival, is_finished = draw(st.integers(0, 12)), draw(st.booleans())
        found.append(Life(f"r{number}", arrival, tuple(lengths), most, is_finished))
    return found


def check(replay: Replay, lives: dict[str, Life], picture: dict[int, Region]) -> None:
    allocator, frame = replay.allocator, replay.frames[-1]
    for start, region in frame.changed.items():
        picture.pop(start, None) if region is None else picture.update({start: region})
    assert picture == allocator.regions
    ordered = sorted(allocator.regions.values())
    ends = [0, *(region.stop for region in ordered)]
    assert all(region.start >= end for region, end in zip(ordered, ends))
    assert ends[-1] <= allocator.capacity
    usage = frame.usage
    assert min(usage) >= 0
    assert sum(usage) == allocator.capacity
    assert usage.used == sum(region.num_tokens for region in ordered)
    assert usage.held == sum(region.size for region in ordered)
    assert set(tokens_held(allocator)) == set(frame.running)
    assert all(
        num_tokens in lives[id_].lengths for id_, num_tokens in tokens_held(allocator).items()
    )
    if isinstance(allocator, PagedAllocator):
        assert usage.internal <= (allocator.block_size - 1) * len(frame.running)
        assert usage.external == allocator.capacity % allocator.block_size
    if isinstance(allocator, GrowingAllocator):
        assert usage.internal == 0


@pytest.mark.parametrize("make", MAKERS)
@given(lives=lives_of_requests(), capacity=st.integers(1, 40))
def test_regions_never_overlap_and_every_slot_is_counted_once(make, lives, capacity):
    by_id, picture = {life.request_id: life for life in lives}, {}
    replay = Replay(make(capacity), lives)
    while not replay.is_over:
        replay.step()
        assert len(replay.frames) < 2_000, "the replay does not end"
        check(replay, by_id, picture)


@pytest.mark.parametrize("make", MAKERS)
@given(lives=lives_of_requests(), capacity=st.integers(1, 40))
def test_every_request_that_fits_is_served_to_its_end(make, lives, capacity):
    lives = [life._replace(is_finished=True) for life in lives]
    replay = Replay(make(capacity), lives).run(2_000)
    frames = replay.frames
    served = {id_ for frame in frames for id_ in frame.running}
    assert served | set(replay.refused) == {life.request_id for life in lives}
    assert not frames or not (frames[-1].running or frames[-1].waiting)
    assert not replay.allocator.regions
