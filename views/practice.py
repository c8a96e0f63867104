"""You are the allocator: one exercise, what was done of it, and what was said about a mistake."""

from dataclasses import dataclass, field
from typing import Any

from engine.trace.state import Cursor
from engine.trace.trace import Trace
from lessons.exercises import DONE, LEVELS, MAX_SEED, PREEMPT, Deed, Exercise, exercise
from lessons.judging import Judgement, judge
from views.horizon import beginning_of


@dataclass
class Practice:
    """One visitor's. Level and seed stand in the link."""

    level: int = LEVELS[0]
    seed: int = 0
    verb: str = ""  # none is chosen at the start of an exercise
    num_done: int = 0
    mistakes: list[Judgement] = field(default_factory=list)
    said: Judgement | None = None  # about the latest action
    was_shown: bool = False  # the engine does the rest, or did it
    num_solved: int = 0  # without a mistake and without help, since the visitor came

    @property
    def exercise(self) -> Exercise:
        return exercise(self.level, self.seed)

    @property
    def is_over(self) -> bool:
        return self.num_done == len(self.exercise.deeds)

    @property
    def done(self) -> tuple[Deed, ...]:
        return self.exercise.deeds[: self.num_done]

    @property
    def here(self) -> Cursor:
        """Where the run stands for whoever has done this much."""
        deeds = self.exercise.deeds
        place = deeds[self.num_done].before if not self.is_over else deeds[-1].after
        return self.exercise.trace.cursor_at(place)

    @property
    def visible(self) -> Trace:
        """Nothing of what is still to be done."""
        return beginning_of(self.exercise.trace, self.here)

    def begin(self, level: int, seed: int) -> None:
        """Another exercise. Out of range is another one as well."""
        self.level = level if level in LEVELS else LEVELS[0]
        self.seed = seed % MAX_SEED
        self.num_done, self.said, self.was_shown = 0, None, False
        self.verb = ""
        self.mistakes = []

    def act(self, target: Any) -> None:
        """Do it with the chosen verb. A wrong action changes nothing but what is said."""
        if self.is_over or self.was_shown:
            return
        verb = DONE if target is None else PREEMPT if isinstance(target, str) else self.verb
        if verb == PREEMPT and self.verb != PREEMPT:
            return  # a request was looked at, not preempted
        if not verb:
            self.said = Judgement(False, "no_verb", {})
            return
        found = judge(self.exercise, self.num_done, verb, target)
        self.said = found
        if not found.is_right:
            self.mistakes.append(found)
            return
        self.num_done += 1
        if self.num_done == len(self.exercise.deeds) and not self.mistakes:
            self.num_solved += 1

    @property
    def is_playing(self) -> bool:
        """Whether the engine is doing the rest, one deed after the other."""
        return self.was_shown and not self.is_over

    def show(self) -> None:
        """The engine does the rest; `play` does each deed of it."""
        if not self.is_over:
            self.was_shown, self.said = True, None

    def play(self, num_done: int, *, to_end: bool) -> None:
        """The next deed, for whoever has seen this many; all at once without motion."""
        if self.is_playing and num_done == self.num_done:
            self.num_done = len(self.exercise.deeds) if to_end else num_done + 1
