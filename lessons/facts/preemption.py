"""Preemption: who is thrown out, what for, and how it comes back."""

from engine.trace.events import BlocksTaken, RequestAdmitted, RequestPreempted
from engine.trace.trace import Trace
from lessons.errors import FactError
from lessons.facts.schedule import is_scheduled, scheduled_tokens
from lessons.facts.tables import state_at, table_at
from lessons.happenings import Happening, events_of


def victim(trace: Trace, *, nth: int = 1) -> str:
    """The request that was preempted first (nth = 1), second, .."""
    victims = [event.request_id for _, event in events_of(trace, RequestPreempted)]
    if nth > len(victims):
        raise _few_preempted(len(victims))
    return victims[nth - 1]


def preempted_for(trace: Trace, *, nth: int = 1) -> str | None:
    """Who needed the blocks at the nth preemption."""
    found = [event.for_request_id for _, event in events_of(trace, RequestPreempted)]
    if nth > len(found):
        raise _few_preempted(len(found))
    return found[nth - 1]


def preempted_step(trace: Trace, *, nth: int = 1) -> int:
    """The step, counted from 0, of the nth preemption."""
    steps = [happening.step for happening, _ in events_of(trace, RequestPreempted)]
    if nth > len(steps):
        raise _few_preempted(len(steps))
    return steps[nth - 1]


def _few_preempted(count: int) -> FactError:
    return FactError.of("fact.few_preempted", "{n} requests are preempted in this run", n=count)


def num_preemptions(trace: Trace) -> int:
    """How often anybody lost their blocks in the whole run."""
    return sum(1 for _ in events_of(trace, RequestPreempted))


def resumed_step(trace: Trace, *, request: str) -> int:
    """The step, counted from 0, in which the preempted request was admitted again."""
    return _resumption(trace, request)[0].step


def resumed_hit_tokens(trace: Trace, *, request: str) -> int:
    """What the request's lookup found when it was admitted again."""
    return _resumption(trace, request)[1]


def _resumption(trace: Trace, request: str) -> tuple[Happening, int]:
    for happening, event in events_of(trace, RequestAdmitted, request):
        if event.resumed:
            return happening, event.num_hit_tokens
    raise FactError.of(
        "fact.not_resumed", "{request} is never resumed in this run", request=request
    )


def block_taken_by_preempting(trace: Trace, *, request: str) -> int:
    """The first block that the request takes in the step in which somebody was preempted for it."""
    for happening, event in events_of(trace, RequestPreempted):
        if event.for_request_id != request:
            continue
        for then, taken in events_of(trace, BlocksTaken, request, happening.step):
            if then.position > happening.position:
                return taken.block_ids[0]
    raise FactError.of(
        "fact.not_preempted_for", "nobody is preempted for {request} in this run", request=request
    )


def returns_in_step(trace: Trace, *, request: str, step: int) -> bool:
    """Whether a request that waits after a preemption runs again in this step; it must be waiting
    when the step before is over."""
    state = state_at(trace, f"after_update of step {step - 1}")
    found = state.requests.get(request)
    if found is None or request not in state.waiting or not found.num_preemptions:
        raise FactError.of(
            "fact.not_waiting_again",
            "{request} does not wait after a preemption in step {step}",
            request=request,
            step=step - 1,
        )
    return is_scheduled(trace, request=request, step=step)


def resumed_tokens(trace: Trace, *, request: str) -> int:
    """Tokens that the request computes in the step in which it is admitted again."""
    return scheduled_tokens(trace, request=request, step=_resumption(trace, request)[0].step)


def resumed_table(trace: Trace, *, request: str) -> tuple[int, ...]:
    """The physical block ids of the request as soon as it has been admitted again."""
    step = _resumption(trace, request)[0].step
    at = f"after first RequestScheduled about {request} in step {step}"
    return tuple(table_at(trace, request, at=at, group=0))
