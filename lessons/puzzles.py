"""Beat the pool: prompts to send in another order and to put together otherwise, scored by the engine.

A puzzle is data (puzzles.toml). An arrangement says which prompt is sent when and in which order its
parts stand. Nothing may be dropped, so that a hit rate says what the order was worth.
"""

import functools
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from engine.config import EngineConfig
from engine.trace.events import Event, RequestAdmitted, RequestPreempted
from engine.trace.trace import Trace
from engine.workload import ScriptedRequest, ScriptedRun, Workload
from lessons.errors import LessonError
from lessons.scenario import Script, run_script
from lessons.vocabulary import Vocabulary

PATH = Path(__file__).with_name("puzzles.toml")
BEST_PATH = Path(__file__).with_name("puzzles.best.toml")
QUESTION = "question"  # the part that no other prompt has


class Prompt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Its parts by name, in the order in which they come; a name stands for one text."""

    id: str
    parts: tuple[str, ...]
    own: dict[str, str]
    output: str


class Puzzle(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`arrivals`: the step at which the first, second, .. of an arrangement comes in."""

    name: str
    config: dict[str, Any]
    arrivals: tuple[int, ...]
    target: float  # share of all prompt tokens
    shared: dict[str, str]
    prompts: tuple[Prompt, ...]

    def text(self, prompt: Prompt, part: str) -> str:
        return prompt.own[part] if part in prompt.own else self.shared[part]

    def prompt(self, id_: str) -> Prompt:
        return next(prompt for prompt in self.prompts if prompt.id == id_)

    @property
    def given(self) -> "Arrangement":
        """As the prompts come."""
        return tuple((prompt.id, prompt.parts) for prompt in self.prompts)


Arrangement = tuple[tuple[str, tuple[str, ...]], ...]  # prompts in sending order, parts in theirs


class Score(NamedTuple):
    """Each prompt counts once, at its first admission, however often it was looked up."""

    hits: dict[str, int]  # request id -> cached tokens
    num_tokens: dict[str, int]  # request id -> prompt tokens
    preempted: tuple[str, ...]  # request ids, in order, as often as it happened

    @property
    def num_hits(self) -> int:
        return sum(self.hits.values())

    @property
    def hit_rate(self) -> float:
        return self.num_hits / sum(self.num_tokens.values())

    @property
    def rank(self) -> tuple[int, int]:
        """What is better is greater: nobody preempted, then hits."""
        return -len(self.preempted), self.num_hits


@functools.cache
def puzzles() -> tuple[Puzzle, ...]:
    """In the order of their difficulty; LessonError where the file is wrong."""
    try:
        return tuple(
            msgspec.toml.decode(PATH.read_bytes(), type=dict[str, tuple[Puzzle, ...]])["puzzles"]
        )
    except (msgspec.DecodeError, KeyError) as error:
        raise LessonError(f"{PATH.name}: {error}") from error


def puzzle_named(name: str) -> Puzzle:
    return next(puzzle for puzzle in puzzles() if puzzle.name == name)


# Arrangements in a link ---------------------------------------------------------------------------


def code_of(puzzle: Puzzle, arrangement: Arrangement) -> str:
    """`a021-c012-..`: a prompt, and the places at which its parts came."""
    return "-".join(
        id_ + "".join(str(puzzle.prompt(id_).parts.index(part)) for part in parts)
        for id_, parts in arrangement
    )


def read_code(puzzle: Puzzle, code: str) -> Arrangement | None:
    """None where the code is none of this puzzle: a prompt or a part is missing, or stands twice."""
    found = []
    for word in code.split("-")[: len(puzzle.prompts) + 1]:
        prompt = next((each for each in puzzle.prompts if each.id == word[:1]), None)
        places = [ord(digit) - ord("0") for digit in word[1:]]
        if prompt is None or sorted(places) != [*range(len(prompt.parts))]:
            return None
        found.append((prompt.id, tuple(prompt.parts[place] for place in places)))
    arrangement = tuple(found)
    return arrangement if is_allowed(puzzle, arrangement) else None


def is_allowed(puzzle: Puzzle, arrangement: Arrangement) -> bool:
    """Every prompt once, and in it every part once."""
    return sorted(id_ for id_, _ in arrangement) == sorted(
        each.id for each in puzzle.prompts
    ) and all(sorted(parts) == sorted(puzzle.prompt(id_).parts) for id_, parts in arrangement)


# The run ------------------------------------------------------------------------------------------


def _script(puzzle: Puzzle, arrangement: Arrangement) -> Script:
    vocabulary = Vocabulary("letters")
    requests = []
    for (id_, parts), arrival_step in zip(arrangement, puzzle.arrivals, strict=True):
        prompt = puzzle.prompt(id_)
        text = "".join(puzzle.text(prompt, part) for part in parts)
        prompt_ids, output_ids = vocabulary.encode(text), vocabulary.encode(prompt.output)
        requests.append(
            ScriptedRequest(id=id_, arrival_step=arrival_step, prompt=prompt_ids, output=output_ids)
        )
    config = EngineConfig.from_mapping(puzzle.config)
    workload = Workload(name=f"beat/{puzzle.name}", config=config, requests=tuple(requests))
    return Script(workload, vocabulary)


@functools.lru_cache(maxsize=64)
def run_of(name: str, arrangement: Arrangement) -> Trace:
    """The run from start to end; the same object for everybody who asks for this arrangement."""
    return run_script(_script(puzzle_named(name), arrangement))


def score(puzzle: Puzzle, arrangement: Arrangement) -> Score:
    """What the engine makes of it, without a trace."""
    workload = _script(puzzle, arrangement).workload
    hits: dict[str, int] = {}
    preempted: list[str] = []

    def note(event: Event) -> None:
        if isinstance(event, RequestAdmitted):
            hits.setdefault(event.request_id, event.num_hit_tokens)
        elif isinstance(event, RequestPreempted):
            preempted.append(event.request_id)

    run = ScriptedRun(workload, emit=note)
    while not run.is_over:
        run.step()
    lengths = {request.id: len(request.prompt) for request in workload.requests}
    return Score(hits, lengths, tuple(preempted))


# What can be reached ------------------------------------------------------------------------------


@functools.cache
def best_known(name: str) -> tuple[Arrangement, Score]:
    """What `python -m lessons puzzles` found, scored by the engine here and now."""
    puzzle = puzzle_named(name)
    codes = msgspec.toml.decode(BEST_PATH.read_bytes(), type=dict[str, str])
    arrangement = read_code(puzzle, codes.get(name, ""))
    if arrangement is None:
        raise LessonError(f"{BEST_PATH.name} is not of this {name}: run python -m lessons puzzles")
    return arrangement, score(puzzle, arrangement)
