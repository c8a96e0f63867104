"""Ways in which an answer is wrong for a reason: given answer and right answer in, yes or no out."""

import inspect
from collections.abc import Callable
from typing import Any

Value = Any


def _are_numbers(*values: Value) -> bool:
    return all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)


def off_by_one(given: Value, answer: Value) -> bool:
    """One too many or one too few."""
    return _are_numbers(given, answer) and abs(given - answer) == 1


def one_too_few(given: Value, answer: Value) -> bool:
    """The answer less one: block ids numbered from 0, a rounded-down division."""
    return _are_numbers(given, answer) and given == answer - 1


def one_too_many(given: Value, answer: Value) -> bool:
    """The answer and one more: steps counted from 1, the null block counted as usable."""
    return _are_numbers(given, answer) and given == answer + 1


def numbered_from_zero(given: Value, answer: Value) -> bool:
    """Block ids as in articles that forget the null block: every id one too small."""
    if isinstance(given, tuple) and isinstance(answer, tuple):
        return given == tuple(id_ - 1 for id_ in answer)
    return one_too_few(given, answer)


def forward_order(given: Value, answer: Value) -> bool:
    """The right blocks, the other way round."""
    return isinstance(given, tuple) and given != answer and given == tuple(reversed(answer))


def ascending_order(given: Value, answer: Value) -> bool:
    """The right blocks, sorted by their ids."""
    return isinstance(given, tuple) and given != answer and list(given) == sorted(answer)


def same_blocks(given: Value, answer: Value) -> bool:
    """The right blocks in some other order."""
    return isinstance(given, tuple) and given != answer and sorted(given) == sorted(answer)


def too_few(given: Value, answer: Value) -> bool:
    """Less than the answer."""
    return _are_numbers(given, answer) and given < answer


def too_many(given: Value, answer: Value) -> bool:
    """More than the answer."""
    return _are_numbers(given, answer) and given > answer


def as_a_share(given: Value, answer: Value) -> bool:
    """A share from 0 to 1 where per cent are asked for."""
    return _are_numbers(given, answer) and 0 < given <= 1 and abs(100 * given - answer) <= 1


MISCONCEPTIONS: dict[str, Callable[[Value, Value], bool]] = {
    name: function
    for name, function in list(globals().items())
    if callable(function) and getattr(function, "__module__", "") == __name__ and name[0] != "_"
}


def list_of_misconceptions() -> str:
    """The list of lessons/README.md, in Markdown; a test compares the two."""
    lines = (f"- `{name}`: {inspect.getdoc(each)}" for name, each in MISCONCEPTIONS.items())
    return "\n".join(lines)
