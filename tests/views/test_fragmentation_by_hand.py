"""Three requests in sixteen slots, worked out with pencil and paper."""

import pytest

from tests.views.test_fragmentation import GROWING, PAGED, RESERVED, lengths_of, picture

# A has 3, 4, 5 tokens, B has 2, 3, and C comes a step later with 6, 7.
THREE = lengths_of(("A", 0, (3, 4, 5)), ("B", 0, (2, 3)), ("C", 1, (6, 7)), capacity=16, most=8)


def series(one, name):
    return one["usage"][name]


def test_reserved_two_halves_are_held_from_the_first_step_and_c_waits_for_one():
    one = picture(THREE, block_size=4)["allocators"][RESERVED]
    assert series(one, "used") == [3 + 2, 4 + 3, 5 + 6, 7, 0]
    assert series(one, "internal") == [16 - 5, 16 - 7, 16 - 11, 8 - 7, 0]
    assert one["internal"] == [68.75, 56.25, 31.25, 12.5, None]
    assert one["waiting"] == [[], [2], [], [], []]
    assert one["total"][1] == "46.4% wasted over all steps"  # (11 + 9 + 5 + 1) of (16 x 3 + 8)


def test_grown_nothing_is_empty_but_tokens_are_copied():
    """A (3 tokens) moves behind B, B (2) to the front, then A (4) in front of C."""
    one = picture(THREE, block_size=4)["allocators"][GROWING]
    assert series(one, "used") == [5, 4 + 3 + 6, 5 + 7, 0]
    assert series(one, "internal") == [0, 0, 0, 0]
    assert one["copied"] == [0, 3 + 2, 3 + 2 + 4, 9]


@pytest.mark.parametrize(
    ("block_size", "held"),
    [
        (1, [5, 13, 12, 0]),  # the least: a token a block
        (4, [4 + 4, 4 + 4 + 8, 8 + 8, 0]),
        (16, [16] * 7 + [0]),  # the most: one block is the whole memory, so one at a time
    ],
)
def test_paged_a_request_wastes_less_than_a_block(block_size, held):
    one = picture(THREE, block_size=block_size)["allocators"][PAGED]
    used = [3, 4, 5, 2, 3, 6, 7, 0] if block_size == 16 else [5, 13, 12, 0]
    assert series(one, "used") == used
    assert series(one, "internal") == [slots - tokens for slots, tokens in zip(held, used)]
    assert not any(series(one, "external"))


def test_a_gap_that_is_too_short_for_who_waits_is_external_waste():
    """Ten slots: two regions of four, and two slots that C cannot have in one piece of four."""
    lengths = lengths_of(("A", 0, (1, 1)), ("B", 0, (4,)), ("C", 0, (2,)), capacity=10, most=4)
    one = picture(lengths, block_size=4)["allocators"][RESERVED]
    assert [series(one, name)[0] for name in ("used", "internal", "external", "free")] == [
        5,
        3,
        2,
        0,
    ]
    assert (one["internal"][0], one["external"][0]) == (30.0, 20.0)
    assert [series(one, name)[1] for name in ("used", "internal", "external", "free")] == [
        3,
        5,
        0,
        2,
    ]


def test_slots_that_make_no_block_are_lost_to_everybody():
    lengths = lengths_of(("A", 0, (1,)), capacity=10, most=4)
    one = picture(lengths, block_size=4)["allocators"][PAGED]
    assert [series(one, name)[0] for name in ("used", "internal", "external", "free")] == [
        1,
        3,
        2,
        4,
    ]
