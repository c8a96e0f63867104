"""Whose engine computes next, where many share one model."""

import heapq
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

PATIENCE_S = 2.0


class Turns:
    """One step at a time. A step of single tokens goes before one that computes a prompt and came up
    to `PATIENCE_S` earlier, so that a class that has its first words does not stand behind those
    who have not; else it goes as they came. A plain lock has no order at all.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._waiting: list[tuple[float, int]] = []  # when it is due, which ticket
        self._tickets = itertools.count()
        self._is_taken = False
        self._held: AbstractContextManager[None] = nullcontext()

    def __enter__(self) -> None:
        """As a plain lock, for a step of which nothing is known."""
        held = self.turn(is_long=True)
        held.__enter__()
        self._held = held

    def __exit__(self, *error: Any) -> None:
        self._held.__exit__(*error)

    @property
    def num_waiting(self) -> int:
        with self._changed:
            return len(self._waiting)

    @contextmanager
    def turn(self, *, is_long: bool) -> Iterator[None]:
        """Held while a step computes; `is_long`: prompts are computed in it."""
        ticket = (self._clock() + (PATIENCE_S if is_long else 0), next(self._tickets))
        with self._changed:
            heapq.heappush(self._waiting, ticket)
            self._changed.wait_for(lambda: not self._is_taken and self._waiting[0] == ticket)
            heapq.heappop(self._waiting)
            self._is_taken = True
        try:
            yield
        finally:
            with self._changed:
                self._is_taken = False
                self._changed.notify_all()
