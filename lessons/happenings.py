"""Every event of a run with the position at which it has happened, for whoever looks for one."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

from engine.trace.events import Event, StepEnded
from engine.trace.per_trace import PerTrace
from engine.trace.step_index import StepIndex
from engine.trace.trace import Trace

E = TypeVar("E", bound=Event)


class Happening(NamedTuple):
    position: int  # of the cursor at which the event has happened
    step: int
    event: Event


class _Happenings:
    """Grows with its trace and looks at no event twice."""

    def __init__(self) -> None:
        self.all: list[Happening] = []
        self._events: list[Event] = []
        self._index = StepIndex(self._events)
        self._step = 0

    @property
    def num_events(self) -> int:
        return len(self.all)

    def extend(self, new_events: Sequence[Event]) -> None:
        self._events.extend(new_events)
        index = self._index.update()
        for event in new_events:
            position = index.sub_steps_before(len(self.all))
            self.all.append(Happening(position, self._step, event))
            self._step += isinstance(event, StepEnded)


_OF_TRACES = PerTrace(lambda _: _Happenings())


def happenings(trace: Trace) -> list[Happening]:
    """All events so far, in order."""
    return _OF_TRACES.of(trace).all


def events_of(
    trace: Trace, kind: type[E], request: str | None = None, step: int | None = None
) -> Iterator[tuple[Happening, E]]:
    """Events of one kind; with `request` only those that name it, with `step` only that step's."""
    for happening in happenings(trace):
        event = happening.event
        if not isinstance(event, kind) or step not in (None, happening.step):
            continue
        if request is None or getattr(event, "request_id", None) == request:
            yield happening, event
