"""A trace that came from a file, to be looked at: nothing here can go on.

What can be read is opened. The sentence about the rest is kept beside it, for the page to say.
"""

from pathlib import Path

from engine.config import EngineConfig
from engine.errors import ConfigError, SourceError
from engine.sources.branch import settings_at
from engine.trace.codec import MAX_BYTES, is_midway, read_trace
from engine.trace.events import INPUT_EVENTS, Event, StepBegan, StepEnded
from engine.trace.trace import Trace


class RecordedSource:
    """engine.sources.source.Source. `problem`: one sentence about what could not be read."""

    def __init__(self, trace: Trace, problem: str | None = None) -> None:
        """SourceError if this engine does not understand the settings of the run."""
        self.trace = trace
        self.problem = problem
        try:
            self.config: EngineConfig = settings_at(trace, trace.last)
        except ConfigError as error:
            raise SourceError.of(
                "file.settings",
                "the settings of this run are not understood: {reason}",
                reason=error.sentence,
            ) from error


def open_recorded(content: str | Path | bytes, *, max_bytes: int = MAX_BYTES) -> RecordedSource:
    """A file, or its bytes (gzip or not). SourceError if not even its header can be read.

    `max_bytes` holds for the file and for what it unfolds to.
    """
    loaded = read_trace(content, max_bytes=max_bytes)
    if loaded.trace is None:
        raise SourceError.of(
            "file.nothing", "nothing of this file can be opened: {problem}", problem=loaded.problem
        )
    return RecordedSource(loaded.trace, loaded.problem)


def last_whole(trace: Trace) -> Trace:
    """The run up to its last finished step, and what it was given after that.

    A step that has begun is left out, and so is an input of which the last events are missing.
    The same trace, where nothing has to go.
    """
    events = trace.events_from(0)
    end = _end_of_inputs(events)
    while True:
        whole = trace if end == len(events) else _beginning_of(trace, events[:end])
        if end == 0 or not is_midway(whole.at(whole.last)):
            return whole
        end = _start_of_last_input(events, end)


def _beginning_of(trace: Trace, events: list[Event]) -> Trace:
    shorter = Trace(trace.header)
    shorter.extend(events)
    return shorter


def _end_of_inputs(events: list[Event]) -> int:
    """Where the first step begins that has no end."""
    for place in range(len(events) - 1, -1, -1):
        if isinstance(events[place], StepEnded):
            return len(events)
        if isinstance(events[place], StepBegan):
            return place
    return len(events)


def _start_of_last_input(events: list[Event], end: int) -> int:
    """Where the last input before `end` begins; the end of the step before it if there is none."""
    for place in range(end - 1, -1, -1):
        if isinstance(events[place], INPUT_EVENTS):
            return place
        if isinstance(events[place], StepEnded) and place < end - 1:
            return place + 1
    return 0
