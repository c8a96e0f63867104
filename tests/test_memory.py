"""Case B53 of data/cases.json: looking at a run, and ending one, leaves nothing behind."""

import gc
import json
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from engine.trace.header import TraceHeader
from engine.trace.trace import Trace
from engine.workload import ScriptedRun, parse_workload
from tests.source_tree import ROOT
from views.figures.batch.batch import batch
from views.figures.cache.pool import pool
from views.figures.cache.queue import queue
from views.figures.cache.requests import requests
from views.figures.cache.tables import tables
from views.figures.moment import moment_at
from views.figures.numbers import numbers
from views.figures.time.narration import narration
from views.figures.tree.tree import tree
from views.text import Text

CASES = json.loads((Path(__file__).parent / "data" / "cases.json").read_text(encoding="utf-8"))
TEXT = Text("en")
FIGURES = (requests, tables, pool, queue)
MB = 10**6


def conversations() -> Trace:
    """Seventy steps of a published production trace on the scripted engine."""
    case = next(case for case in CASES["scenarios"] if case["name"] == "mooncake_conversations")
    fields = ("name", "config", "requests", "max_steps")
    workload = parse_workload({name: case[name] for name in fields})
    trace = Trace(TraceHeader(config=workload.config.to_mapping()))
    for _ in ScriptedRun(workload, emit=trace.emit).run():
        pass
    return trace


def look(trace: Trace, position: int) -> None:
    cursor = trace.cursor_at(position)
    moment = moment_at(trace, cursor)
    for figure in FIGURES:
        figure(moment, TEXT)
    numbers(trace, moment, cursor, TEXT)
    batch(trace, cursor, TEXT)
    tree(moment, TEXT, trace=trace)
    narration(trace, cursor, TEXT)


def held_bytes() -> int:
    """What our own code allocated and holds."""
    gc.collect()
    ours = [tracemalloc.Filter(True, f"{ROOT / room}/*") for room in ("engine", "views")]
    held = tracemalloc.take_snapshot().filter_traces(ours).statistics("filename")
    return sum(statistic.size for statistic in held)


def alone(measure: Callable[[], int]) -> int:
    """In a process of its own: other tests of this one leave threads that go on allocating."""
    with ProcessPoolExecutor(1, get_context("spawn"), tracemalloc.start) as process:
        return process.submit(measure).result()


def growth_by_redraws() -> int:
    trace = conversations()
    for position in range(0, trace.num_positions, 8):
        look(trace, position)
    warm = held_bytes()
    for number in range(1000):
        look(trace, number * 37 % trace.num_positions)
    return held_bytes() - warm


def growth_by_closed_runs() -> int:
    conversations()
    before = held_bytes()
    for _ in range(20):
        look(conversations(), 200)
    return held_bytes() - before


def growth_by_a_held_run() -> int:
    before = held_bytes()
    held = conversations()
    look(held, 200)
    return held_bytes() - before


def test_a_thousand_redraws_hold_nothing_more():
    assert alone(growth_by_redraws) < 1 * MB


def test_a_closed_run_gives_back_what_it_held():
    assert alone(growth_by_closed_runs) < 1 * MB


def test_a_run_that_is_held_would_be_seen():
    assert alone(growth_by_a_held_run) > MB // 10
