"""What a visitor had goes once nobody can come back to it."""

import gc
import weakref

import pytest

from views.leaving import Belongings, give_back


class Tensors:
    """Something large."""


@pytest.fixture
def room():
    there, now = {"ann", "ben"}, [0.0]
    return Belongings(lambda each: each in there, seconds=60, clock=lambda: now[0]), there, now


def test_what_is_on_a_desk_goes_70_seconds_after_its_visitor_without_a_collection(room):
    belongings, there, now = room
    tensors = Tensors()
    desks, seen = {"playground": tensors}, weakref.ref(tensors)
    del tensors
    belongings.keep("ann", desks)
    gc.disable()
    try:
        there.remove("ann")
        assert belongings.sweep() == 0
        now[0] = 69
        assert belongings.sweep() == 0
        assert seen() is not None
        now[0] = 71
        assert belongings.sweep() == 1
        assert seen() is None
    finally:
        gc.enable()
    assert desks == {}
    assert belongings.num_kept == 0


def test_who_comes_back_in_time_finds_everything_and_begins_to_count_anew(room):
    belongings, there, now = room
    desks = {"playground": 1}
    belongings.keep("ann", desks)
    there.remove("ann")
    belongings.sweep()
    there.add("ann")
    now[0] = 65
    belongings.sweep()
    there.remove("ann")
    now[0] = 100
    assert belongings.sweep() == 0
    now[0] = 165
    assert belongings.sweep() == 0
    assert desks == {"playground": 1}
    now[0] = 171
    assert belongings.sweep() == 1


def test_one_who_leaves_takes_nothing_of_another(room):
    belongings, there, now = room
    ben = {"playground": 2}
    belongings.keep("ann", {"playground": 1})
    belongings.keep("ben", ben)
    there.remove("ann")
    belongings.sweep()
    now[0] = 1000
    assert belongings.sweep() == 1
    assert ben == {"playground": 2}


def test_giving_back_what_is_free_does_no_harm():
    assert give_back() is None
