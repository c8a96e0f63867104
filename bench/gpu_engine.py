"""What the engine adds to a decode step of the default model: scheduling, sampling, recording."""

import statistics
from typing import Any

from bench.gpu_clock import Clock
from bench.gpu_report import Report, number
from bench.workloads import random_prompt
from engine.config import EngineConfig, SamplingParams
from engine.engine import Engine
from engine.runner.model_loader import LoadedModel, load_model
from engine.runner.model_runner import ModelRunner
from engine.trace.events import Event, StepEnded
from engine.trace.header import TraceHeader
from engine.trace.trace import Trace

PROMPT_TOKENS = 16
NEW_TOKENS = 40
DRY_NEW_TOKENS = 3
BLOCK_SIZE = 16


def measure_steps(clock: Clock, report: Report) -> None:
    """Median decode steps at each batch size, with recording on."""
    dtype = str(clock.dtype).removeprefix("torch.")
    loaded = load_model(dtype=dtype, device=clock.device.type)
    rows = report.rows("engine_step")
    for batch in clock.size.batches:
        with report.attempt(f"engine_step {batch}"):
            rows.append(_measure(clock, loaded, batch))
    report.table(
        "Engine step, ms",
        f"decode of {loaded.name} after {PROMPT_TOKENS} prompt tokens; runner: forward pass and "
        "sampling; the rest is scheduling, events and the trace",
        rows,
    )


def _measure(clock: Clock, loaded: LoadedModel, batch: int) -> dict[str, Any]:
    num_new = DRY_NEW_TOKENS if clock.dry else NEW_TOKENS
    config = EngineConfig(
        block_size=BLOCK_SIZE,
        num_blocks=batch * 8 + 8,
        max_num_batched_tokens=4096,
        max_num_seqs=batch,
        max_model_len=PROMPT_TOKENS + num_new + 1,
        recompute_invalid_hits=True,
    )
    trace = Trace(TraceHeader(config=config.to_mapping()))
    run_s: list[float] = []

    def emit(event: Event) -> None:
        trace.emit(event)
        if isinstance(event, StepEnded):
            run_s.append(event.run_s or 0.0)

    runner: Any = ModelRunner(
        loaded,
        num_blocks=config.num_blocks,
        block_size=BLOCK_SIZE,
        max_model_len=config.max_model_len,
    )
    engine = Engine(config, runner, emit=emit)
    sampling = SamplingParams(max_tokens=num_new, ignore_eos=True)
    for number in range(batch):
        engine.add_request(str(number), random_prompt(PROMPT_TOKENS), sampling=sampling)
    engine.step()  # the prefill
    if not clock.dry:
        engine.step()  # captures
    run_s.clear()
    total_s: list[float] = []
    while engine.has_unfinished_requests:
        total_s.append(clock.wall_s(engine.step, rounds=1))
    step, run = statistics.median(total_s), statistics.median(run_s)
    return {
        "batch": batch,
        "path": runner.header_fields()["kernel_path"],
        "step": number(step * 1e3),
        "runner": number(run * 1e3),
        "rest_of_step": number((step - run) / step),
    }
