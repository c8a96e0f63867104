"""Traces for the tests of the figures: the golden workloads, run here and now."""

import functools
from collections.abc import Iterator
from pathlib import Path

import msgspec

from engine.trace.header import TraceHeader
from engine.trace.trace import Trace
from engine.workload import ScriptedRun, read_workload
from views.figures.moment import Moment, moment_at

WORKLOADS = Path(__file__).parents[1] / "data" / "golden" / "workloads"
NAMES = sorted(path.stem for path in WORKLOADS.glob("*.json"))


@functools.lru_cache(maxsize=4)
def golden_trace(name: str) -> Trace:
    workload = read_workload(WORKLOADS / f"{name}.json")
    trace = Trace(TraceHeader(config=workload.config.to_mapping()))
    for _ in ScriptedRun(workload, emit=trace.append).run():
        pass
    return trace


def moments(trace: Trace, at_most: int = 40) -> Iterator[Moment]:
    """Evenly spread over the run, with both ends."""
    last = trace.num_positions - 1
    stride = max(1, last // at_most)
    for position in [*range(0, last, stride), last]:
        yield moment_at(trace, trace.cursor_at(position))


def doc_moment(step: int, sub_step: int) -> Moment:
    trace = golden_trace("doc_example")
    cursor = trace.clamp(trace.after_update(step)) if sub_step < 0 else (step, sub_step)
    return moment_at(trace, type(trace.last)(*cursor))


@functools.lru_cache(maxsize=1)
def trace_with_cut_hits() -> Trace:
    """A golden workload whose requests meet blocks that nobody computed, with our departure on."""
    workload = read_workload(WORKLOADS / "priority_stale_blocks.json")
    config = msgspec.structs.replace(workload.config, recompute_invalid_hits=True)
    trace = Trace(TraceHeader(config=config.to_mapping()))
    for _ in ScriptedRun(msgspec.structs.replace(workload, config=config), emit=trace.append).run():
        pass
    return trace
