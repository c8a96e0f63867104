"""The allocators before paging, and paging beside them: literal stories."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.contiguous import (
    GrowingAllocator,
    PagedAllocator,
    Region,
    ReservedAllocator,
    Usage,
)
from engine.errors import ConfigError
from tests.core.builders import build_life as life
from tests.core.builders import tokens_held


def layout(allocator):
    """One letter a slot: capital where it holds a token, small where it is held and empty."""
    row = ["."] * allocator.capacity
    for region in allocator.regions.values():
        for place in range(region.start, region.stop):
            assert row[place] == ".", "two regions overlap"
            is_used = place < region.start + region.num_tokens
            row[place] = region.request_id.upper() if is_used else region.request_id
    return "".join(row)


# Reserved ---------------------------------------------------------------------------------------


def test_a_reservation_holds_what_it_could_become_and_is_mostly_empty():
    allocator = ReservedAllocator(20)
    assert allocator.place(life("a", 3, 4), 3)
    assert allocator.place(life("b", 1, 2), 1)
    assert layout(allocator) == "AAAaaaaaBbbbbbbb...."
    assert allocator.usage(8) == Usage(used=4, internal=12, external=4, free=0)


def test_growing_within_a_reservation_takes_nothing_from_anybody():
    allocator = ReservedAllocator(8)
    allocator.place(life("a", 3, 8), 3)
    assert allocator.grow("a", 8)
    assert layout(allocator) == "AAAAAAAA"


def test_a_reservation_goes_to_the_first_hole_that_fits():
    allocator = ReservedAllocator(16)
    for name, most in (("a", 4), ("b", 2), ("c", 6)):
        allocator.place(life(name, 1, most=most), 1)
    allocator.free("a")
    assert not allocator.place(life("d", 1, most=5), 1)
    assert allocator.place(life("e", 1, most=3), 1)
    assert layout(allocator) == "Eee.BbCccccc...."


def test_two_holes_that_would_do_together_do_not_do_apart():
    allocator = ReservedAllocator(12)
    for name in "abc":
        allocator.place(life(name, 1, most=4), 1)
    allocator.free("a")
    allocator.free("c")
    assert allocator.num_free == 8
    assert not allocator.place(life("d", 1, most=8), 1)
    assert allocator.usage(8).external == 8
    assert allocator.usage(4).external == 0


# Growing ----------------------------------------------------------------------------------------


def test_it_grows_where_it_stands_while_nobody_stands_behind():
    allocator = GrowingAllocator(10)
    allocator.place(life("a", 3), 3)
    assert allocator.grow("a", 5)
    assert (layout(allocator), allocator.num_tokens_copied) == ("AAAAA.....", 0)


def test_whoever_is_in_the_way_makes_it_move_with_all_its_tokens():
    allocator = GrowingAllocator(10)
    allocator.place(life("a", 3), 3)
    allocator.place(life("b", 2), 2)
    assert allocator.grow("a", 4)
    assert (layout(allocator), allocator.num_tokens_copied) == ("...BBAAAA.", 3)


def test_the_hole_in_front_of_a_region_and_its_own_place_are_one_hole():
    allocator = GrowingAllocator(8)
    for name, size in (("a", 2), ("b", 4), ("c", 2)):
        allocator.place(life(name, size), size)
    allocator.free("a")
    assert allocator.grow("b", 6)
    assert (layout(allocator), allocator.num_tokens_copied) == ("BBBBBBCC", 4)


def test_where_only_all_holes_together_do_everybody_is_pushed_to_the_front():
    allocator = GrowingAllocator(10)
    for name, size in (("a", 2), ("b", 3), ("c", 2), ("d", 3)):
        allocator.place(life(name, size), size)
    allocator.free("a")
    allocator.free("c")
    assert layout(allocator) == "..BBB..DDD"
    assert allocator.place(life("e", 4), 4)
    assert layout(allocator) == "BBBDDDEEEE"
    assert (allocator.num_compactions, allocator.num_tokens_copied) == (1, 6)


def test_what_grows_stands_last_after_a_compaction():
    allocator = GrowingAllocator(12)
    for name, size in (("a", 2), ("b", 3), ("c", 2), ("d", 3)):
        allocator.place(life(name, size), size)
    allocator.free("a")
    assert allocator.grow("b", 7)
    assert layout(allocator) == "CCDDDBBBBBBB"
    assert (allocator.num_compactions, allocator.num_tokens_copied) == (1, 8)


def test_where_too_few_slots_are_free_nothing_changes():
    allocator = GrowingAllocator(6)
    allocator.place(life("a", 3), 3)
    allocator.place(life("b", 2), 2)
    allocator.take_changes()
    assert not allocator.grow("a", 5)
    assert not allocator.place(life("c", 2), 2)
    assert (layout(allocator), allocator.take_changes()) == ("AAABB.", {})


# Paged ------------------------------------------------------------------------------------------


def test_only_a_last_block_has_empty_slots():
    allocator = PagedAllocator(12, 4)
    allocator.place(life("a", 5), 5)
    allocator.place(life("b", 4), 4)
    assert layout(allocator) == "AAAAAaaaBBBB"
    assert allocator.usage(None) == Usage(used=9, internal=3, external=0, free=0)


def test_blocks_of_a_request_stand_wherever_there_is_room():
    allocator = PagedAllocator(16, 4)
    allocator.place(life("a", 4), 4)
    allocator.place(life("b", 4), 4)
    assert allocator.grow("a", 9)
    allocator.free("b")
    allocator.place(life("c", 2), 2)
    assert layout(allocator) == "AAAACCccAAAAAaaa"
    assert allocator.block_tables == {"a": [0, 2, 3], "c": [1]}


def test_two_free_blocks_do_together_what_they_cannot_do_apart():
    allocator = PagedAllocator(12, 4)
    for name in "abc":
        allocator.place(life(name, 4), 4)
    allocator.free("a")
    allocator.free("c")
    assert allocator.place(life("d", 8), 8)
    assert layout(allocator) == "DDDDBBBBDDDD"


def test_blocks_come_back_tail_first_behind_those_that_nobody_used():
    allocator = PagedAllocator(16, 4)
    allocator.place(life("a", 12), 12)
    allocator.free("a")
    allocator.place(life("b", 16), 16)
    assert allocator.block_tables["b"] == [3, 2, 1, 0]


def test_slots_that_make_no_whole_block_serve_nobody():
    assert PagedAllocator(10, 4).usage(4) == Usage(used=0, internal=0, external=2, free=8)


@pytest.mark.parametrize(
    ("num_tokens", "num_blocks"), [(0, 0), (1, 1), (3, 1), (4, 1), (5, 2), (8, 2), (9, 3)]
)
def test_a_block_is_taken_when_the_one_before_is_full(num_tokens, num_blocks):
    allocator = PagedAllocator(12, 4)
    assert allocator.place(life("a", 9), num_tokens)
    assert len(allocator.block_tables["a"]) == num_blocks


def test_without_enough_blocks_nothing_changes():
    allocator = PagedAllocator(8, 4)
    allocator.place(life("a", 4), 4)
    allocator.take_changes()
    assert not allocator.place(life("b", 5), 5)
    assert not allocator.grow("a", 9)
    assert (allocator.take_changes(), list(allocator.block_tables)) == ({}, ["a"])


@pytest.mark.parametrize("make", [lambda: ReservedAllocator(0), lambda: PagedAllocator(8, 0)])
def test_a_memory_without_slots_is_refused(make):
    with pytest.raises(ConfigError, match="from 1 up"):
        make()


# What always holds ------------------------------------------------------------------------------


@given(
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=8),
    leave=st.sets(st.integers(0, 7)),
)
def test_a_compaction_loses_no_token_and_leaves_one_hole(sizes, leave):
    allocator = GrowingAllocator(60)
    for number, size in enumerate(sizes):
        allocator.place(life(f"r{number}", size), size)
    for number in leave & set(range(len(sizes))):
        allocator.free(f"r{number}")
    before = tokens_held(allocator)
    order = [region.request_id for region in sorted(allocator.regions.values())]
    moved = sum(r.num_tokens for r in allocator.regions.values() if has_hole_before(allocator, r))
    allocator.compact()
    assert tokens_held(allocator) == before
    assert [region.request_id for region in sorted(allocator.regions.values())] == order
    assert list(allocator.holes()) == [(sum(before.values()), 60 - sum(before.values()))]
    assert allocator.num_tokens_copied == moved


def has_hole_before(allocator: GrowingAllocator, region: Region) -> bool:
    return any(start < region.start for start, _ in allocator.holes())
