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


T = TypeVar("T", bound=Growing)


class PerTrace(Generic[T]):
    """One `T` for each trace. It is made at the first look and ends with its trace."""

    def __init__(self, make: Callable[[Trace], T]) -> None:
        self._make = make
        self._known: WeakKeyDictionary[Trace, T] = WeakKeyDictionary()
        self._lock = threading.Lock()  # recorded traces are shared by all visitors

    def of(self, trace: Trace) -> T:
        """The trace's own, with everything in it that has happened by now."""
        with self._lock:
            found = self._known.get(trace)
            if found is None:
                found = self._known[trace] = self._make(trace)
            if found.num_events < trace.num_events:
                found.extend(trace.events_from(found.num_events))
        return found
