"""Scripted runs for questions: every moment at which the engine itself gave the answer."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.config import EngineConfig
from engine.questions.miss import Miss, why_miss
from engine.trace.events import Event, PrefixLookedUp
from engine.trace.header import TraceHeader
from engine.trace.state import Cursor
from engine.trace.trace import Trace
from engine.workload import ScriptedRun, parse_workload


def request(
    request_id: str, prompt: Sequence[int], step: int = 0, **options: Any
) -> dict[str, Any]:
    """One that makes two tokens, unless told otherwise."""
    options.setdefault("output", [901, 902])
    return {"id": request_id, "prompt": list(prompt), "arrival_step": step, **options}


def run(
    *requests: Mapping[str, Any], ops: Sequence[Mapping[str, Any]] = (), **settings: Any
) -> Trace:
    """To the end, or to where nothing moves any more."""
    config = EngineConfig.from_mapping(settings).to_mapping()
    script = {"name": "story", "config": config, "requests": list(requests), "ops": list(ops)}
    workload = parse_workload(script)
    trace = Trace(TraceHeader(config=config))
    scripted = ScriptedRun(workload, emit=trace.append)
    while not scripted.is_over:
        scripted.step()
        if scripted.engine.is_stuck and scripted.engine.step_index > workload.last_input_step:
            break
    return trace


def sub_steps(trace: Trace) -> Iterator[tuple[Cursor, list[Event]]]:
    """Each sub-step with the cursor right before it."""
    for step in range(trace.num_steps):
        for sub_step in range(trace.num_sub_steps(step)):
            yield Cursor(step, sub_step), trace.events(step, sub_step)


def lookups(trace: Trace) -> Iterator[tuple[Cursor, PrefixLookedUp]]:
    """Each lookup of a run with the cursor right before it."""
    for cursor, happened in sub_steps(trace):
        if isinstance(happened[0], PrefixLookedUp):
            yield cursor, happened[0]


def verdict(trace: Trace, request_id: str) -> Miss:
    """About the request's last lookup in the run."""
    found = why_miss(trace, trace.last, request_id)
    assert found is not None
    return found
