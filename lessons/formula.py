"""The number that a wrong idea gives, as arithmetic with the values of a lesson.

    tokens - 1        size * usable        queue[:4] + queue[5:]

Names are those of [values], and `answer`; beside them whole numbers, + - * / // and, for lists, + and
slices. Nothing else is read, so that a file of a lesson can run nothing.
"""

import ast
import operator
from collections.abc import Callable, Iterator
from typing import Any

from lessons.errors import FactError, LessonError

Value = Any
ANSWER = "answer"
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}
_NODES = (ast.Name, ast.Load, ast.BinOp, ast.UnaryOp, ast.USub, ast.Subscript, ast.Slice)


def parse_formula(text: object, place: str) -> ast.expr:
    """LessonError for what is no formula."""
    try:
        tree = ast.parse(str(text), mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise LessonError(f"{place}: {text!r} is no formula: write such as tokens - 1") from error
    for node in ast.walk(tree):
        is_number = isinstance(node, ast.Constant) and type(node.value) is int
        if not (is_number or isinstance(node, (*_NODES, *_OPERATORS))):
            raise LessonError(
                f"{place}: {text!r}: a formula has names of values, whole numbers, + - * / // and slices"
            )
    return tree


def names_in(tree: ast.expr) -> Iterator[str]:
    return (node.id for node in ast.walk(tree) if isinstance(node, ast.Name))


def result(tree: ast.expr, value_of: Callable[[str], Value]) -> Value:
    """FactError where this run's values do not allow it: a division by nothing, a list too short."""
    try:
        return _result(tree, value_of)
    except (ArithmeticError, TypeError, IndexError) as error:
        raise FactError(f"{ast.unparse(tree)} has no value in this run") from error


def _result(node: ast.expr, value_of: Callable[[str], Value]) -> Value:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return value_of(node.id)
    if isinstance(node, ast.UnaryOp):
        return -_result(node.operand, value_of)
    if isinstance(node, ast.BinOp):
        left, right = _result(node.left, value_of), _result(node.right, value_of)
        return _OPERATORS[type(node.op)](left, right)
    assert isinstance(node, ast.Subscript), ast.dump(node)
    whole = _result(node.value, value_of)
    if not isinstance(node.slice, ast.Slice):
        return whole[_result(node.slice, value_of)]
    ends = (node.slice.lower, node.slice.upper, node.slice.step)
    return whole[slice(*(None if end is None else _result(end, value_of) for end in ends))]
