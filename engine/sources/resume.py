"""Going on with a run that was saved: its past is done again, and its trace stays as it is.

The engine repeats every step with the tokens that were recorded, so that K and V are there again.
What it emits meanwhile is compared with the trace; from the first new event on the trace grows.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from engine.config import EngineConfig
from engine.errors import SourceError, TraceError
from engine.sources.branch import Course, Input, course_of, plan_branch
from engine.trace.codec import without_times
from engine.trace.events import Event, TokensSampled
from engine.trace.header import TraceHeader
from engine.trace.trace import Trace

# What has to be the same for K and V, and so for the next tokens, to be the same.
SAME_FIELDS = ("model", "tokenizer_id", "dtype", "device", "kernel", "eos_token_ids")


class Rest(msgspec.Struct, frozen=True, kw_only=True):
    """What a branch had still to repeat when it began: lost with it, if it is not saved as well."""

    step: int  # where the branch begins
    inputs: tuple[Input, ...] = ()
    tokens: Mapping[str, tuple[int, ...]] = {}


def rest_of(course: Course) -> Rest | None:
    """None for a run that is no branch: there is nothing to repeat."""
    inputs = tuple(course.left)
    if not (course.step or inputs):
        return None
    tokens = {id_: tuple(tokens) for id_, tokens in course.tokens.items()}
    return Rest(step=course.step, inputs=inputs, tokens=tokens)


def course_again(trace: Trace, rest: Rest | None = None) -> Course:
    """Everything up to the end of `trace` (see `last_whole`), and what its branch had before it."""
    done = course_of(trace, trace.last, plan_branch(trace, trace.last, {}))
    if rest is None:
        return done
    tokens = dict(done.tokens)
    for id_, kept in rest.tokens.items():
        tokens[id_] = max(tokens.get(id_, ()), kept, key=len)
    inputs = [*done.left, *_still_to_come(done, rest)]
    return Course(max(done.step, rest.step), inputs, tokens, none_hash=done.none_hash)


def _still_to_come(done: Course, rest: Rest) -> list[Input]:
    """The inputs of a step come before those of a visitor: as many as are there are done."""
    now = [event for event in rest.inputs if event.step == done.step]
    before = [event for event in now if event.phase == "before"]
    num_done = sum(event.step == done.step for event in done.left)
    middle = [event for event in now if event.phase != "before"]
    return [*before[num_done:], *middle, *(e for e in rest.inputs if e.step > done.step)]


class Repetition:
    """Takes the events of an engine: those that the trace holds already, then new ones."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._recorded: Sequence[Event] = trace.events_from(0)
        self._place = 0

    @property
    def is_over(self) -> bool:
        return self._place == len(self._recorded)

    def emit(self, event: Any) -> None:
        """TraceError if the engine takes another course than the one that was recorded."""
        if self._place == len(self._recorded):
            self._trace.append(event)
            return
        recorded = self._recorded[self._place]
        if _comparable(event) != _comparable(recorded):
            raise TraceError.of(
                "resume.differs",
                "this saved run does not repeat itself: event {place} was {was} and is {now} now, "
                "or differs in a field. It can be looked at, but not gone on with.",
                place=self._place,
                was=type(recorded).__name__,
                now=type(event).__name__,
            )
        self._place += 1


def _comparable(event: Event) -> Event:
    """Without times, and without logprobs: their last digits depend on threads and batches."""
    if isinstance(event, TokensSampled):
        return msgspec.structs.replace(event, logprobs=(), top_logprobs=())
    return without_times(event)


def check_same(recorded: TraceHeader, now: TraceHeader) -> None:
    """SourceError if a run was made in a way in which this server would not go on with it."""
    for name in SAME_FIELDS:
        was, is_now = getattr(recorded, name), getattr(now, name)
        if was != is_now:
            raise SourceError.of(
                "resume.other_server",
                "this run was made with {name}={was}, and this server has {now}: it can be looked "
                "at, but not gone on with",
                name=name,
                was=f"{was!r:.80}",
                now=f"{is_now!r:.80}",
            )
    if EngineConfig.from_mapping(recorded.config) != EngineConfig.from_mapping(now.config):
        raise SourceError.of(
            "resume.other_settings",
            "this run was made with settings that this server understands in another way: it can "
            "be looked at, but not gone on with",
        )
