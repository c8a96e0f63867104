"""What is found out about a trace once for all who look at it, and goes on as the trace grows."""

import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar
from weakref import WeakKeyDictionary

from engine.trace.events import Event
from engine.trace.trace import Trace


class Growing(Protocol):
    """Something that reads each event of a run once, in order."""

    @property
    def num_events(self) -> int:
        """How many it has read."""

    def extend(self, new_events: Sequence[Event], /) -> Any: ...


T = TypeVar("T")
G = TypeVar("G", bound=Growing)


class OnePerTrace(Generic[T]):
    """One `T` for each trace. It is made at the first look and ends with its trace.

    What `make` returns must not hold the trace: neither would ever end.
    """

    def __init__(self, make: Callable[[Trace], T]) -> None:
        self._make = make
        self._known: WeakKeyDictionary[Trace, T] = WeakKeyDictionary()
        self._lock = threading.Lock()  # recorded traces are shared by all visitors

    def of(self, trace: Trace) -> T:
        """The trace's own."""
        with self._lock:
            return self._found(trace)

    def _found(self, trace: Trace) -> T:
        found = self._known.get(trace)
        if found is None:
            found = self._known[trace] = self._make(trace)
        return found


class PerTrace(OnePerTrace[G]):
    """The same for what follows a run: it has read everything that has happened by now."""

    def _found(self, trace: Trace) -> G:
        found = super()._found(trace)
        if found.num_events < trace.num_events:
            found.extend(trace.events_from(found.num_events))
        return found
