"""The kernels' own source, to be read beside what they do.

The file is read, never imported (that needs Triton), and the line of a statement is looked up by what
it assigns, so that what is shown is what runs.
"""

import ast
import functools
import importlib.util
import io
import keyword
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

MODULE = "engine.runner.attention.paged_triton"

Line = tuple[tuple[str, str], ...]  # runs of text and kind: "", "comment", "text", "word"
Lines = tuple[int, int]  # first and last, from 1


class Source(NamedTuple):
    """`places`: "function.name" (the second time "function.name#2") -> where it is assigned;
    "function.return", "function.store" of tl.store, "function" for its first line."""

    path: str
    lines: tuple[Line, ...]
    places: Mapping[str, Lines]

    def span(self, *places: str) -> Lines:
        """From the first line of the first place to the last of the last."""
        return self.places[places[0]][0], self.places[places[-1]][1]


@functools.cache
def kernel_source() -> Source:
    spec = importlib.util.find_spec(MODULE)
    assert spec is not None, f"{MODULE} is not there"
    assert spec.origin is not None, spec
    code = Path(spec.origin).read_text(encoding="utf-8")
    return Source(f"{MODULE.replace('.', '/')}.py", _coloured(code), places_of(code))


def places_of(code: str) -> dict[str, Lines]:
    places: dict[str, Lines] = {}
    for function in ast.parse(code).body:
        if isinstance(function, ast.FunctionDef):
            places[function.name] = (function.lineno, function.lineno)
            for name, lines in _statements(function):
                places[_new_name(f"{function.name}.{name}", places)] = lines
    return places


def _new_name(name: str, places: Mapping[str, Lines]) -> str:
    number = 1
    while (name if number == 1 else f"{name}#{number}") in places:
        number += 1
    return name if number == 1 else f"{name}#{number}"


def _statements(function: ast.FunctionDef) -> Iterator[tuple[str, Lines]]:
    """Every statement of a function in the order of its lines."""
    found = [node for node in ast.walk(function) if isinstance(node, ast.stmt)]
    for node in sorted(found, key=lambda node: node.lineno):
        lines = node.lineno, node.end_lineno or node.lineno
        match node:
            case ast.Assign(targets=targets):
                names = [each.id for target in targets for each in _names(target)]
            case ast.AugAssign(target=target):
                names = [each.id for each in _names(target)]
            case ast.Return():
                names = ["return"]
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=attribute))):
                names = [attribute]
            case ast.For(target=target, body=body):
                names = [each.id for each in _names(target)]
                lines = node.lineno, body[0].lineno - 1
            case _:
                names = []
        for name in names:
            yield name, lines


def _names(target: ast.expr) -> list[ast.Name]:
    return [node for node in ast.walk(target) if isinstance(node, ast.Name)]


def _coloured(code: str) -> tuple[Line, ...]:
    """Comments, texts and Python's own words stand apart from names."""
    kinds = [[""] * len(line) for line in code.splitlines()]
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        kind = _kind(token)
        if not kind:
            continue
        (first, start), (last, stop) = token.start, token.end
        for row in range(first, last + 1):
            line = kinds[row - 1]
            left, right = start if row == first else 0, stop if row == last else len(line)
            line[left:right] = [kind] * (right - left)
    return tuple(map(_runs, code.splitlines(), kinds))


def _kind(token: tokenize.TokenInfo) -> str:
    if token.type == tokenize.COMMENT:
        return "comment"
    if token.type == tokenize.STRING:
        return "text"
    return "word" if token.type == tokenize.NAME and keyword.iskeyword(token.string) else ""


def _runs(line: str, kinds: list[str]) -> Line:
    runs: list[tuple[str, str]] = []
    for char, kind in zip(line, kinds, strict=True):
        if runs and runs[-1][1] == kind:
            runs[-1] = (runs[-1][0] + char, kind)
        else:
            runs.append((char, kind))
    return tuple(runs)
