"""The project's own modules, read as syntax trees."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
OUR_TOP_LEVEL = ("app", "engine", "views", "lessons", "bench", "tests")


class Module(NamedTuple):
    name: str
    path: Path

    @property
    def label(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    def tree(self) -> ast.Module:
        return ast.parse(self.path.read_text(encoding="utf-8"))


def modules_under(*tops: str) -> list[Module]:
    found = []
    for top in tops:
        single = ROOT / f"{top}.py"
        for path in [single] if single.exists() else sorted((ROOT / top).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            found.append(Module(".".join(parts), path))
    return found


PRODUCT = modules_under("app", "engine", "views", "lessons")
EVERYTHING = PRODUCT + modules_under("bench", "tests")


def exists(module: str) -> bool:
    path = ROOT.joinpath(*module.split("."))
    return path.with_suffix(".py").exists() or path.is_dir()


def imports(module: Module) -> Iterator[str]:
    """Every module that the source names in an import, or in import_module("...")."""
    for node in ast.walk(module.tree()):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(level=level) if level:
                raise AssertionError(f"{module.label}:{node.lineno} relative import: write it out")
            case ast.ImportFrom(module=str(source), names=names):
                for alias in names:
                    below = f"{source}.{alias.name}"
                    is_ours = source.split(".")[0] in OUR_TOP_LEVEL
                    yield below if is_ours and exists(below) else source
            case ast.Call(func=function, args=[ast.Constant(value=str(target)), *_]):
                if ast.unparse(function).endswith(("import_module", "__import__")):
                    yield target
