"""Named places of a run, in the documentation's example."""

import pytest

from engine.trace.events import BlocksTaken, PrefixLookedUp
from engine.trace.state import Cursor
from engine.trace.trace import Trace
from lessons.errors import FactError
from lessons.library import load_lesson
from lessons.places import find_place, why_not_a_place


@pytest.fixture(scope="module")
def docs() -> Trace:
    return load_lesson("10").traces["docs"]


def test_the_places_of_a_step(docs: Trace) -> None:
    assert find_place(docs, "start") == Cursor(0, 0)
    assert find_place(docs, "end") == docs.last
    assert find_place(docs, "start of step 3") == Cursor(3, 0)
    assert find_place(docs, "after_schedule of step 3") == docs.after_schedule(3)
    assert find_place(docs, "after_update of step 3") == docs.after_update(3)
    assert find_place(docs, "step 3 sub_step 2") == Cursor(3, 2)


def test_after_an_event_its_sub_step_has_happened_and_before_it_has_not(docs: Trace) -> None:
    before = find_place(docs, "before first BlocksTaken about r1")
    after = find_place(docs, "after first BlocksTaken about r1")
    assert docs.next(before) == after
    assert docs.at(before).requests["r1"].block_tables == [[1, 2]]
    assert docs.at(after).requests["r1"].block_tables == [[1, 2, 6, 7]]
    assert any(isinstance(event, BlocksTaken) for event in docs.events(*before))


def test_first_second_and_last_count_the_events_that_fit(docs: Trace) -> None:
    asked = [find_place(docs, f"after {nth} PrefixLookedUp") for nth in ("first", "second", "last")]
    names = [
        event.request_id
        for cursor in asked
        for event in docs.events_before(cursor)[-1:]
        if isinstance(event, PrefixLookedUp)
    ]
    assert names == ["r0", "r1", "r2"]
    in_step = find_place(docs, "after last PrefixLookedUp in step 3")
    assert in_step == asked[1]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("start of step 40", "this run has no step 40: it ends with step"),
        ("step 3 sub_step 99", "no step 3 with 99 sub-steps"),
        ("after first RequestPreempted", "this run has 0 RequestPreempted, and the first"),
        ("after second BlocksFreed about r0", "1 BlocksFreed about r0, and the second"),
    ],
)
def test_a_place_that_this_run_does_not_have(docs: Trace, text: str, sentence: str) -> None:
    assert why_not_a_place(text) is None
    with pytest.raises(FactError, match=sentence):
        find_place(docs, text)


@pytest.mark.parametrize("text", ["", "soon", "after BlocksTaken", "start of step x", "first"])
def test_what_is_no_place_in_any_run(text: str) -> None:
    assert why_not_a_place(text)
