"""What the source of vLLM says where no run can show it: names, defaults and shapes.

    python -m lessons.vllm_source .../site-packages/vllm

reads it and writes facts/vllm_source.json. Nothing of vLLM is imported or copied; what is kept are
the names of fields and parameters, and numbers.
"""

import ast
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

PATH = Path(__file__).parent / "facts" / "vllm_source.json"
BLOCK_FILE = "v1/core/kv_cache_utils.py"
MANAGER_FILE = "v1/core/kv_cache_manager.py"
CONFIG_FILE = "config/cache.py"
Shape = tuple[str, ...]


class VllmSource(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """vLLM of one version, as read from its files."""

    version: str
    block_fields: tuple[str, ...]  # KVCacheBlock
    allocate_slots: tuple[str, ...]  # parameters of KVCacheManager.allocate_slots
    declared_block_size: int | None  # the default in CacheConfig
    block_sizes: dict[str, tuple[int, ...]]  # platform -> what it sets where none was asked for
    cache_shapes: dict[str, Shape]  # attention back end -> the axes of a layer's cache tensor


def read_source(root: Path, version: str) -> VllmSource:
    """`root` is the package's folder."""
    block = _class(_parsed(root / BLOCK_FILE), "KVCacheBlock")
    config = _class(_parsed(root / CONFIG_FILE), "CacheConfig")
    allocate = _function(_parsed(root / MANAGER_FILE), "allocate_slots")
    return VllmSource(
        version=version,
        block_fields=tuple(name for name, _ in _fields(block)),
        allocate_slots=tuple(each.arg for each in allocate.args.args[1:]),
        declared_block_size=dict(_fields(config))["block_size"],
        block_sizes={
            path.stem: sizes
            for path in sorted((root / "platforms").glob("*.py"))
            if (sizes := _block_sizes(_parsed(path)))
        },
        cache_shapes={
            path.stem: shape
            for path in sorted((root / "v1/attention/backends").glob("*.py"))
            if (shape := _cache_shape(_parsed(path)))
        },
    )


def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _class(tree: ast.AST, name: str) -> ast.ClassDef:
    return next(n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name == name)


def _function(tree: ast.AST, name: str) -> ast.FunctionDef:
    return next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == name)


def _fields(class_: ast.ClassDef) -> Iterator[tuple[str, Any]]:
    """Annotated fields and their defaults; None where there is none, or none that is a constant."""
    for line in class_.body:
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
            yield line.target.id, getattr(line.value, "value", None)


def _block_sizes(tree: ast.AST) -> tuple[int, ...]:
    """What is assigned to block_size under a test that it is None."""
    tests = [node for node in ast.walk(tree) if isinstance(node, ast.If) and _asks(node.test)]
    return tuple(
        sorted(
            {
                line.value.value
                for test in tests
                for line in ast.walk(test)
                if isinstance(line, ast.Assign)
                and isinstance(line.targets[0], ast.Attribute)
                and line.targets[0].attr == "block_size"
                and isinstance(line.value, ast.Constant)
                and isinstance(line.value.value, int)
            }
        )
    )


def _asks(test: ast.expr) -> bool:
    return any(
        isinstance(node, ast.Compare)
        and isinstance(node.left, ast.Attribute)
        and node.left.attr == "block_size"
        and isinstance(node.ops[0], ast.Is)
        for node in ast.walk(test)
    )


def _cache_shape(tree: ast.AST) -> Shape | None:
    """The axes that the last get_kv_cache_shape of the file returns, if they are plain."""
    found = None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == "get_kv_cache_shape":
            returned = [line.value for line in ast.walk(node) if isinstance(line, ast.Return)]
            axes = returned[-1].elts if returned and isinstance(returned[-1], ast.Tuple) else []
            if axes and all(isinstance(axis, ast.Name | ast.Constant) for axis in axes):
                found = tuple(ast.unparse(axis) for axis in axes)
    return found


def main(arguments: Sequence[str]) -> None:
    root = Path(arguments[0])
    info = next(root.parent.glob("vllm*.dist-info"))
    source = read_source(root, info.name.removesuffix(".dist-info").rpartition("-")[2])
    PATH.write_bytes(msgspec.json.format(msgspec.json.encode(source), indent=2) + b"\n")


if __name__ == "__main__":
    main(sys.argv[1:])
