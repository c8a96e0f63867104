"""When each event of a run happened, in microseconds since it began.

A live run notes when a step began and how long its three parts took. What happens inside a part is
spread evenly over it, in its order:

    StepBegan ......... StepScheduled ......... SlotsWritten ......... StepEnded
    time_s  + schedule_s              + run_s               + update_s

A run without such notes gets STEP_US for each step, and everything in it is spread over that.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from engine.trace import events
from engine.trace.events import Event

STEP_US = 1_000.0
MAX_RUN_S = 1e9  # thirty years: a longer run is a mistake of its file

STEPS_ONLY = "the trace holds no times: 1 ms is one step, and what happens in it is spread evenly"
STEPS_BROKEN = "the times in the trace run backwards or stand in some steps only: 1 ms is one step"
SCHEDULER = (
    "no model ran: the times are those of the scheduler alone while this was recorded; what happens "
    "between two measurements is spread evenly"
)
REAL = "seconds as measured; what happens between two measurements is spread evenly"


def batches(all_events: Iterable[Event]) -> Iterator[list[Event]]:
    """The events step by step, each with what came in before it; the last may be unfinished."""
    batch: list[Event] = []
    for event in all_events:
        batch.append(event)
        if type(event) is events.StepEnded:
            yield batch
            batch = []
    if batch:
        yield batch


def which_times(all_events: Iterable[Event]) -> str:
    """REAL, STEPS_ONLY or STEPS_BROKEN: a sentence for whoever reads the times."""
    before, num_known, num_unknown = 0.0, 0, 0
    for event in all_events:
        if isinstance(event, events.StepBegan):
            began = event.time_s
            num_known, num_unknown = num_known + (began is not None), num_unknown + (began is None)
            if began is not None:
                if not before <= began <= MAX_RUN_S:
                    return STEPS_BROKEN
                before = began
        elif isinstance(event, events.StepEnded):
            parts = (event.schedule_s, event.run_s, event.update_s)
            if any(part is not None and not 0 <= part <= MAX_RUN_S for part in parts):
                return STEPS_BROKEN
    if not num_known:
        return STEPS_ONLY
    return STEPS_BROKEN if num_unknown else REAL


class StepClock:
    """Asked step by step, in order. No time is before the one that was given last."""

    def __init__(self, *, is_real: bool) -> None:
        self.is_real = is_real
        self.now = 0.0
        self._num_steps = 0

    def times(self, batch: Sequence[Event]) -> list[float]:
        """One for each event. What came in before the step began stands at its beginning."""
        marks = self._measured(batch) if self.is_real else self._counted(batch)
        self._num_steps += 1
        found: list[float] = []
        for (start, begins), (stop, ends) in pairwise(marks):
            step = (ends - begins) / max(1, stop - start)
            found += [round(begins + step * place, 3) for place in range(stop - start)]
        found.append(round(marks[-1][1], 3))
        found += found[-1:] * (len(batch) - len(found))
        self.now = found[-1]
        return found[: len(batch)]

    def _counted(self, batch: Sequence[Event]) -> list[tuple[int, float]]:
        began, last = _place_of(batch, events.StepBegan) or 0, len(batch) - 1
        start = self._num_steps * STEP_US
        ends = STEP_US if type(batch[-1]) is events.StepEnded else STEP_US * last / (last + 1)
        return [(0, start), (began, start), (last, start + ends)]

    def _measured(self, batch: Sequence[Event]) -> list[tuple[int, float]]:
        """(place in the batch, time) of what was measured."""
        place = _place_of(batch, events.StepBegan)
        if place is None:
            return [(0, self.now)]
        began, ended = batch[place], batch[-1]
        assert isinstance(began, events.StepBegan)
        now = max(self.now, 1e6 * (began.time_s or 0.0))
        marks = [(0, now), (place, now)]
        if not isinstance(ended, events.StepEnded):
            return marks
        for kind, seconds in (
            (events.StepScheduled, ended.schedule_s),
            (events.SlotsWritten, ended.run_s),
            (events.StepEnded, ended.update_s),
        ):
            now += 1e6 * (seconds or 0.0)
            reached = _place_of(batch, kind)
            if reached is not None:
                marks.append((reached, now))
        return marks


def _place_of(batch: Sequence[Event], kind: type[Event]) -> int | None:
    return next((place for place, event in enumerate(batch) if type(event) is kind), None)
