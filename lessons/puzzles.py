"""Beat the pool: prompts to send in another order and to put together otherwise, scored by the engine.

A puzzle is data (puzzles.toml). An arrangement says which prompt is sent when and in which order its
parts stand; a part may be written otherwise as far as it says the same (rewriting.py). Nothing may
be dropped, so that a hit rate says what order and writing were worth.
"""

import functools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from engine.config import EngineConfig
from engine.errors import PagewalkError
from engine.trace.events import Event, RequestAdmitted, RequestPreempted
from engine.trace.trace import Trace
from engine.workload import ScriptedRequest, ScriptedRun, Workload
from lessons.errors import LessonError
from lessons.rewriting import check_length, check_rewritten
from lessons.scenario import Script, run_script
from lessons.vocabulary import Vocabulary

PATH = Path(__file__).with_name("puzzles.toml")
BEST_PATH = Path(__file__).with_name("puzzles.best.toml")
MAX_CODE = 4_000  # characters of a link


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

    def texts(self, prompt: Prompt, rewritten: "Rewritten" = ()) -> dict[str, str]:
        """Part -> what it says, in the order in which the parts came."""
        own = {part: text for id_, part, text in rewritten if id_ == prompt.id}
        return {part: own.get(part, self.text(prompt, part)) for part in prompt.parts}

    def prompt(self, id_: str) -> Prompt:
        return next(prompt for prompt in self.prompts if prompt.id == id_)

    @property
    def given(self) -> "Arrangement":
        """As the prompts come."""
        return tuple((prompt.id, prompt.parts) for prompt in self.prompts)


Arrangement = tuple[tuple[str, tuple[str, ...]], ...]  # prompts in sending order, parts in theirs
Rewritten = tuple[tuple[str, str, str], ...]  # prompt, part, and what it says now; ascending


class Solution(NamedTuple):
    """All that a player decides."""

    arrangement: Arrangement
    rewritten: Rewritten = ()


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
    def rank(self) -> tuple[int, float]:
        """What is better is greater: nobody preempted, then the share of tokens that hit."""
        return -len(self.preempted), self.hit_rate


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


# Writing otherwise --------------------------------------------------------------------------------


def rewrite(puzzle: Puzzle, before: Rewritten, *, id_: str, part: str, text: str) -> Rewritten:
    """With this part as it is written now. LessonError where it does not say the same any more."""
    others = [each for each in before if each[:2] != (id_, part)]
    return _checked(puzzle, [*others, (id_, part, text)])


def _checked(puzzle: Puzzle, written: Iterable[tuple[str, str, str]]) -> Rewritten:
    """In their order, without what is as it was given."""
    now = []
    for id_, part, text in sorted(written):
        prompt = puzzle.prompt(id_)
        given, most = puzzle.text(prompt, part), sum(map(len, puzzle.texts(prompt).values()))
        check_rewritten(id_, given, text, most=most)
        if text != given:
            now.append((id_, part, text))
    for id_ in {id_ for id_, _, _ in now}:
        prompt = puzzle.prompt(id_)
        texts = puzzle.texts(prompt, tuple(now))
        check_length(id_, list(puzzle.texts(prompt).values()), list(texts.values()))
    return tuple(now)


# Solutions in a link ------------------------------------------------------------------------------


def code_of(puzzle: Puzzle, arrangement: Arrangement, rewritten: Rewritten = ()) -> str:
    """`a021-c012-..`: a prompt, and the places at which its parts came. Behind a `~` what is
    written otherwise, as JSON: `{"a0": "the text"}`."""
    code = "-".join(
        id_ + "".join(str(puzzle.prompt(id_).parts.index(part)) for part in parts)
        for id_, parts in arrangement
    )
    if not rewritten:
        return code
    texts = {f"{id_}{puzzle.prompt(id_).parts.index(part)}": t for id_, part, t in rewritten}
    return f"{code}~{json.dumps(texts, ensure_ascii=False, separators=(',', ':'))}"


def read_code(puzzle: Puzzle, code: str) -> Solution | None:
    """None where the code is none of this puzzle: a prompt or a part is missing, stands twice, or
    says something else."""
    order, _, texts = code[:MAX_CODE].partition("~")
    found = []
    for word in order.split("-")[: len(puzzle.prompts) + 1]:
        prompt = next((each for each in puzzle.prompts if each.id == word[:1]), None)
        places = [ord(digit) - ord("0") for digit in word[1:]]
        if prompt is None or sorted(places) != [*range(len(prompt.parts))]:
            return None
        found.append((prompt.id, tuple(prompt.parts[place] for place in places)))
    arrangement, rewritten = tuple(found), _read_texts(puzzle, texts)
    if rewritten is None or not is_allowed(puzzle, arrangement):
        return None
    return Solution(arrangement, rewritten)


def _read_texts(puzzle: Puzzle, texts: str) -> Rewritten | None:
    try:
        written = msgspec.json.decode(texts, type=dict[str, str]) if texts else {}
        return _checked(puzzle, [(*_place(puzzle, each), text) for each, text in written.items()])
    except (msgspec.DecodeError, UnicodeError, StopIteration, KeyError, PagewalkError):
        return None


def _place(puzzle: Puzzle, word: str) -> tuple[str, str]:
    """`a0` is the part that came first in prompt a. KeyError for one that is not there."""
    prompt = puzzle.prompt(word[:1])
    return prompt.id, {str(at): part for at, part in enumerate(prompt.parts)}[word[1:]]


def is_allowed(puzzle: Puzzle, arrangement: Arrangement) -> bool:
    """Every prompt once, and in it every part once."""
    return sorted(id_ for id_, _ in arrangement) == sorted(
        each.id for each in puzzle.prompts
    ) and all(sorted(parts) == sorted(puzzle.prompt(id_).parts) for id_, parts in arrangement)


# The run ------------------------------------------------------------------------------------------


def _script(puzzle: Puzzle, arrangement: Arrangement, rewritten: Rewritten) -> Script:
    vocabulary = Vocabulary("letters")
    requests = []
    for (id_, parts), arrival_step in zip(arrangement, puzzle.arrivals, strict=True):
        prompt = puzzle.prompt(id_)
        texts = puzzle.texts(prompt, rewritten)
        text = "".join(texts[part] for part in parts)
        prompt_ids, output_ids = vocabulary.encode(text), vocabulary.encode(prompt.output)
        requests.append(
            ScriptedRequest(id=id_, arrival_step=arrival_step, prompt=prompt_ids, output=output_ids)
        )
    config = EngineConfig.from_mapping(puzzle.config)
    workload = Workload(name=f"beat/{puzzle.name}", config=config, requests=tuple(requests))
    return Script(workload, vocabulary)


@functools.lru_cache(maxsize=64)
def run_of(name: str, arrangement: Arrangement, rewritten: Rewritten = ()) -> Trace:
    """The run from start to end; the same object for everybody who asks for this solution."""
    return run_script(_script(puzzle_named(name), arrangement, rewritten))


def score(puzzle: Puzzle, arrangement: Arrangement, rewritten: Rewritten = ()) -> Score:
    """What the engine makes of it, without a trace."""
    workload = _script(puzzle, arrangement, rewritten).workload
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
def best_known(name: str) -> tuple[Solution, Score]:
    """What `python -m lessons puzzles` found, scored by the engine here and now."""
    puzzle = puzzle_named(name)
    codes = msgspec.toml.decode(BEST_PATH.read_bytes(), type=dict[str, str])
    found = read_code(puzzle, codes.get(name, ""))
    if found is None:
        raise LessonError(f"{BEST_PATH.name} is not of this {name}: run python -m lessons puzzles")
    return found, score(puzzle, *found)
