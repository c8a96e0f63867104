"""Growth: in which step a request gets a block or loses one to its window, and where its answer lives."""

from engine.trace.events import BlocksTaken, BlocksTouched, RequestPreempted
from engine.trace.trace import Trace
from lessons.errors import FactError
from lessons.facts.schedule import computed_tokens_before
from lessons.facts.tables import block_of_token, nth_hole, num_prompt_tokens, step_of_hole
from lessons.happenings import events_of


def step_of_nth_block(trace: Trace, *, request: str, nth: int) -> int:
    """The step, counted from 0, in which the request's table gets its nth (1 = first) block."""
    held = 0
    found = [(when, 0) for when, _ in events_of(trace, RequestPreempted, request)]
    for events in (
        events_of(trace, BlocksTouched, request),
        events_of(trace, BlocksTaken, request),
    ):
        found += [(when, len(e.block_ids)) for when, e in events if e.group_id == 0]
    for happening, num_blocks in sorted(found, key=lambda each: each[0].position):
        held = held + num_blocks if num_blocks else 0
        if held >= nth:
            return happening.step
    raise FactError.of(
        "fact.few_held",
        "{request} gets {n} blocks in this run, and the {nth}th is asked for",
        request=request,
        n=held,
        nth=nth,
    )


def computed_tokens_before_block(trace: Trace, *, request: str, nth: int) -> int:
    """Tokens of the request that were in the cache when the step of its nth block began to run it."""
    step = step_of_nth_block(trace, request=request, nth=nth)
    return computed_tokens_before(trace, request=request, step=step)


def step_of_nth_hole(trace: Trace, *, request: str, nth: int) -> int:
    """The step, counted from 0, in which the nth (1 = first) block left the request's window."""
    block = nth_hole(trace, request=request, nth=nth)
    return step_of_hole(trace, request=request, block=block)


def block_of_answer(trace: Trace, *, request: str, at: str) -> int:
    """The physical block in which the first token of the answer lives."""
    first = num_prompt_tokens(trace, request=request)
    return block_of_token(trace, request=request, token=first, at=at)
