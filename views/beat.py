"""Beat the pool: one visitor's puzzles, each as they solved it last."""

from dataclasses import dataclass, field
from typing import NamedTuple

from engine.trace.trace import Trace
from lessons.errors import LessonError
from lessons.puzzles import (
    Arrangement,
    Puzzle,
    Score,
    Solution,
    best_known,
    puzzles,
    rewrite,
    run_of,
    score,
)


class Refused(NamedTuple):
    """A text that was not taken, as it stands in the field, and why."""

    id: str
    part: str
    typed: str
    reason: LessonError


@dataclass
class Beat:
    """`number`: of the puzzle, from 1. Puzzle and solution stand in the link."""

    number: int = 1
    solutions: dict[str, Solution] = field(default_factory=dict)  # puzzle -> other than given
    refused: Refused | None = None
    reached: dict[str, Score] = field(default_factory=dict)  # puzzle -> the visitor's best

    @property
    def puzzle(self) -> Puzzle:
        return puzzles()[self.number - 1]

    @property
    def solution(self) -> Solution:
        return self.solutions.get(self.puzzle.name, Solution(self.puzzle.given))

    @property
    def trace(self) -> Trace:
        return run_of(self.puzzle.name, *self.solution)

    @property
    def score(self) -> Score:
        return score(self.puzzle, *self.solution)

    @property
    def best(self) -> Score:
        """The best that is known: what the search found, or what this visitor did."""
        found = best_known(self.puzzle.name)[1]
        return max(found, self.reached.get(self.puzzle.name, found), key=lambda each: each.rank)

    @property
    def is_own_best(self) -> bool:
        """Whether the visitor did better than the search."""
        return self.best.rank > best_known(self.puzzle.name)[1].rank

    @property
    def is_given(self) -> bool:
        return self.solution == Solution(self.puzzle.given)

    def solve(self, solution: Solution) -> None:
        self.solutions[self.puzzle.name], self.refused = solution, None
        before = self.reached.get(self.puzzle.name, self.score)
        self.reached[self.puzzle.name] = max(before, self.score, key=lambda each: each.rank)

    def arrange(self, arrangement: Arrangement) -> None:
        """In another order; what was written stays."""
        self.solve(self.solution._replace(arrangement=arrangement))

    def write(self, id_: str, part: str, text: str) -> None:
        """Another text for this part. What does not say the same changes nothing but what is said."""
        before = self.solution
        try:
            written = rewrite(self.puzzle, before.rewritten, id_=id_, part=part, text=text)
        except LessonError as error:
            self.refused = Refused(id_, part, text, error)
            return
        self.solve(before._replace(rewritten=written))

    def give_up(self) -> None:
        """Solve it as the best that is known."""
        self.solve(best_known(self.puzzle.name)[0])

    def begin_again(self) -> None:
        self.solutions.pop(self.puzzle.name, None)
        self.refused = None
