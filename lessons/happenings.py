"""Every event of a run with the position at which it has happened, for whoever looks for one."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

from engine.trace.events import Event, PrefixLookedUp, RequestScheduled, StepEnded
from engine.trace.per_trace import PerTrace
from engine.trace.state import Cursor
from engine.trace.step_index import StepIndex
from engine.trace.trace import Trace
from lessons.errors import FactError

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


def kinds_before(trace: Trace, cursor: Cursor) -> set[tuple[str, str | None]]:
    """What had happened at a moment, and to whom: kinds of events with the request, if it is about one."""
    end = trace.position(cursor)
    return {
        (type(event).__name__, getattr(event, "request_id", None))
        for position, _, event in happenings(trace)
        if position <= end
    }


def nth_lookup(trace: Trace, request: str, nth: int) -> tuple[Happening, PrefixLookedUp]:
    """1 is the first; FactError where there are fewer."""
    found = list(events_of(trace, PrefixLookedUp, request))
    if nth > len(found):
        raise FactError.of(
            "fact.few_lookups",
            "{request} is looked up {n} times, and lookup {nth} is asked for",
            request=request,
            n=len(found),
            nth=nth,
        )
    return found[nth - 1]


def scheduled(trace: Trace, request: str, step: int) -> RequestScheduled:
    """What the step schedules of the request; FactError where it does not."""
    for _, event in events_of(trace, RequestScheduled, request, step):
        return event
    raise FactError.of(
        "fact.not_scheduled",
        "{request} is not scheduled in step {step}",
        request=request,
        step=step,
    )
