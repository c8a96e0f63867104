"""A run as far as it may be seen."""

from engine.trace.per_trace import OnePerTrace
from engine.trace.state import Cursor
from engine.trace.trace import Trace

_BEGINNINGS: OnePerTrace[dict[int, Trace]] = OnePerTrace(lambda _: {})


def beginning_of(trace: Trace, cursor: Cursor) -> Trace:
    """The run as it was known at `cursor`; the same object for everybody who asks."""
    position = trace.position(cursor)
    if position == trace.num_positions - 1:
        return trace
    known = _BEGINNINGS.of(trace)
    if position not in known:
        part = Trace(trace.header)
        part.extend(trace.events_before(cursor))
        known[position] = part
    return known[position]
