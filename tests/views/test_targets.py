"""Presses that come faster than the engine computes: the cursor ends where they say."""

import random

import pytest

from tests.views import fake_live
from views.drafts import Draft
from views.examples import EXAMPLES
from views.figures.moment import num_finished_steps, step_ends
from views.runs import Run
from views.targets import STEP, SUB_STEP, reach
from views.text import Text

UNITS = {STEP: (1, -1), SUB_STEP: (1, 1, 3, -1, -2)}


def begun(max_tokens="9"):
    """A live run with one request and the first of its steps."""
    config = EXAMPLES["own"].config
    source = fake_live.LiveSource("fake", config)
    run = Run(source.trace, config, live=source)
    draft = Draft(text="Hello", max_tokens=max_tokens)
    run.add(draft, draft.sampling(Text()))
    run.advance()
    return run


def reached(run, position, *then):
    return run.trace.position(reach(run, {"position": position, "then": [list(p) for p in then]}))


def test_a_step_pressed_behind_sub_steps_that_have_not_run_ends_the_step_that_these_reach():
    run = begun()
    last = run.trace.num_positions - 1
    at = reached(run, last + 15, (STEP, 1))
    ends = step_ends(run.trace)
    assert at in ends
    assert at > last + 15
    assert not any(last + 15 < end < at for end in ends)


def test_a_step_back_from_there_is_the_end_before():
    run = begun()
    last = run.trace.num_positions - 1
    at = reached(run, last + 15, (STEP, -1))
    assert at == max(end for end in step_ends(run.trace) if end < last + 15)
    assert at > last, "forward of where it stood"


@pytest.mark.parametrize("seed", range(8))
def test_presses_at_once_end_where_the_same_presses_end_one_by_one(seed):
    drawn = random.Random(seed)
    units = [drawn.choice((STEP, SUB_STEP)) for _ in range(12)]
    presses = [(unit, drawn.choice(UNITS[unit])) for unit in units]
    at_once, by_one = begun(), begun()
    start = at = at_once.trace.num_positions - 1
    for press in presses:
        at = reached(by_one, at, press)
    assert reached(at_once, start, *presses) == at


def test_behind_the_end_of_the_run_there_is_nothing_more():
    run = begun(max_tokens="2")
    assert reached(run, 0, (STEP, 99)) == run.trace.num_positions - 1
    assert reached(run, 10**9, (STEP, -1)) == step_ends(run.trace)[-2]


def test_a_step_may_be_named_and_sub_steps_counted_from_its_end():
    run = begun()
    cursor = reach(run, {"step": 3, "plus": -2})
    assert run.trace.position(cursor) == step_ends(run.trace)[3] - 2
    assert num_finished_steps(run.trace) == 4


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"position": "7"},
        {"position": None, "then": "step"},
        {"position": [], "then": 5},
        {"position": 0, "then": [["step"], ["hour", 1], [1, 2], ["step", "x"], 5]},
        {"step": "3", "plus": []},
    ],
)
def test_what_is_no_press_moves_nothing(sent):
    run = begun()
    at = run.trace.position(reach(run, sent))
    assert at == (step_ends(run.trace)[0] if "step" in sent else 0)
    assert num_finished_steps(run.trace) == 1
