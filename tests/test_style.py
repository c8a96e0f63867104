"""Rules of the house that a linter does not know, read from the source itself."""

import ast
from collections.abc import Iterator

import pytest

from tests.source_tree import EVERYTHING, PRODUCT, Module

MAX_LINES = 300
MAX_FUNCTION_LINES = 40
MAX_POSITIONAL = 4

# A longer file stands here with its reason.
LONG_FILES = {
    "engine/trace/events.py": "a catalogue: one short class for each event",
}


def test_only_the_session_touches_streamlits_state_and_caches() -> None:
    names = {"session_state", "cache_data", "cache_resource"}
    found = {
        module.label
        for module in PRODUCT
        for node in ast.walk(module.tree())
        if (isinstance(node, ast.Attribute) and node.attr in names)
        or (isinstance(node, ast.ImportFrom) and names & {alias.name for alias in node.names})
    }
    assert found <= {"views/session.py"}


def catches_everything(handler: ast.ExceptHandler) -> bool:
    caught = "" if handler.type is None else ast.unparse(handler.type)
    return not caught or any(
        name.strip("() ") in ("Exception", "BaseException") for name in caught.split(",")
    )


def test_except_exception_stands_in_one_place_the_frame_of_a_page() -> None:
    found = [
        f"{module.label}:{node.lineno}"
        for module in PRODUCT
        for node in ast.walk(module.tree())
        if isinstance(node, ast.ExceptHandler) and catches_everything(node)
    ]
    assert len(found) <= 1
    assert all(place.startswith(("app.py", "views/")) for place in found)


@pytest.mark.parametrize("module", EVERYTHING, ids=lambda module: module.label)
def test_a_file_stays_under_300_lines(module: Module) -> None:
    num_lines = len(module.path.read_text(encoding="utf-8").splitlines())
    assert num_lines <= MAX_LINES or module.label in LONG_FILES


def functions(module: Module) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(module.tree()):
        if isinstance(node, ast.FunctionDef):
            yield node


def is_kernel(function: ast.FunctionDef) -> bool:
    """Triton compiles it: each pointer and stride is an argument, and keyword-only ones it lacks."""
    return any("triton.jit" in ast.unparse(decorator) for decorator in function.decorator_list)


@pytest.mark.parametrize("module", PRODUCT, ids=lambda module: module.label)
def test_a_function_stays_under_40_lines_and_4_positional_parameters(module: Module) -> None:
    for function in functions(module):
        body = function.body[1:] if ast.get_docstring(function) else function.body
        num_lines = function.end_lineno - body[0].lineno + 1 if body and function.end_lineno else 0
        assert num_lines <= MAX_FUNCTION_LINES, f"{function.name}: {num_lines} lines"
        positional = [*function.args.posonlyargs, *function.args.args]
        names = [argument.arg for argument in positional if argument.arg not in ("self", "cls")]
        assert len(names) <= MAX_POSITIONAL or is_kernel(function), f"{function.name}: {names}"
