"""What a visitor had goes when the visitor has gone.

Streamlit forgets a session that is over its time only when another one comes or leaves, and then
waits for a collection of Python, which what was there before the model came never meets. Cache
tensors are too large for that: a desk is cleared as soon as nobody can come back to it.
"""

import ctypes
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

SECONDS_BETWEEN_LOOKS = 5
MARGIN_S = 10  # beyond the time for which Streamlit keeps a session that lost its connection


class Belongings:
    """Of all sessions: what each has put down, by the id of the session. Safe for many threads."""

    def __init__(
        self,
        is_there: Callable[[str], bool],
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`is_there`: whether a browser is connected; `seconds`: how long it may come back."""
        self._is_there = is_there
        self._seconds = seconds + MARGIN_S
        self._clock = clock
        self._kept: dict[str, dict[Any, Any]] = {}
        self._away_since: dict[str, float] = {}
        self._lock = threading.Lock()

    def keep(self, session_id: str, things: dict[Any, Any]) -> None:
        """`things` are emptied once the session is gone for good."""
        with self._lock:
            self._kept[session_id] = things

    @property
    def num_kept(self) -> int:
        with self._lock:
            return len(self._kept)

    def sweep(self) -> int:
        """Empty what nobody can come back to; of how many sessions that was."""
        now = self._clock()
        with self._lock:
            away = {each for each in self._kept if not self._is_there(each)}
            self._away_since = {each: self._away_since.get(each, now) for each in away}
            gone = {each for each in away if now - self._away_since[each] > self._seconds}
            left = [self._kept.pop(each) for each in gone]
        for things in left:
            things.clear()
        return len(left)

    def look_after(self) -> None:
        """From now on, in a thread of its own, as long as the process lives."""
        threading.Thread(target=self._sweep_for_ever, name="sweeper", daemon=True).start()

    def _sweep_for_ever(self) -> None:
        while True:
            time.sleep(SECONDS_BETWEEN_LOOKS)
            if self.sweep():
                give_back()


def give_back() -> None:
    """What is free in this process goes back to the system; glibc would keep most of it."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
