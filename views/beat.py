"""Beat the pool: one visitor's puzzles, each as they arranged it last."""

from dataclasses import dataclass, field

from engine.trace.trace import Trace
from lessons.puzzles import Arrangement, Puzzle, Score, best_known, puzzles, run_of, score


@dataclass
class Beat:
    """`number`: of the puzzle, from 1. Puzzle and arrangement stand in the link."""

    number: int = 1
    arranged: dict[str, Arrangement] = field(default_factory=dict)  # puzzle -> other than given

    @property
    def puzzle(self) -> Puzzle:
        return puzzles()[self.number - 1]

    @property
    def arrangement(self) -> Arrangement:
        return self.arranged.get(self.puzzle.name, self.puzzle.given)

    @property
    def trace(self) -> Trace:
        return run_of(self.puzzle.name, self.arrangement)

    @property
    def score(self) -> Score:
        return score(self.puzzle, self.arrangement)

    @property
    def best(self) -> Score:
        return best_known(self.puzzle.name)[1]

    @property
    def is_given(self) -> bool:
        return self.arrangement == self.puzzle.given

    def arrange(self, arrangement: Arrangement) -> None:
        self.arranged[self.puzzle.name] = arrangement

    def give_up(self) -> None:
        """Arrange it as the best that is known."""
        self.arrange(best_known(self.puzzle.name)[0])

    def begin_again(self) -> None:
        self.arranged.pop(self.puzzle.name, None)
