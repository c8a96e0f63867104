"""What stands in a lesson.toml. Words are not here: they stand in one file per language (text.py).

Every table is strict: an unknown field, a missing one or a wrong type is an error that names the
file and the place. What the fields mean to an author: lessons/README.md.
"""

import tomllib
from pathlib import Path
from typing import Any, Literal

import msgspec

from engine.workload import Operation
from lessons.errors import LessonError

FILE_NAME = "lesson.toml"
PARTS = ("A", "B", "C", "D", "E")
LENSES = ("tree", "batch", "timeline", "why", "block")
# Of the stage; `story` is the list of what happened in the step.
Part = Literal["requests", "lens", "pool", "queue", "tables", "story"]
REPOSITORIES = {
    "vllm": "vllm-project/vllm",
    "vllm-ascend": "vllm-project/vllm-ascend",
    "nano-vllm": "GeeeekExplorer/nano-vllm",
    "LMCache": "LMCache/LMCache",
    "mini-sglang": "sgl-project/mini-sglang",
    "kvcached": "ovg-project/kvcached",
    "gpustack": "gpustack/gpustack",
    "llama.cpp": "ggml-org/llama.cpp",
    "flash-attention": "Dao-AILab/flash-attention",
    "vllmini": "MDK8888/vllmini",
    "home-generative-agent": "goruck/home-generative-agent",
    "lore-weave": "letuhao/lore-weave",
    "text-generation-inference": "huggingface/text-generation-inference",
}

# {check = NAME, scenario = NAME, equals = VALUE, and the check's own arguments}
Call = dict[str, Any]


class Table(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Base of all tables of the file."""


class Numbers(Table, frozen=True, kw_only=True):
    """Tokens of which only the number counts: first, first + 1, .."""

    first: int
    count: int


class Request(Table, frozen=True, kw_only=True):
    """A request of a scripted run. Texts become tokens as the scenario's `tokens` says."""

    id: str
    prompt: str | tuple[int, ...] | Numbers
    output: str | tuple[int, ...] | Numbers  # what the script answers; its length is max_tokens
    arrival_step: int = 0
    cache_salt: str | None = None
    lora: str | int | None = None
    priority: int = 0
    abort_step: int | None = None
    abort_phase: Literal["before", "mid"] = "before"
    skip_reading_prefix_cache: bool = False


class Prompt(Table, frozen=True, kw_only=True):
    """A prompt for the real model; the n-th one is the request r0, r1, .."""

    text: str
    mode: Literal["chat", "raw"] = "chat"
    max_tokens: int = 16
    arrival_step: int = 0
    continues: str | None = None  # an earlier prompt's request: this is the next turn of its chat


class Scenario(Table, frozen=True, kw_only=True):
    """One run: a script here or in a file of the folder, or prompts for the real model.

    With `same_as` it is another scenario with other settings; requests of the same id take the
    place of the others, new ones come behind them.
    """

    name: str
    same_as: str | None = None
    tokens: Literal["letters", "words"] | None = None  # None: letters, or as in `same_as`
    config: dict[str, Any] = {}
    requests: tuple[Request, ...] = ()
    ops: tuple[Operation, ...] = ()
    workload: str | None = None  # JSON file of this folder (SEMANTICS 2)
    prompts: tuple[Prompt, ...] = ()
    max_steps: int | None = None  # None: to the end, or until nothing can move


class Bar(Table, frozen=True, kw_only=True):
    """A row that is filled in part; both numbers are names of values."""

    label: str
    part: str
    whole: str


class Chunk(Table, frozen=True, kw_only=True):
    """One text and the moment that it is about. The reader gets from one to the next by a key."""

    id: str
    at: str  # a place (places.py)
    scenario: str | None = None  # None: as in the chunk before; the first scenario at the start
    play_from: str | None = None  # the stage is put there first and plays up to `at`
    select: dict[str, Any] = {}  # block, hash_of, request, or request with token
    lens: Literal["tree", "batch", "timeline", "why", "block"] | None = None
    predict: str | None = None  # asked when the text has been read
    hides: tuple[Part, ...] = ()  # parts of the stage that are not there yet
    bars: tuple[Bar, ...] = ()  # a picture under the text
    numbers: bool = False  # the card of the playground: usage, hit rate and others, as they stand


class Wrong(Table, frozen=True, kw_only=True):
    """A wrong answer that somebody has a reason for, and by what it is known."""

    text: str  # the sentence is NAME.wrong.TEXT
    when: dict[
        str, Any
    ]  # {formula = ..}, {check = .., ..}, {misconception = .., ..} or {value = ..}


class Prediction(Table, frozen=True, kw_only=True):
    """A question to be answered before the engine shows what it did."""

    kind: Literal["block", "order", "number", "choice"]
    answer: Call
    scenario: str | None = None  # None: the chunk's
    unit: Literal["tokens", "blocks", "requests", "bytes", "step", "percent"] | None = None
    tolerance: float = 0.0  # in the unit
    options: dict[str, Any] = {}  # choice: name -> the value that the check gives for it
    among: Call | None = None  # order: the blocks to be arranged; None: clicked in the pool
    reveal: str | None = None  # the place to which the stage plays; None: the next chunk's
    covers: tuple[Part, ...] = ()  # parts of the stage that would answer it
    wrong: tuple[Wrong, ...] = ()


class Badge(Table, frozen=True, kw_only=True):
    """Behaviour that changed after 0.17.1. What it is about is said from the first text on; how it
    changed, and the switch, from `told_from` on, where the questions about it are answered."""

    id: str
    told_from: str  # id of a chunk
    change: str  # such as vllm#42656
    since: str  # year and month; "by 2026-09": it was there then, and since when is not known
    later: dict[str, str] = {}  # scenario -> the one that shows it with the later behaviour


class Source(Table, frozen=True, kw_only=True):
    """Where vLLM 0.17.1 does what the lesson shows."""

    file: str
    function: str


class Lesson(Table, frozen=True, kw_only=True):
    """A whole lesson.toml."""

    number: int
    part: Literal["A", "B", "C", "D", "E"]
    scenarios: tuple[Scenario, ...]
    chunks: tuple[Chunk, ...]
    predictions: dict[str, Prediction]
    values: dict[str, Call] = {}  # numbers for the text: {name}
    expected: dict[str, Any] = {}  # name of a value -> what `check` must find; not shown anywhere
    answers: tuple[int, ...] = ()  # questions of questions.toml
    any_run: tuple[str, ...] = ()  # texts whose counts and letters hold however a reader changes it
    badges: tuple[Badge, ...] = ()
    sources: tuple[Source, ...]
    threads: tuple[str, ...] = ()  # such as vllm#12077

    def scenario(self, name: str) -> Scenario:
        return next(each for each in self.scenarios if each.name == name)

    def scenario_of_chunk(self, chunk: Chunk) -> str:
        """The chunk's own, or that of the nearest chunk before it that names one."""
        name = self.scenarios[0].name
        for each in self.chunks:
            name = each.scenario or name
            if each is chunk:
                return name
        raise KeyError(chunk.id)

    def scenario_of_prediction(self, name: str) -> str:
        chunk = next(each for each in self.chunks if each.predict == name)
        return self.predictions[name].scenario or self.scenario_of_chunk(chunk)


def thread_url(reference: str) -> str:
    """The address of a public thread such as vllm#12077; GitHub sends a pull request on."""
    repository, _, number = reference.partition("#")
    return f"https://github.com/{REPOSITORIES[repository]}/issues/{number}"


def check_thread(reference: str, place: str) -> None:
    """LessonError if the reference is not a repository that is known, # and a number."""
    repository, _, number = reference.partition("#")
    if not number.isdecimal():
        raise LessonError(f"{place}: {reference!r} is no thread: write such as vllm#12077")
    if repository not in REPOSITORIES:
        known = ", ".join(REPOSITORIES)
        raise LessonError(f"{place}: {reference}: the repositories are {known}")


def parse_lesson(content: str, place: str) -> Lesson:
    """LessonError says what is wrong and where; `place` is the file's name in it."""
    try:
        return msgspec.convert(tomllib.loads(content), Lesson)
    except tomllib.TOMLDecodeError as error:
        raise LessonError(f"{place}: this is not TOML: {error}") from error
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$.")
        where = where.rstrip("`")
        raise LessonError(f"{place}: {where}: {what}" if where else f"{place}: {what}") from error


def read_lesson(folder: Path) -> Lesson:
    path = folder / FILE_NAME
    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LessonError(f"{path}: it cannot be read: {error}") from error
    return parse_lesson(content, f"{folder.name}/{FILE_NAME}")
