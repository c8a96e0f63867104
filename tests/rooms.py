"""Who may import whom: the table that test_architecture.py holds against the source."""

from typing import NamedTuple


class Room(NamedTuple):
    """Which of our modules and which packages a room may import; a name covers what is below it.

    The standard library is open to all, less `not_stdlib`.
    """

    ours: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    not_stdlib: tuple[str, ...] = ()


SETTINGS = (
    "engine.config",
    "engine.checks",
    "engine.errors",
    "engine.malformed",
    "engine.system",
)
TEXTS = ("views.theme", "views.text")
SIZING_CORE = ("engine.core.sizing", "engine.core.kv_cache_spec")
PURE_CORE = (*SIZING_CORE, "engine.core.block_hash")
CORE = Room(
    ours=("engine.core", "engine.trace.events", *SETTINGS),
    packages=("msgspec",),  # records in their thousands that the garbage collector need not visit
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
        "views.branching",
        "views.runs",
        "views.drafts",
        "views.weights",
        "views.shelf",
        "views.examples",
        "views.workloads",
        "views.comparing",
        "views.compared",
        "views.opening",
        "views.lab_runs",
        "views.limits",
        "views.covering",
        "views.study",
        "views.studying",
        "views.own_runs",
        "views.own_words",
        "views.ordering",
        "views.practice",
        "views.practising",
        "views.beat",
        "views.beating",
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
        "views.turns",
        "views.branching",
        "views.shelf",
        "views.examples",
        "views.workloads",
        "views.study",
        "views.motion",
        "views.own_words",
        "views.horizon",
        "views.changing",
        "views.limits",
        "views.saving",
        "views.brought",
        "views.origin",
        "views.practice",
        "views.beat",
        "lessons",
        "views.figures.time.address",
        "views.figures.moment",
        "views.figures.block.kv",
        "views.figures.time.timeline",
        "views.figures.selection",
        "views.figures.sizing.sizing_inputs",
        "views.figures.compare",
        "views.figures.time.until",
        "engine.sources",
        "engine.workload",
        "engine.trace",
        *SETTINGS,
        *TEXTS,
    ),
    packages=("msgspec",),
)
CHOOSING = BEHIND_PAGES._replace(ours=(*BEHIND_PAGES.ours, "views.choices", "views.weights"))

# Module or package -> what it may import. The longest name that covers a module decides.
ROOMS: dict[str, Room] = {
    "engine.errors": Room(),
    **dict.fromkeys(
        ("engine.checks", "engine.malformed", "engine.system"), Room(ours=("engine.errors",))
    ),
    "engine.config": Room(
        ours=("engine.checks", "engine.errors", "engine.malformed"), packages=("msgspec",)
    ),
    "engine.trace": Room(
        ours=("engine.trace", "engine.errors", "engine.malformed", "engine.system"),
        packages=("msgspec",),
    ),
    "engine.core": CORE,
    "engine.core.block_hash": CORE._replace(packages=("cbor2", "xxhash")),
    "engine.runner": RUNNER,
    "engine.runner.layout_choice": RUNNER._replace(packages=("torch", "msgspec")),
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
    # What a lookup asks for is asked of the engine's own rules.
    "lessons.facts.reading": Room(
        ours=("lessons", "engine.trace", "engine.questions", "engine.core.block_pool", *SETTINGS)
    ),
    "lessons.__main__": Room(
        ours=("lessons", "engine.trace", "engine.workload", "engine.sources.live", *SETTINGS)
    ),
    "views.__main__": Room(
        ours=("views.limits", "views.model_choice", *SETTINGS), packages=("streamlit",)
    ),
    "views.theme": Room(),
    "views.text": Room(ours=("views.i18n", "engine.errors")),
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
    "views.figures.learning": Room(ours=("views.figures", "lessons", "engine.trace", *TEXTS)),
    # How a kernel cuts its work is asked of what launches it.
    **dict.fromkeys(
        ("views.figures.kernel.kernel", "views.figures.kernel.kernel_walk"),
        Room(ours=("views.figures", "engine.trace", "engine.runner.attention.tiling", *TEXTS)),
    ),
    # A hash is recomputed from its inputs by the engine's own pure functions.
    "views.figures.tree.hash_inputs": Room(
        ours=("views.figures", "engine.trace", "engine.core.block_hash")
    ),
    # Blocks and bytes are the engine's own arithmetic.
    **dict.fromkeys(
        (
            "views.figures.sizing.model_config",
            "views.figures.sizing.model_weights",
            "views.figures.sizing.sizing",
            "views.figures.sizing.sizing_steps",
        ),
        Room(ours=("views.figures", *SIZING_CORE, *SETTINGS, *TEXTS)),
    ),
    "views.figures.sizing.sizing_inputs": Room(ours=("views.figures", *SETTINGS, *TEXTS)),
    "views.pages": PAGE,
    "views.pages.home": PAGE._replace(ours=(*PAGE.ours, "views.first_page")),
    "views.widgets": PAGE,
    "views.components": PAGE._replace(packages=("streamlit", "msgspec")),
    **dict.fromkeys(("views.leaving", "views.turns", "views.asked", "views.origin"), Room()),
    "views.session": Room(
        ours=(
            "views.leaving",
            "views.asked",
            "views.choices",
            "views.share",
            "views.limits",
            "views.links",
            "views.beginning",
            "views.bringing_back",
            "views.figures.time.address",
            "views.actions",
            "views.side_runs",
            "views.studying",
            "views.practising",
            "views.beating",
            "views.compared",
            "views.drafts",
            "views.runs",
            "views.branching",
            "views.shelf",
            "views.examples",
            "views.loading",
            "engine.sources",
            "engine.trace",
            *SETTINGS,
            *TEXTS,
        ),
        packages=("streamlit",),
    ),
    **dict.fromkeys(("views.runs", "views.drafts", "views.branching", "views.shelf"), BEHIND_PAGES),
    **dict.fromkeys(("views.workloads", "views.comparing"), BEHIND_PAGES),
    **dict.fromkeys(("views.saving", "views.brought"), BEHIND_PAGES),
    "views.opening": BEHIND_PAGES._replace(ours=(*BEHIND_PAGES.ours, "views.figures.opened")),
    "views.limits": Room(ours=("engine.sources.saved", *SETTINGS, *TEXTS)),
    "views.weights": CHOOSING._replace(ours=(*CHOOSING.ours, "views.loading", "views.share")),
    "views.actions": CHOOSING._replace(ours=(*CHOOSING.ours, "views.targets")),
    **dict.fromkeys(("views.bringing_back", "views.covering"), CHOOSING),
    "views.studying": CHOOSING._replace(ours=(*CHOOSING.ours, "views.actions", "views.own_runs")),
    "views.own_runs": CHOOSING._replace(ours=(*CHOOSING.ours, "views.actions", "views.ordering")),
    "views.motion": Room(ours=("engine.trace",)),
    "views.horizon": Room(ours=("engine.trace",)),
    "views.changing": Room(
        ours=("lessons", "engine.trace", "engine.errors", "views.drafts", *TEXTS)
    ),
    "views.ordering": CHOOSING._replace(ours=(*CHOOSING.ours, "views.share")),
    **dict.fromkeys(("views.targets", "views.own_words", "views.study"), BEHIND_PAGES),
    **dict.fromkeys(("views.practice", "views.beat"), BEHIND_PAGES),
    "views.beating": CHOOSING._replace(ours=(*CHOOSING.ours, "views.actions", "views.side_runs")),
    "views.compared": CHOOSING._replace(ours=(*CHOOSING.ours, "views.actions", "views.beating")),
    "views.practising": CHOOSING._replace(ours=(*CHOOSING.ours, "views.actions", "views.studying")),
    "views.side_runs": CHOOSING._replace(
        ours=(*CHOOSING.ours, "views.actions", "views.beginning", "views.bringing_back")
    ),
    "views.links": BEHIND_PAGES._replace(
        ours=(
            *BEHIND_PAGES.ours,
            "views.choices",
            "views.bringing_back",
            "views.studying",
            "views.figures.time.address",
        )
    ),
    "views.beginning": CHOOSING._replace(ours=(*CHOOSING.ours, "views.actions")),
    "views.lab_runs": CHOOSING._replace(ours=(*CHOOSING.ours, "views.beginning")),
    "views.share": BEHIND_PAGES._replace(ours=(*BEHIND_PAGES.ours, "views.loading")),
    "views.choices": BEHIND_PAGES._replace(ours=(*BEHIND_PAGES.ours, "views.asked", "views.share")),
    "views.examples": Room(ours=("engine.workload", *SETTINGS)),
    "views.model_choice": Room(ours=(*SETTINGS, *TEXTS)),
    "views.loading": Room(
        ours=("views.limits", "views.model_choice", "views.turns", "engine.sources", *SETTINGS)
    ),
    "views.first_page": Room(packages=("streamlit", "starlette")),
    "app": Room(ours=("views",), packages=("streamlit",)),
    "views.serve": Room(ours=("views.first_page",), packages=("streamlit", "starlette")),
}
