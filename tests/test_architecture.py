"""Who imports whom, read from the source itself.

`ROOMS` is the table: a new edge between rooms starts as a change to it. Imports inside functions
and under TYPE_CHECKING count like any other.
"""

import subprocess
import sys
from typing import NamedTuple

import pytest

from tests.source_tree import OUR_TOP_LEVEL, PRODUCT, ROOT, Module, imports


class Room(NamedTuple):
    """Which of our modules and which packages a room may import; a name covers what is below it.

    The standard library is open to all, less `not_stdlib`.
    """

    ours: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    not_stdlib: tuple[str, ...] = ()


SETTINGS = ("engine.config", "engine.errors")
TEXTS = ("views.theme", "views.text")
SIZING_CORE = ("engine.core.sizing", "engine.core.kv_cache_spec")
PURE_CORE = (*SIZING_CORE, "engine.core.block_hash")
CORE = Room(
    ours=("engine.core", "engine.trace.events", *SETTINGS),
    not_stdlib=("time", "random"),
)
RUNNER = Room(
    ours=("engine.core", "engine.runner", "engine.trace.events", *SETTINGS),
    packages=("torch", "transformers", "gguf"),
)
SCRIPTED = Room(
    ours=("engine.core", "engine.engine", "engine.trace", "engine.workload", *SETTINGS),
    packages=("msgspec",),
)
PAGE = Room(
    ours=(
        "views.figures",
        "views.pages",
        "views.widgets",
        "views.components",
        "views.session",
        "views.choices",
        "views.runs",
        "views.drafts",
        "views.shelf",
        "views.examples",
        "views.workloads",
        "views.comparing",
        "views.opening",
        "engine.trace",
        "lessons",
        *PURE_CORE,
        *SETTINGS,
        *TEXTS,
    ),
    packages=("streamlit",),
)

# What the session is made of, without Streamlit and without a choice of its own.
BEHIND_PAGES = Room(
    ours=(
        "views.drafts",
        "views.runs",
        "views.branching",
        "views.shelf",
        "views.examples",
        "views.workloads",
        "views.figures.moment",
        "views.figures.kv",
        "views.figures.timeline",
        "views.figures.selection",
        "views.figures.sizing_inputs",
        "views.figures.compare_inputs",
        "views.figures.until",
        "engine.sources",
        "engine.workload",
        "engine.trace",
        *SETTINGS,
        *TEXTS,
    ),
    packages=("msgspec",),
)

# Module or package -> what it may import. The longest name that covers a module decides.
ROOMS: dict[str, Room] = {
    "engine.errors": Room(),
    "engine.config": Room(ours=("engine.errors",), packages=("msgspec",)),
    "engine.trace": Room(ours=("engine.trace", "engine.errors"), packages=("msgspec",)),
    "engine.core": CORE,
    "engine.core.block_hash": CORE._replace(packages=("cbor2", "xxhash")),
    "engine.runner": RUNNER,
    # The GPU files. Nobody imports them before a device has passed the trial of its backend.
    **dict.fromkeys(
        (
            "engine.runner.attention.paged_triton",
            "engine.runner.attention.triton_backend",
            "engine.runner.fused_kernels",
            "engine.runner.fused_model",
        ),
        RUNNER._replace(packages=("torch", "triton")),
    ),
    "engine.engine": Room(
        ours=("engine.core", "engine.runner", "engine.trace", "engine.replay", *SETTINGS)
    ),
    "engine.replay": Room(ours=("engine.engine", "engine.core", "engine.trace", *SETTINGS)),
    "engine.workload": SCRIPTED,
    "engine.recorded_run": SCRIPTED,
    "engine.conformance": SCRIPTED._replace(ours=(*SCRIPTED.ours, "engine.recorded_run")),
    # The command line runs what the page runs: a live source, imported once a model is wanted.
    "engine.__main__": SCRIPTED._replace(ours=(*SCRIPTED.ours, "engine.sources.live")),
    # What the engine would do is asked of its own rules, never written a second time.
    "engine.questions": Room(
        ours=(
            "engine.questions",
            "engine.trace",
            "engine.config",
            "engine.core.admission",
            "engine.core.block_hash",
            "engine.core.block_pool",
            "engine.core.coordinator",
            "engine.core.kv_cache_spec",
        )
    ),
    "engine.sources": Room(ours=("engine",), packages=("zmq", "msgspec")),
    "lessons": Room(
        ours=("lessons", "engine.trace", "engine.workload", *PURE_CORE, *SETTINGS),
        packages=("msgspec",),
    ),
    "lessons.__main__": Room(
        ours=("lessons", "engine.trace", "engine.workload", "engine.conformance", *SETTINGS)
    ),
    "views.__main__": Room(packages=("streamlit",)),
    "views.theme": Room(),
    "views.text": Room(ours=("views.i18n",)),
    "views.i18n": Room(ours=("views.i18n",)),
    "views.figures": Room(
        ours=(
            "views.figures",
            "engine.trace",
            "engine.questions",
            "engine.core.contiguous",
            "engine.core.contiguous_replay",
            *TEXTS,
        ),
        packages=("plotly", "networkx"),
    ),
    # A hash is recomputed from its inputs by the engine's own pure functions.
    "views.figures.hash_inputs": Room(
        ours=("views.figures", "engine.trace", "engine.core.block_hash")
    ),
    # Blocks and bytes are the engine's own arithmetic.
    **dict.fromkeys(
        (
            "views.figures.model_config",
            "views.figures.model_weights",
            "views.figures.sizing",
            "views.figures.sizing_steps",
        ),
        Room(ours=("views.figures", *SIZING_CORE, *SETTINGS, *TEXTS)),
    ),
    "views.figures.sizing_inputs": Room(ours=("views.figures", *SETTINGS, *TEXTS)),
    "views.pages": PAGE,
    "views.widgets": PAGE,
    "views.components": PAGE._replace(packages=("streamlit", "msgspec")),
    "views.session": Room(
        ours=(
            "views.choices",
            "views.saving",
            "views.limits",
            "views.actions",
            "views.side_runs",
            "views.drafts",
            "views.runs",
            "views.branching",
            "views.shelf",
            "views.examples",
            "views.loading",
            "views.figures.address",
            "views.figures.selection",
            "views.figures.until",
            "engine.sources",
            "engine.workload",
            "engine.trace",
            "lessons",
            *SETTINGS,
            *TEXTS,
        ),
        packages=("streamlit",),
    ),
    **dict.fromkeys(("views.runs", "views.drafts", "views.branching", "views.shelf"), BEHIND_PAGES),
    **dict.fromkeys(("views.workloads", "views.comparing", "views.opening"), BEHIND_PAGES),
    "views.saving": BEHIND_PAGES,
    "views.limits": Room(ours=("engine.sources.saved", *SETTINGS, *TEXTS)),
    "views.actions": BEHIND_PAGES._replace(ours=(*BEHIND_PAGES.ours, "views.choices")),
    "views.side_runs": BEHIND_PAGES._replace(
        ours=(*BEHIND_PAGES.ours, "views.choices", "views.actions")
    ),
    "views.choices": BEHIND_PAGES,
    "views.examples": Room(ours=("engine.workload", *SETTINGS)),
    "views.loading": Room(ours=("engine.sources", *SETTINGS)),
    "app": Room(ours=("views",), packages=("streamlit",)),
}


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
