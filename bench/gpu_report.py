"""What was measured so far, and what failed: a failure ends neither the run nor what came before."""

import contextlib
import math
from collections.abc import Iterator, Sequence
from typing import Any

from bench.measure import print_table, rounded

LONGEST_ERROR = 300  # characters

Rows = list[dict[str, Any]]


def number(value: float | None) -> float | None:
    """As it stands in a row; None for what could not be worked out, since JSON knows no NaN."""
    return None if value is None or not math.isfinite(value) else rounded(value)


class Report:
    """The object that is the last line of the benchmark."""

    def __init__(self) -> None:
        self.errors: list[dict[str, str]] = []
        self.found: dict[str, Any] = {"errors": self.errors}

    def rows(self, part: str) -> Rows:
        """The rows of a part, to be added to one by one; there from now on, even while empty."""
        rows: Rows = self.found.setdefault(part, [])
        return rows

    def fail(self, part: str, reason: str) -> None:
        self.errors.append({"part": part, "error": reason[:LONGEST_ERROR]})
        print(f"\n{part}: {reason[:LONGEST_ERROR]}")

    @contextlib.contextmanager
    def attempt(self, part: str) -> Iterator[None]:
        """Whatever is raised inside is noted, and goes no further: a benchmark cannot know what
        torch, triton and a driver may raise, and what was measured must not be lost by it."""
        try:
            yield
        except Exception as error:
            lines = str(error).strip().splitlines()
            self.fail(part, f"{type(error).__name__}: {lines[0] if lines else 'no words'}")

    def table(self, title: str, method: str, rows: Sequence[dict[str, Any]]) -> None:
        if rows:
            print_table(title, method, tuple(rows[0]), [tuple(row.values()) for row in rows])
