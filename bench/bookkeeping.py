"""Scheduler and trace without a model: scripted tokens, so that nothing else takes time."""

import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from bench import workloads
from bench.measure import alternating_medians, percentile, print_table, rounded
from engine.config import EngineConfig
from engine.trace.codec import read_trace, write_trace
from engine.trace.events import Emit, ignore
from engine.trace.header import TraceHeader
from engine.trace.state import Cursor
from engine.trace.trace import Trace
from engine.workload import ScriptedRequest, ScriptedRun, Workload

BLOCK_SIZE = 16
WARM_UP_STEPS = 5
NUM_JUMPS = 300
PROMPT_TOKENS = workloads.SCHEDULER_PROMPT_TOKENS


def decoding_workload(size: workloads.Size) -> Workload:
    """256 requests that all decode: blocks for everyone, nobody finishes."""
    num_requests = workloads.RUNNING_REQUESTS
    num_new = size.num_scheduler_steps + WARM_UP_STEPS + 1
    blocks_each = (PROMPT_TOKENS + num_new) // BLOCK_SIZE + 1
    return _workload("decoding", num_new, num_blocks=num_requests * blocks_each + 1)


def pressed_workload(size: workloads.Size) -> Workload:
    """The same with blocks for a third of them: preemptions and resumptions all the time."""
    roomy = decoding_workload(size)
    num_new = size.num_scheduler_steps + WARM_UP_STEPS + 1
    return _workload("pressure", num_new, num_blocks=roomy.config.num_blocks // 3)


def _workload(name: str, num_new_tokens: int, *, num_blocks: int) -> Workload:
    prompts = workloads.scheduler_prompts()
    config = EngineConfig(
        block_size=BLOCK_SIZE,
        num_blocks=num_blocks,
        max_num_batched_tokens=16_384,
        max_num_seqs=len(prompts),
        max_model_len=2_048,
    )
    requests = tuple(
        ScriptedRequest(
            id=f"r{number}",
            arrival_step=0,
            prompt=tuple(prompt),
            output=tuple(workloads.random_prompt(num_new_tokens)),
        )
        for number, prompt in enumerate(prompts)
    )
    return Workload(name=name, config=config, requests=requests, max_steps=1_000_000)


def steps_a_second(workload: Workload, num_steps: int, *, recording: bool) -> float:
    """schedule() and update() alone, after the step that admits everybody and a few more."""
    trace = Trace(TraceHeader(config=workload.config.to_mapping()))
    emit: Emit = trace.emit if recording else ignore
    run = ScriptedRun(workload, emit=emit)
    engine = run.engine
    seconds = 0.0
    for step in range(WARM_UP_STEPS + num_steps):
        run.before()
        start_s = time.perf_counter()
        engine.schedule()
        scheduled_s = time.perf_counter() - start_s
        engine.run()
        start_s = time.perf_counter()
        engine.update()
        if step >= WARM_UP_STEPS:
            seconds += scheduled_s + time.perf_counter() - start_s
    return num_steps / seconds


def measure_scheduler(size: workloads.Size) -> dict[str, Any]:
    num_steps = size.num_scheduler_steps
    rows = {}
    for workload in (decoding_workload(size), pressed_workload(size)):
        rows[workload.name] = alternating_medians(
            {
                "off": lambda w=workload: steps_a_second(w, num_steps, recording=False),
                "on": lambda w=workload: steps_a_second(w, num_steps, recording=True),
            },
            num_rounds=max(2, size.num_rounds),
        )
    print_table(
        f"Scheduler, steps/s with {workloads.RUNNING_REQUESTS} requests",
        f"{num_steps} steps of schedule() and update() with scripted tokens, recording off and on; "
        f"{PROMPT_TOKENS}-token prompts, blocks of {BLOCK_SIZE}; under pressure the pool holds a third",
        ("workload", "off", "on", "recording costs"),
        [
            (
                name,
                rounded(found["off"]),
                rounded(found["on"]),
                f"{found['off'] / found['on'] - 1:.1%}",
            )
            for name, found in rows.items()
        ],
    )
    keys = {"decoding": "scheduler_steps_s", "pressure": "scheduler_pressure_steps_s"}
    return {
        keys[workload]: {name: rounded(value) for name, value in found.items()}
        for workload, found in rows.items()
    }


def scheduler_work(size: workloads.Size) -> dict[str, Any]:
    """The two workloads of `measure_scheduler`, for another scheduler."""
    both = (decoding_workload(size), pressed_workload(size))
    return {
        "prompts": workloads.scheduler_prompts(),
        "num_warm_up_steps": WARM_UP_STEPS,
        "num_steps": size.num_scheduler_steps,
        "num_blocks": {workload.name: workload.config.num_blocks for workload in both},
    }


def trace_workload(num_steps: int) -> Workload:
    """A stream of chats on a small pool: eight at a time, hits, evictions, preemptions."""
    draw = random.Random(7)
    prefixes = [workloads.random_prompt(32) for _ in range(4)]
    requests = tuple(
        ScriptedRequest(
            id=f"r{number}",
            arrival_step=number * 6,
            prompt=tuple(draw.choice(prefixes) + workloads.random_prompt(draw.randrange(8, 48))),
            output=tuple(workloads.random_prompt(draw.randrange(16, 64))),
        )
        for number in range(num_steps // 6)
    )
    config = EngineConfig(block_size=BLOCK_SIZE, num_blocks=48, max_num_batched_tokens=128)
    return Workload(name="chats", config=config, requests=requests, max_steps=num_steps)


def measure_trace(size: workloads.Size) -> dict[str, Any]:
    workload = trace_workload(size.num_trace_steps)
    trace = Trace(TraceHeader(config=workload.config.to_mapping()))
    for _ in ScriptedRun(workload, emit=trace.emit).run():
        pass
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.jsonl"
        start_s = time.perf_counter()
        write_trace(path, trace)
        write_s = time.perf_counter() - start_s
        num_bytes = path.stat().st_size
        start_s = time.perf_counter()
        trace = read_trace(path).trace
        trace.at(trace.last)
        open_s = time.perf_counter() - start_s
    jumps_ms = sorted(_jump_ms(trace) for _ in range(NUM_JUMPS))
    bytes_per_event = num_bytes / trace.num_events
    print_table(
        f"Trace of {trace.num_steps:,} steps, {trace.num_events:,} events",
        f"scripted chats, eight at a time; opened: read from its file and folded to its end; then "
        f"{NUM_JUMPS} jumps to random cursors",
        ("write, s", "file, MB", "bytes an event", "open, s", "jump, ms: median", "p95", "slowest"),
        [
            (
                rounded(write_s),
                rounded(num_bytes / 1e6),
                rounded(bytes_per_event),
                rounded(open_s),
                rounded(statistics.median(jumps_ms)),
                rounded(percentile(jumps_ms, 0.95)),
                rounded(jumps_ms[-1]),
            )
        ],
    )
    return {
        "jump_ms": rounded(jumps_ms[-1]),
        "trace_open_s": rounded(open_s),
        "trace_bytes_per_event": rounded(bytes_per_event),
    }


_draw = random.Random(11)


def _jump_ms(trace: Trace) -> float:
    step = _draw.randrange(trace.num_steps)
    cursor = Cursor(step, _draw.randrange(trace.num_sub_steps(step) + 1))
    start_s = time.perf_counter()
    trace.at(cursor)
    return (time.perf_counter() - start_s) * 1e3
