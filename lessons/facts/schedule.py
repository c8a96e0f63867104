"""Steps: who runs, who waits, who is thrown out, and how many tokens each one computes."""

from engine.trace.events import (
    RequestFinished,
    RequestScheduled,
    StepScheduled,
)
from engine.trace.trace import Trace
from lessons.errors import FactError
from lessons.facts.tables import state_at
from lessons.happenings import events_of, scheduled


def scheduled_tokens(trace: Trace, *, request: str, step: int) -> int:
    """Tokens that the request computes in a step; 0 where it is not scheduled."""
    rows = events_of(trace, RequestScheduled, request, step)
    return sum(event.num_scheduled_tokens for _, event in rows)


def computed_tokens_before(trace: Trace, *, request: str, step: int) -> int:
    """Tokens of the request whose K and V were in the cache when the step began to run it."""
    return scheduled(trace, request, step).num_computed_tokens


def tokens_by_step(trace: Trace, *, request: str) -> tuple[int, ...]:
    """What the request computed, step by step, in the steps in which it ran."""
    rows = events_of(trace, RequestScheduled, request)
    return tuple(event.num_scheduled_tokens for _, event in rows)


def first_scheduled_step(trace: Trace, *, request: str) -> int:
    """The step, counted from 0, in which the request ran first."""
    for happening, _ in events_of(trace, RequestScheduled, request):
        return happening.step
    raise FactError.of(
        "fact.never_scheduled", "{request} is never scheduled in this run", request=request
    )


def is_scheduled(trace: Trace, *, request: str, step: int) -> bool:
    """Whether the request computes anything in a step."""
    return scheduled_tokens(trace, request=request, step=step) > 0


def first_scheduled_tokens(trace: Trace, *, request: str) -> int:
    """Tokens that the request computes in the first step in which it runs."""
    step = first_scheduled_step(trace, request=request)
    return scheduled_tokens(trace, request=request, step=step)


def finished_step(trace: Trace, *, request: str) -> int:
    """The step, counted from 0, in which the request ended."""
    for happening, _ in events_of(trace, RequestFinished, request):
        return happening.step
    raise FactError.of(
        "fact.not_finished", "{request} does not finish in this run", request=request
    )


def step_of_token(trace: Trace, *, request: str, token: int) -> int:
    """The step, counted from 0, that computes the token at this position (from 0)."""
    for happening, event in events_of(trace, RequestScheduled, request):
        if (
            event.num_computed_tokens
            <= token
            < event.num_computed_tokens + event.num_scheduled_tokens
        ):
            return happening.step
    raise FactError.of(
        "fact.not_computed",
        "token {token} of {request} is never computed in this run",
        token=token,
        request=request,
    )


def num_common_prefix_blocks(trace: Trace, *, step: int, group: int = 0) -> int:
    """Leading blocks that every running request holds, as schedule() of the step reports them."""
    for _, event in events_of(trace, StepScheduled, step=step):
        return event.num_common_prefix_blocks[group]
    raise FactError.of("fact.no_step", "this run has no step {step}", step=step)


def waiting(trace: Trace, *, at: str) -> tuple[str, ...]:
    """The waiting queue, served from the front."""
    return tuple(state_at(trace, at).waiting)


def running(trace: Trace, *, at: str) -> tuple[str, ...]:
    """The running list, in its order."""
    return tuple(state_at(trace, at).running)


def num_waiting(trace: Trace, *, at: str) -> int:
    """Requests in the waiting queue."""
    return len(state_at(trace, at).waiting)


def num_running(trace: Trace, *, at: str) -> int:
    """Requests in the running list."""
    return len(state_at(trace, at).running)


def last_step(trace: Trace) -> int:
    """The last step of the run, counted from 0."""
    return trace.num_steps - 1
