"""The allocator's exercises: any seed has a run, and the engine's own deeds are what counts."""

from hypothesis import given, settings
from hypothesis import strategies as st

from lessons.exercises import DONE, FREE, LEVELS, MAX_SEED, PREEMPT, TAKE, TOUCH, exercise
from lessons.judging import judge

levels = st.sampled_from(LEVELS)
seeds = st.integers(0, MAX_SEED - 1)


@settings(max_examples=60, deadline=None)
@given(levels, seeds)
def test_the_engines_own_deeds_are_right_and_nothing_else_is(level, seed):
    asked = exercise(level, seed)
    for place, deed in enumerate(asked.deeds):
        assert judge(asked, place, deed.verb, deed.target).is_right
        for verb, target in ((TOUCH, 0), (TAKE, 0), (FREE, 0), (PREEMPT, "nobody")):
            found = judge(asked, place, verb, target)
            assert not found.is_right
            assert found.reason
        if deed.verb != DONE:
            assert judge(asked, place, DONE, None).reason == f"more_{deed.verb}"


@settings(max_examples=60, deadline=None)
@given(levels, seeds)
def test_the_deeds_end_where_the_run_shows_them_all(level, seed):
    """Replayed on the state: references and queue are those of the engine afterwards."""
    asked = exercise(level, seed)
    before = asked.trace.at(asked.begin)
    after = asked.trace.at(asked.end)
    refs = {id_: block.ref_cnt for id_, block in before.blocks.items()}
    queue = list(before.free_queue())
    for deed in asked.deeds:
        if deed.verb in (TOUCH, TAKE):
            if deed.verb == TAKE:
                assert queue[0] == deed.target, "only the head is ever taken"
            if refs.get(deed.target, 0) == 0:
                queue.remove(deed.target)
            refs[deed.target] = refs.get(deed.target, 0) + 1
        elif deed.verb == FREE:
            refs[deed.target] -= 1
            if refs[deed.target] == 0:
                queue.append(deed.target)
    assert queue == list(after.free_queue())
    assert all(after.blocks[id_].ref_cnt == count for id_, count in refs.items() if id_)


def test_every_level_asks_for_what_it_is_about():
    def verbs(level):
        return [{deed.verb for deed in exercise(level, seed).deeds} for seed in range(30)]

    assert all(found == {TAKE, DONE} for found in verbs(1))
    assert all(found == {FREE, DONE} for found in verbs(2))
    assert all(found == {TOUCH, TAKE, DONE} for found in verbs(3))
    assert any(TOUCH in found for found in verbs(4))
    assert any(PREEMPT in found for found in verbs(5))
    assert any(PREEMPT not in found for found in verbs(5)), "and somebody comes back"


def test_a_link_brings_the_same_exercise_back():
    one = exercise(5, 42)
    exercise.cache_clear()
    assert exercise(5, 42).deeds == one.deeds


def test_a_mistake_is_told_by_its_own_rule():
    asked = exercise(3, 0)  # two hits, then two new blocks
    assert [(d.verb, d.target) for d in asked.deeds] == [
        (TOUCH, 1),
        (TOUCH, 2),
        (TAKE, 7),
        (TAKE, 8),
        (DONE, None),
    ]
    assert judge(asked, 0, TAKE, 7).reason == "touch_first"
    assert judge(asked, 0, TOUCH, 2).reason == "touch_order"
    assert judge(asked, 0, TOUCH, 5).reason == "touch_other"
    assert judge(asked, 0, TOUCH, 9).reason == "touch_no_hash"
    assert judge(asked, 0, TOUCH, 0).reason == "touch_null"
    assert judge(asked, 2, TOUCH, 3).reason == "no_hit"
    assert judge(asked, 2, TAKE, 0).reason == "take_null"
    assert judge(asked, 2, TAKE, 1).reason == "take_in_use"
    assert judge(asked, 2, TAKE, 9).reason == "take_head"
    assert judge(asked, 2, PREEMPT, "r0").reason == "has_room"
    assert judge(asked, 4, TAKE, 9).reason == "enough"


def test_whoever_does_more_than_a_release_asks_for_is_told_of_the_release():
    asked = exercise(2, 0)
    deed = asked.deeds[0]
    assert judge(asked, 0, TOUCH, deed.target).reason == "not_touch"
    assert judge(asked, 0, TAKE, deed.target).reason == "not_take"
    assert judge(asked, len(asked.deeds) - 1, FREE, deed.target).reason == "enough_free"
