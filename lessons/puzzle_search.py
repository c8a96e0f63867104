"""What can be reached in the puzzles of puzzles.py: a search in which the engine scores each try."""

import itertools
import json
import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from lessons.errors import LessonError
from lessons.puzzles import (
    BEST_PATH,
    Arrangement,
    Prompt,
    Puzzle,
    Rewritten,
    Score,
    code_of,
    puzzles,
    rewrite,
    score,
)
from lessons.rewriting import shortest, words_of

MOST_SPACES = 12  # behind a text
NUM_STARTS = 3  # beside the given one, so that the search does not end on the first hill
HEADING = "# Written by python -m lessons puzzles: the best solution that the search found.\n"


class Best(NamedTuple):
    arrangement: Arrangement
    score: Score
    rewritten: Rewritten = ()


def search(puzzle: Puzzle) -> Best:
    """The best that was found, which need not be the best there is.

    Prompts of the same make are exchangeable, so an order is one of their kinds. From a few starts
    the search improves the order, how each kind is put together and how long what several prompts
    say is written, until nothing helps. What one prompt alone says is written as short as can be.
    """
    chance = random.Random(puzzle.name)
    given, starts = _Plan.given(puzzle), (alike(puzzle), short(puzzle))
    plans = [given, *(given.shuffled(chance) for _ in range(NUM_STARTS))]
    found = (_climbed(puzzle, plan, written) for plan, written in itertools.product(plans, starts))
    return max(found, key=lambda best: best.score.rank)


def alike(puzzle: Puzzle) -> Rewritten:
    """Every part of the same words written as in the first prompt that has it."""
    first: dict[tuple[str, ...], str] = {}
    rewritten: Rewritten = ()
    for prompt in puzzle.prompts:
        for part, text in puzzle.texts(prompt).items():
            written = first.setdefault(tuple(words_of(text)), text)
            rewritten = rewrite(puzzle, rewritten, id_=prompt.id, part=part, text=written)
    return rewritten


def short(puzzle: Puzzle) -> Rewritten:
    """As `alike`, and what one prompt alone says is written as short as can be."""
    rewritten, shared = alike(puzzle), _shared(puzzle)
    for prompt in puzzle.prompts:
        for part, text in puzzle.texts(prompt).items():
            if tuple(words_of(text)) not in shared:
                rewritten = rewrite(
                    puzzle, rewritten, id_=prompt.id, part=part, text=shortest(text)
                )
    return rewritten


def _shared(puzzle: Puzzle) -> dict[tuple[str, ...], list[tuple[str, str]]]:
    """Words that several prompts say -> where, as prompt and part."""
    found: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for prompt in puzzle.prompts:
        for part, text in puzzle.texts(prompt).items():
            found.setdefault(tuple(words_of(text)), []).append((prompt.id, part))
    return {words: places for words, places in found.items() if len(places) > 1}


def _lengths(puzzle: Puzzle, rewritten: Rewritten) -> Iterator[Rewritten]:
    """One text of several prompts shorter or longer, by the spaces behind it, as far as may be."""
    for places in _shared(puzzle).values():
        id_, part = places[0]
        text = shortest(puzzle.text(puzzle.prompt(id_), part))
        for num_spaces in range(MOST_SPACES + 1):
            try:
                yield _written_at(puzzle, rewritten, places, text + num_spaces * " ")
            except LessonError:
                break


def _written_at(
    puzzle: Puzzle, rewritten: Rewritten, places: list[tuple[str, str]], text: str
) -> Rewritten:
    """LessonError where one of these prompts would get too long."""
    for id_, part in places:
        rewritten = rewrite(puzzle, rewritten, id_=id_, part=part, text=text)
    return rewritten


def record_best() -> list[tuple[str, Score]]:
    """Search all puzzles and write what was found."""
    found = [(puzzle, search(puzzle)) for puzzle in puzzles()]
    codes = {each.name: code_of(each, best.arrangement, best.rewritten) for each, best in found}
    lines = [f"{name} = {_toml(code)}\n" for name, code in codes.items()]
    BEST_PATH.write_text(HEADING + "".join(lines), encoding="utf-8")
    return [(puzzle.name, best.score) for puzzle, best in found]


def _toml(code: str) -> str:
    """As a basic string, whose escapes are those of JSON."""
    return json.dumps(code, ensure_ascii=False)


class _Plan(NamedTuple):
    order: tuple[str, ...]  # kinds, one for each place
    parts: tuple[tuple[str, tuple[str, ...]], ...]  # kind -> the order of its parts

    @classmethod
    def given(cls, puzzle: Puzzle) -> "_Plan":
        parts = {_kind(prompt): prompt.parts for prompt in puzzle.prompts}
        return cls(tuple(map(_kind, puzzle.prompts)), tuple(parts.items()))

    def shuffled(self, chance: random.Random) -> "_Plan":
        order = tuple(chance.sample(self.order, len(self.order)))
        parts = ((kind, tuple(chance.sample(each, len(each)))) for kind, each in self.parts)
        return _Plan(order, tuple(parts))

    def ways(self) -> tuple[Callable[[], Iterator["_Plan"]], ...]:
        """What the search tries one after the other, each with all others as they are."""
        kinds = (partial(self._put_together, kind) for kind, _ in self.parts)
        return (self._one_rule, self._sent, *kinds)

    def _one_rule(self) -> Iterator["_Plan"]:
        """All kinds put together by one rule: what stands in front of what."""
        names = sorted({name for _, parts in self.parts for name in parts})
        for rule in itertools.permutations(names):
            ruled = ((kind, tuple(sorted(parts, key=rule.index))) for kind, parts in self.parts)
            yield self._replace(parts=tuple(ruled))

    def _sent(self) -> Iterator["_Plan"]:
        for order in sorted({*itertools.permutations(self.order)}):
            yield self._replace(order=order)

    def _put_together(self, kind: str) -> Iterator["_Plan"]:
        for each in itertools.permutations(dict(self.parts)[kind]):
            yield self._replace(parts=tuple({**dict(self.parts), kind: each}.items()))

    def arrangement(self, puzzle: Puzzle) -> Arrangement:
        """Prompts of one kind go in the order in which they come."""
        parts = dict(self.parts)
        left = {kind: [p.id for p in puzzle.prompts if _kind(p) == kind] for kind in parts}
        return tuple((left[kind].pop(0), parts[kind]) for kind in self.order)


def _kind(prompt: Prompt) -> str:
    """What it is made of, and how many blocks its answer is about."""
    return f"{' '.join(sorted(prompt.parts))} {len(prompt.output) // 4}"


def _climbed(puzzle: Puzzle, plan: _Plan, rewritten: Rewritten) -> Best:
    """Up from this plan until no way leads further."""
    best = _tried(puzzle, plan, rewritten)
    while True:
        before = best.score.rank
        for way in range(len(plan.ways())):
            for each in plan.ways()[way]():
                tried = _tried(puzzle, each, best.rewritten)
                if tried.score.rank > best.score.rank:
                    plan, best = each, tried
        for written in [*_lengths(puzzle, best.rewritten)]:
            tried = _tried(puzzle, plan, written)
            if tried.score.rank > best.score.rank:
                best = tried
        if best.score.rank == before:
            return best


def _tried(puzzle: Puzzle, plan: _Plan, rewritten: Rewritten) -> Best:
    arrangement = plan.arrangement(puzzle)
    return Best(arrangement, score(puzzle, arrangement, rewritten), rewritten)
