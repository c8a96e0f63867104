"""Who imports whom, read from the source itself.

`ROOMS` (rooms.py) is the table: a new edge between rooms starts as a change to it. Imports inside
functions and under TYPE_CHECKING count like any other.
"""

import subprocess
import sys

import pytest

from tests.rooms import ROOMS, Room
from tests.source_tree import OUR_TOP_LEVEL, PRODUCT, ROOT, Module, imports


def covers(name: str, module: str) -> bool:
    return module == name or module.startswith(f"{name}.")


def room_of(module: str) -> Room:
    names = [name for name in ROOMS if covers(name, module)]
    assert names, f"{module} belongs to no room: give it a row in ROOMS"
    return ROOMS[max(names, key=len)]


def breach(importer: str, imported: str) -> str | None:
    """Why the table does not allow this import; None where it does."""
    room = room_of(importer)
    top = imported.split(".")[0]
    if top in OUR_TOP_LEVEL:
        allowed = any(covers(name, imported) for name in room.ours)
    elif top in sys.stdlib_module_names:
        allowed = top not in room.not_stdlib
    else:
        allowed = top in room.packages
    return None if allowed else f"{importer} imports {imported}"


@pytest.mark.parametrize("module", PRODUCT, ids=lambda module: module.label)
def test_a_module_imports_only_what_its_room_may(module: Module) -> None:
    breaches = {breach(module.name, imported) for imported in imports(module)} - {None}
    assert not breaches


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("engine.core.scheduler", "time"),
        ("engine.core.scheduler", "torch"),
        ("engine.core.scheduler", "cbor2"),
        ("engine.trace.reducer", "engine.core.block_pool"),
        ("engine.runner.sampler", "engine.sources.live"),
        ("engine.workload", "engine.runner.model_runner"),
        ("engine.conformance", "torch"),
        ("engine.engine", "streamlit"),
        ("lessons.checks", "engine.engine"),
        ("views.figures.block_map", "streamlit"),
        ("views.pages.playground", "engine.engine"),
        ("views.pages.playground", "engine.sources.live"),
        ("views.pages.playground", "engine.core.block_pool"),
        ("views.session", "engine.engine"),
    ],
)
def test_the_table_refuses(importer: str, imported: str) -> None:
    assert breach(importer, imported)


@pytest.mark.parametrize("module", PRODUCT, ids=lambda module: module.label)
def test_a_package_init_imports_nothing(module: Module) -> None:
    if module.path.name == "__init__.py":
        assert not list(imports(module))


def run_python(code: str) -> str:
    """What a fresh interpreter prints; its warnings go elsewhere."""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


TORCH_FREE = [
    module.name
    for module in PRODUCT
    if module.path.name not in ("__main__.py", "__init__.py")
    and not covers("engine.runner", module.name)
    and module.name != "engine.sources.live"
]


def test_what_a_page_needs_before_its_model_imports_no_torch() -> None:
    """`app` first, then everything else that runs without a model, in one interpreter."""
    code = (
        "import importlib, sys\n"
        f"for name in {TORCH_FREE!r}:\n"
        "    importlib.import_module(name)\n"
        "    heavy = {'torch', 'transformers'} & set(sys.modules)\n"
        "    assert not heavy, f'{name} imports {heavy}'\n"
    )
    run_python(code)
