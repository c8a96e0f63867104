"""Every sentence with a code that the engine and the lessons can say, read from their source."""

import ast
import string
from collections.abc import Iterator
from typing import NamedTuple

from tests.source_tree import modules_under


class Said(NamedTuple):
    """One `Sentence.of` or `SomeError.of` in the source."""

    place: str
    code: str
    template: str
    values: frozenset[str]


def gaps(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}


def is_sentence(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    owner = ast.unparse(node.func.value)
    return node.func.attr == "of" and (owner == "Sentence" or owner.endswith("Error"))


def every_sentence() -> Iterator[Said]:
    for module in modules_under("engine", "lessons"):
        if module.name == "engine.errors":  # `of` hands over what it was given
            calls = [n for n in ast.walk(module.tree()) if is_sentence(n) and n.keywords[0].arg]
        else:
            calls = [node for node in ast.walk(module.tree()) if is_sentence(node)]
        for call in calls:
            code, template = (ast.literal_eval(argument) for argument in call.args)
            values = frozenset(str(keyword.arg) for keyword in call.keywords)
            yield Said(f"{module.label}:{call.lineno}", code, template, values)
