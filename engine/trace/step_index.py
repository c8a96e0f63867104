"""Where steps and sub-steps begin in a list of events. Filled in when somebody asks."""

from array import array
from bisect import bisect_right
from collections.abc import Sequence

from engine.trace import events
from engine.trace.events import Event
from engine.trace.state import Cursor

# An event of the key's type goes on with the sentence that an event of these types about the same
# request began; every other event begins a sub-step of its own.
CONTINUES: dict[type[Event], frozenset[type[Event]]] = {
    events.RequestQueued: frozenset(
        {events.RequestAdded, events.RequestPreempted, events.RequestUnscheduled}
    ),
    events.RequestScheduled: frozenset({events.RequestAdmitted}),
    events.RequestPreempted: frozenset({events.RequestUnscheduled}),
    events.BlockHashed: frozenset({events.TokensSampled}),
    events.BlocksFreed: frozenset(
        {
            events.RequestAborted,
            events.RequestFinished,
            events.RequestPreempted,
            events.RequestUnscheduled,
        }
    ),
    events.AdmissionStopped: frozenset({events.AllocationFailed}),
}


class StepIndex:
    """Grows with the list of events that it is given; it never looks at one twice."""

    def __init__(self, all_events: Sequence[Event]) -> None:
        self._events = all_events
        self._num_seen = 0
        self._sub_steps = array("q")  # place of the first event of each sub-step of the run
        self._steps = array("q")  # first sub-step of each step
        self._scheduled = array("q")  # per step: its sub-steps up to StepScheduled; -1: not yet
        self._opener: Event | None = None  # of the latest sub-step; None between two steps

    def update(self) -> "StepIndex":
        """Look at the events that came since the last time."""
        opener, begin_sub_step = self._opener, self._sub_steps.append
        new_events = self._events[self._num_seen :]
        for place, event in enumerate(new_events, self._num_seen):
            kind = type(event)
            if kind in CONTINUES and _same_sentence(opener, event):
                continue
            if opener is None:
                self._begin_step()
            begin_sub_step(place)
            opener = event
            if kind is events.StepEnded:
                opener = None
            elif kind is events.StepScheduled:
                self._mark_scheduled()
        self._opener = opener
        self._num_seen += len(new_events)
        return self

    def _begin_step(self) -> None:
        self._steps.append(len(self._sub_steps))
        self._scheduled.append(-1)

    def _mark_scheduled(self) -> None:
        if self._scheduled[-1] < 0:
            self._scheduled[-1] = len(self._sub_steps) - self._steps[-1]

    # All of these describe what `update` has seen ----------------------------------------------

    @property
    def num_steps(self) -> int:
        return len(self._steps)

    @property
    def num_all_sub_steps(self) -> int:
        return len(self._sub_steps)

    def first_sub_step(self, step: int) -> int:
        return self._steps[step] if step < len(self._steps) else len(self._sub_steps)

    def num_sub_steps(self, step: int) -> int:
        return self.first_sub_step(step + 1) - self.first_sub_step(step)

    def sub_steps_until_scheduled(self, step: int) -> int:
        known = self._scheduled[step] if 0 <= step < len(self._steps) else -1
        return known if known >= 0 else self.num_sub_steps(step)

    def event_place(self, position: int) -> int:
        """The number of events in the first `position` sub-steps of the run."""
        if position < len(self._sub_steps):
            return self._sub_steps[position]
        return self._num_seen

    def sub_steps_before(self, place: int) -> int:
        """The number of sub-steps up to the one that holds the event at `place`."""
        return bisect_right(self._sub_steps, place)

    def cursor_at(self, position: int) -> Cursor:
        position = max(0, min(position, len(self._sub_steps)))
        if position == 0:
            return Cursor(0, 0)
        step = bisect_right(self._steps, position - 1) - 1
        return Cursor(step, position - self._steps[step])


def _same_sentence(opener: Event | None, event: Event) -> bool:
    if opener is None or type(opener) not in CONTINUES[type(event)]:
        return False
    same: bool = opener.request_id == event.request_id  # type: ignore[attr-defined]
    return same
