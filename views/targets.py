"""Where the presses of a transport say that the cursor ends."""

from bisect import bisect_left, bisect_right
from typing import Any

from engine.trace.state import Cursor
from views.figures.moment import num_finished_steps, step_ends
from views.runs import MAX_STEPS_AT_ONCE, Run

STEP, SUB_STEP = "step", "sub_step"
MAX_PRESSES = 1_000  # in one target; what is pressed faster is not


def reach(run: Run, target: dict[str, Any]) -> Cursor:
    """The cursor that a target means; beyond the end of the trace the engine goes on.

    `{"position": 7}`, or `{"step": 2, "plus": 1}`: that many sub-steps behind the end of step 2. What was
    pressed beyond all that was known then follows in order: `"then": [["sub_step", 3], ["step", -1]]`.
    """
    at = _first(run, target)
    for unit, by in _presses(target.get("then")):
        _grow_to(run, at)
        at = _steps_on(run, at, by) if unit == STEP else max(0, at + by)
    _grow_to(run, at)
    return run.trace.cursor_at(at)


def _first(run: Run, target: dict[str, Any]) -> int:
    trace = run.trace
    if STEP not in target:
        return max(0, _whole(target.get("position")))
    step = max(0, min(_whole(target[STEP]), trace.num_steps + MAX_STEPS_AT_ONCE))
    while num_finished_steps(trace) <= step and run.grow():
        pass
    step = min(step, max(0, trace.num_steps - 1))
    return max(0, trace.position(trace.after_update(step)) + _whole(target.get("plus")))


def _presses(sent: Any) -> list[tuple[str, int]]:
    """What is no press is left out."""
    listed = sent if isinstance(sent, list) else []
    pairs = [each for each in listed if isinstance(each, list) and len(each) == 2]
    bounded = ((unit, max(-MAX_PRESSES, min(_whole(by), MAX_PRESSES))) for unit, by in pairs)
    return [(unit, by) for unit, by in bounded if by and unit in (STEP, SUB_STEP)][:MAX_PRESSES]


def _whole(value: Any) -> int:
    return int(value) if isinstance(value, int | float) else 0


def _grow_to(run: Run, position: int) -> None:
    while position >= run.trace.num_positions and run.grow():
        pass


def _steps_on(run: Run, at: int, by: int) -> int:
    """From end of step to end of step; the first of them may be that of the step in which `at` lies."""
    at = min(at, run.trace.num_positions - 1)
    if by < 0:
        before = bisect_left(step_ends(run.trace), at)
        return step_ends(run.trace)[before + by] if before + by >= 0 else 0
    wanted = bisect_right(step_ends(run.trace), at) + by
    while num_finished_steps(run.trace) < wanted and run.grow():
        pass
    ends = step_ends(run.trace)
    return ends[wanted - 1] if wanted <= len(ends) else run.trace.num_positions - 1
