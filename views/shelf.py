"""The runs that a visitor has side by side: one, and the branches that came of it."""

from dataclasses import dataclass, field
from typing import NamedTuple

from engine.trace.state import Cursor
from views.origin import Origin
from views.runs import Run

MAX_RUNS = 6


@dataclass
class Kept:
    """A run with its number on the page, and where somebody stood in it."""

    run: Run
    cursor: Cursor
    number: int
    origin: Origin | None = None


@dataclass
class Shelf:
    """In the order in which they were begun. Numbers are never given twice, and saved with the runs:
    one that comes back is known as before."""

    kept: list[Kept] = field(default_factory=list)
    num_numbers: int = 0

    def find(self, run_id: int) -> Kept | None:
        return next((kept for kept in self.kept if kept.run.run_id == run_id), None)

    def with_link(self, link: dict[str, str]) -> Kept | None:
        return next((kept for kept in self.kept if kept.run.has_link(link)), None)

    def number(self, run: Run) -> int:
        """Under which a run is known; the first of a shelf that is empty."""
        kept = self.find(run.run_id)
        return 1 if kept is None else kept.number

    def leave(self, run: Run, cursor: Cursor) -> None:
        if kept := self.find(run.run_id):
            kept.cursor = cursor

    def restart(
        self, old: Run | None, new: Run, cursor: Cursor, origin: Origin | None = None
    ) -> None:
        """`new` takes the place of `old`, and its number unless it has one of its own that is free;
        it has an origin only if it is given."""
        kept = self.find(old.run_id) if old is not None else None
        if kept is None:
            self._put(new, cursor, origin)
        else:
            kept.run, kept.cursor, kept.origin = new, cursor, origin
            kept.number = self._own_number(new) or kept.number
            self._note(new, kept.number)

    def branch(
        self,
        old: Run,
        new: Run,
        cursor: Cursor,
        origin: Origin | None,
        *,
        number: int | None = None,
    ) -> Kept | None:
        """Put a run beside the others; the oldest branch that goes for it, if there are many.

        `number`: under which it was known before, if that is free.
        """
        self._put(new, cursor, origin, number)
        if len(self.kept) <= MAX_RUNS:
            return None
        spared = (old.run_id, new.run_id)
        others = [k for k in self.kept if k.run.run_id not in spared]
        gone = next((k for k in others if k.origin is not None), others[0])
        self.kept.remove(gone)
        return gone

    def close(self, run_id: int) -> Kept | None:
        """Take a run away; the one to go on with, if that is possible: where it came from."""
        kept = self.find(run_id)
        if kept is None or len(self.kept) == 1:
            return None
        self.kept.remove(kept)
        came_from = kept.origin.number if kept.origin is not None else None
        return next((k for k in self.kept if k.number == came_from), self.kept[0])

    def _put(
        self, run: Run, cursor: Cursor, origin: Origin | None, number: int | None = None
    ) -> None:
        left = 0 if origin is None else origin.number  # it was there before this shelf, perhaps
        if number is None or self._is_taken(number):
            number = self._own_number(run) or max(self.num_numbers, left) + 1
        self.kept.append(Kept(run, cursor, number, origin))
        self._note(run, number)

    def _own_number(self, run: Run) -> int:
        """The one that was saved with it; 0 where there is none, or another run has it."""
        number = 0 if run.saving is None else run.saving.number
        return 0 if self._is_taken(number) else number

    def _is_taken(self, number: int) -> bool:
        return number in {kept.number for kept in self.kept}

    def _note(self, run: Run, number: int) -> None:
        """Each run is saved with its number, and with how many have been given beside it."""
        given = 0 if run.saving is None else run.saving.num_numbers
        self.num_numbers = max(self.num_numbers, given, number)
        for kept in self.kept:
            if kept.run.saving is not None:
                kept.run.saving.is_known_as(kept.number, self.num_numbers)


class Left(NamedTuple):
    """An example that its visitor left: the run that was on there, and those beside it."""

    run: Run | None
    cursor: Cursor
    shelf: Shelf
