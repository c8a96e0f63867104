"""A run as a list of events, and the picture at every place of it.

Appending is `list.append`; everything else is found out when somebody looks. Pictures are folded
from the nearest one that is known: keyframes lie so close that a jump is short, and as far apart
as their size asks, so that memory grows with what happened. What `at` returns never changes again.
"""

import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable
from operator import length_hint
from typing import Any

from engine.errors import Sentence, TraceError
from engine.trace.events import Event
from engine.trace.header import TraceHeader
from engine.trace.keyframe import first_keyframe, next_keyframe, num_entries
from engine.trace.reducer import MEANING
from engine.trace.state import Cursor, State
from engine.trace.step_index import StepIndex

MIN_KEYFRAME_DISTANCE = 4_096  # events
MAX_KEYFRAME_DISTANCE = 16_384
NUM_RECENT_STATES = 8

REFUSALS = (TraceError, LookupError, ValueError, TypeError, AttributeError, ArithmeticError)


class EventRefusedError(TraceError):
    """The event at `place` (counted from 0) cannot have happened."""

    def __init__(self, place: int, event: Event, step: int, reason: str) -> None:
        kind = type(event).__name__
        self.place = place
        self.reason = Sentence.of(
            "trace.event", "{kind} of step {step}: {reason}", kind=kind, step=step, reason=reason
        )
        super().__init__(
            Sentence.of("trace.place", "event {place}, {reason}", place=place, reason=self.reason)
        )


class Trace:
    """The events of one run, readable by many while one writer appends.

    A step is closed by its StepEnded; what follows belongs to the next one. Each step falls into
    sub-steps, each told by one sentence. `Cursor(step, n)` means that n sub-steps of it happened.
    """

    def __init__(self, header: TraceHeader) -> None:
        self.header = header
        self._events: list[Event] = []
        self.append: Callable[[Any], None] = self._events.append
        self.emit = self.append
        self.extend: Callable[[Iterable[Any]], None] = self._events.extend
        self._index = StepIndex(self._events)
        self._lock = threading.RLock()
        self._keyframe_places = [0]
        self._keyframes = [first_keyframe(State(header.config))]
        self._recent: OrderedDict[int, State] = OrderedDict()  # place -> picture

    # Events -----------------------------------------------------------------------------------

    @property
    def num_events(self) -> int:
        return len(self._events)

    @property
    def num_steps(self) -> int:
        """Steps that have at least one event; the last may still be open."""
        with self._lock:
            return self._index.update().num_steps

    def num_sub_steps(self, step: int) -> int:
        with self._lock:
            index = self._index.update()
            return index.num_sub_steps(step) if 0 <= step < index.num_steps else 0

    def events(self, step: int, sub_step: int) -> list[Event]:
        """The events of one sub-step, counted from 0: those between two cursors."""
        start = self._place(Cursor(step, sub_step))
        return self._events[start : self._place(Cursor(step, sub_step + 1))]

    def step_events(self, step: int) -> list[Event]:
        start = self._place(Cursor(step, 0))
        return self._events[start : self._place(Cursor(step, self.num_sub_steps(step)))]

    def events_before(self, cursor: Cursor) -> list[Event]:
        """Everything that has happened at `cursor`, from the start of the run."""
        return self._events[: self._place(cursor)]

    def events_from(self, place: int) -> list[Event]:
        """All events but the first `place` ones."""
        return self._events[place:]

    # Cursors ----------------------------------------------------------------------------------

    @property
    def last(self) -> Cursor:
        return self.cursor_at(self.num_positions - 1)

    def after_schedule(self, step: int) -> Cursor:
        """Where schedule() of the step is done; the end of what is there if it is not yet."""
        with self._lock:
            return Cursor(step, self._index.update().sub_steps_until_scheduled(step))

    def after_update(self, step: int) -> Cursor:
        return Cursor(step, self.num_sub_steps(step))

    def next(self, cursor: Cursor) -> Cursor:
        return self.cursor_at(self.position(cursor) + 1)

    def previous(self, cursor: Cursor) -> Cursor:
        return self.cursor_at(self.position(cursor) - 1)

    def clamp(self, cursor: Cursor) -> Cursor:
        """The nearest cursor that exists."""
        step = max(0, min(cursor.step, self.num_steps - 1))
        return Cursor(step, max(0, min(cursor.sub_step, self.num_sub_steps(step))))

    @property
    def num_positions(self) -> int:
        """Places of a slider: before everything, and after each sub-step of the run."""
        with self._lock:
            return self._index.update().num_all_sub_steps + 1

    def position(self, cursor: Cursor) -> int:
        """How many sub-steps of the whole run have happened at `cursor`."""
        with self._lock:
            step, sub_step = self.clamp(cursor)
            return self._index.first_sub_step(step) + sub_step

    def cursor_at(self, position: int) -> Cursor:
        """The cursor of a slider's place; the end of a step rather than the start of the next."""
        with self._lock:
            return self._index.update().cursor_at(position)

    # Pictures ---------------------------------------------------------------------------------

    def at(self, cursor: Cursor) -> State:
        """The whole picture at `cursor`. EventRefusedError names the event that makes no sense."""
        with self._lock:
            place = self._place(cursor)
            start = self._place(Cursor(cursor.step, 0))
            if self._nearest_place(place) < start < place:
                self._state_at(start)  # remembered, so that going back in this step is short
            return self._state_at(place)

    def _place(self, cursor: Cursor) -> int:
        """The number of events that have happened at `cursor`."""
        with self._lock:
            return self._index.update().event_place(self.position(cursor))

    def _nearest_place(self, place: int) -> int:
        """Of the last known picture at or before `place`."""
        frame = bisect_right(self._keyframe_places, place) - 1
        recent = [known for known in self._recent if known <= place]
        return max([self._keyframe_places[frame], *recent])

    def _state_at(self, place: int) -> State:
        known = self._nearest_place(place)
        state = self._recent.get(known)
        if state is None:
            state = self._keyframes[bisect_right(self._keyframe_places, known) - 1].open()
        elif known < place:
            state = state.copy()
        state = self._fold(state, known, place)
        self._recent[place] = state
        self._recent.move_to_end(place)
        if len(self._recent) > NUM_RECENT_STATES:
            self._recent.popitem(last=False)
        return state

    def _fold(self, state: State, start: int, stop: int) -> State:
        """Apply the events from `start` to `stop - 1`, leaving keyframes where none are yet."""
        while start < stop:
            due = self._keyframe_places[-1] + _keyframe_distance(state)
            if due <= start:
                self._keyframe_places.append(start)
                self._keyframes.append(next_keyframe(self._keyframes[-1], state))
            else:
                pause = min(stop, due)
                self._apply(state, start, pause)
                start = pause
        return state

    def _apply(self, state: State, start: int, stop: int) -> None:
        ahead = iter(self._events[start:stop])
        try:
            for event in ahead:
                MEANING[type(event)](state, event)
        except REFUSALS as error:
            place = stop - length_hint(ahead) - 1
            step = self._index.cursor_at(self._index.sub_steps_before(place)).step
            reason = error.sentence if isinstance(error, TraceError) else _not_there(error)
            raise EventRefusedError(place, self._events[place], step, reason) from error


def _not_there(error: Exception) -> Sentence:
    """A KeyError has the name that was looked for; what others say is Python's English."""
    if isinstance(error, KeyError):
        named = ", ".join(map(str, error.args))
        return Sentence.of("trace.not_there", "it names what is not there ({named})", named=named)
    return Sentence.of("trace.does_not_fit", "it does not fit what was before")


def _keyframe_distance(state: State) -> int:
    """In events: finding out what has changed takes a look at each entry of the State."""
    return min(max(MIN_KEYFRAME_DISTANCE, num_entries(state) // 16), MAX_KEYFRAME_DISTANCE)
