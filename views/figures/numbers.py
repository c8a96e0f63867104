"""A few numbers, each with what it is a share of, vLLM's name for it, and its course so far."""

from collections.abc import Sequence
from typing import Any

from engine.trace.state import Cursor, State
from engine.trace.trace import Trace
from views.figures.moment import Moment, has_begun
from views.figures.run_numbers import (
    NOTHING_YET,
    QUANTITIES,
    Quantity,
    Ratio,
    RunNumbers,
    StepNumbers,
    numbers_of,
    run_numbers,
)
from views.text import Text

MAX_POINTS = 120  # of a sparkline
MAX_DIGITS = 9  # of a share's two counts, for which there is room side by side
EXACT_BELOW = 10_000  # larger counts are shortened; the exact ones stand in the details
TOP = 100  # of a sparkline's scale


def numbers(trace: Trace, moment: Moment, cursor: Cursor, text: Text) -> dict[str, Any]:
    """Values at the cursor, beside curves over the whole run: one point a step, or one for several.

    `seen` and `at` are places between 0 and 1: up to where the curves have happened, and where the
    step of the cursor is.
    """
    run = run_numbers(trace)
    num_steps = len(run.steps)
    cursor = trace.cursor_at(trace.position(cursor))
    is_over = cursor.sub_step == trace.num_sub_steps(cursor.step)
    seen = min(cursor.step + is_over, num_steps)
    now = _now(moment.state, cursor)
    return {
        "title": text("numbers.title"),
        "explain": text("numbers.explain"),
        "hint": text("numbers.hint"),
        "numbers": [
            _row(name, now, run.columns[name][:num_steps], text)
            for name in QUANTITIES
            if name != "preempted_hit_rate" or _was_preempted(run, now)
        ],
        "seen": round(seen / max(1, num_steps), 4),
        "at": round(min(1.0, (cursor.step + 0.5) / max(1, num_steps)), 4),
    }


def _now(state: State, cursor: Cursor) -> StepNumbers:
    """Of a step that has not begun nothing is scheduled, whatever the one before it computed."""
    now = numbers_of(state)
    if has_begun(state, cursor):
        return now
    budget = state.config["max_num_batched_tokens"]
    return now._replace(num_scheduled_tokens=0, token_budget=budget)


def _was_preempted(run: RunNumbers, now: StepNumbers) -> bool:
    """Anywhere in the run, so that the row is there at every moment of it or at none."""
    return bool(now.preempted_queries or (run.steps and run.steps[-1].preempted_queries))


def _row(name: str, now: StepNumbers, column: Sequence[float], text: Text) -> dict[str, Any]:
    quantity = QUANTITIES[name]
    ratio = quantity.read(now)
    return {
        "key": name,
        "label": text.named("number", name),
        "value": _value(quantity.value(now), quantity, text),
        "beside": _beside(ratio, quantity, text),
        "name": text.named("number_name", name),
        "hint": text.named("number_hint", name),
        "facts": _facts(ratio, column, quantity, text),
        "points": points(column),
    }


def points(column: Sequence[float]) -> list[int | None]:
    """Scaled to the largest of the run; of several steps in one point the largest stands for all."""
    top = max(column, default=0.0) or 1.0
    stride = -(-len(column) // MAX_POINTS) or 1
    largest = (max(column[start : start + stride]) for start in range(0, len(column), stride))
    return [None if value == NOTHING_YET else round(TOP * value / top) for value in largest]


def _value(value: float | None, quantity: Quantity, text: Text) -> str:
    if value is None:
        return text("numbers.none")
    return _percent(value) if quantity.is_share else _short(int(value), text)


def _percent(share: float) -> str:
    """Never 0% for something, nor 100% for not quite all."""
    if 0 < share < 0.001:
        return "<0.1%"
    if share < 0.01:
        return f"{share:.1%}" if share else "0%"
    return f"{min(share, 0.99):.0%}" if share < 1 else f"{share:.0%}"


def _short(count: int, text: Text) -> str:
    if count < EXACT_BELOW:
        return f"{count:,}"
    if count < 1_000_000:
        return text("numbers.thousands", n=f"{count / 1_000:.3g}")
    return text("numbers.millions", n=f"{count / 1_000_000:.3g}")


def _beside(ratio: Ratio, quantity: Quantity, text: Text) -> str:
    if not ratio.total:
        return ""
    exact = f"{ratio.amount:,}", f"{ratio.total:,}"
    fits = len("".join(exact)) <= MAX_DIGITS
    n, total = exact if fits else (_short(ratio.amount, text), _short(ratio.total, text))
    if quantity.is_share:
        return text("numbers.share", n=n, total=total)
    return text("numbers.of", total=total)


def _facts(ratio: Ratio, column: Sequence[float], quantity: Quantity, text: Text) -> str:
    """The exact counts, and the highest point of the column with its step."""
    exact = text("numbers.exact", n=ratio.amount, total=ratio.total) if ratio.total else ""
    most = max(column, default=NOTHING_YET)
    if most == NOTHING_YET:
        return text.told((exact, text("numbers.no_peak")))
    if most == 0:
        return text.told((exact, text("numbers.flat")))
    peak = text("numbers.peak", most=_value(most, quantity, text), step=column.index(most))
    return text.told((exact, peak))
