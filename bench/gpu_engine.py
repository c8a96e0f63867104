"""Where the time of a decode step goes in the engine, on the default model, with recording on."""

import contextlib
import functools
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

from bench.gpu_clock import Clock
from bench.gpu_model import Eager
from bench.gpu_report import Report, number
from bench.workloads import random_prompt
from engine.config import EngineConfig, SamplingParams
from engine.engine import Engine
from engine.runner import sampler
from engine.runner.decode_path import DecodePath, cuda_decode_path
from engine.runner.loaded_model import LoadedModel
from engine.runner.model_loader import load_model
from engine.runner.model_runner import ModelRunner
from engine.runner.step_buffer import StepBuffer
from engine.trace.header import TraceHeader
from engine.trace.trace import Trace

BLOCK_SIZE = 16
WARM_STEPS = 3  # prefill, capture, and one more
WATCHED: tuple[tuple[Any, str], ...] = (
    (ModelRunner, "execute"),
    (DecodePath, "logits_of"),
    (ModelRunner, "forward"),  # without graphs
    (StepBuffer, "fill"),
    (sampler, "sample"),
)


class Watch:
    """Seconds of a step inside functions, each with the wait for the device at its end."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.seconds = {name: 0.0 for _, name in WATCHED}

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for owner, name in WATCHED:
                timed = self._timed(name, getattr(owner, name))
                stack.enter_context(patch.object(owner, name, timed))
            yield

    def _timed(self, name: str, inner: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(inner)
        def timed(*args: Any, **named: Any) -> Any:
            start_s = time.perf_counter()
            found = inner(*args, **named)
            self.clock.sync()
            self.seconds[name] += time.perf_counter() - start_s
            return found

        return timed

    def parts(self, total_s: float) -> dict[str, float]:
        """What a step of `total_s` seconds consists of."""
        logits_s = self.seconds["logits_of"] + self.seconds["forward"]
        return {
            "fill": self.seconds["fill"],
            "forward": logits_s - self.seconds["fill"],
            "sampling": self.seconds["sample"],
            "text": self.seconds["execute"] - logits_s - self.seconds["sample"],
            "rest": total_s - self.seconds["execute"],
        }


def measure_steps(clock: Clock, report: Report) -> None:
    """Decode steps at each batch size."""
    dtype = str(clock.dtype).removeprefix("torch.")
    loaded = load_model(dtype=dtype, device=clock.device.type)
    rows = report.rows("engine_step")
    for batch in clock.size.batches:
        with report.attempt(f"engine_step {batch}"):
            engine, runner = _start(clock, loaded, batch)
            rows.append({"batch": batch, "path": runner.kernel_path, **_measure(clock, engine)})
            if runner.decode_path is not None and runner.decode_path.reason is not None:
                report.fail(f"engine_step {batch}", runner.decode_path.reason)
    report.table(
        "Engine step, ms",
        f"decode of {loaded.name} from {clock.size.engine_context} tokens on, captured for "
        f"{loaded.max_model_len}; step: undisturbed; its parts: in other steps, with a wait for the "
        "device after each; sampling: with reading the tokens; text: detokenising, and what else "
        "the runner does; rest: scheduling and recording",
        rows,
    )


def _start(clock: Clock, loaded: LoadedModel, batch: int) -> tuple[Engine, ModelRunner]:
    """An engine whose requests all have their prompt computed, and whose graph is captured."""
    context = clock.size.engine_context
    num_new = WARM_STEPS + clock.size.new_tokens + 1  # nobody finishes while it is measured
    config = EngineConfig(
        block_size=BLOCK_SIZE,
        num_blocks=batch * -(-(context + num_new) // BLOCK_SIZE) + 1,  # and the null block
        max_num_batched_tokens=batch * context,
        max_num_seqs=batch,
        max_model_len=loaded.max_model_len,
        recompute_invalid_hits=True,
        refuse_oversized=True,
    )
    runner = ModelRunner(
        loaded,
        num_blocks=config.num_blocks,
        block_size=BLOCK_SIZE,
        max_model_len=config.max_model_len,
    )
    if clock.dry:  # no graphs, but all that is around them
        runner.decode_path = cuda_decode_path(
            loaded.model,
            kv_caches=runner.kv_caches,
            kinds=runner.kinds,
            block_sizes=runner.layout.block_sizes,
            max_model_len=runner.max_model_len,
            recorder=Eager,
        )
    trace = Trace(TraceHeader(config=config.to_mapping()))
    engine = Engine(config, runner, emit=trace.emit)
    sampling = SamplingParams(max_tokens=num_new, ignore_eos=True)
    for index in range(batch):
        engine.add_request(str(index), random_prompt(context), sampling=sampling)
    for _ in range(WARM_STEPS):
        engine.step()
    return engine, runner


def _measure(clock: Clock, engine: Engine) -> dict[str, Any]:
    """Medians of as many undisturbed steps as watched ones."""
    num_steps = clock.size.new_tokens // 2
    step_s = statistics.median(clock.wall_s(engine.step, rounds=1) for _ in range(num_steps))
    found: list[dict[str, float]] = []
    for _ in range(num_steps):
        watch = Watch(clock)
        with watch.watching():
            total_s = clock.wall_s(engine.step, rounds=1)
        found.append(watch.parts(total_s))
    parts = {name: statistics.median(step[name] for step in found) for name in found[0]}
    return {
        "step": number(step_s * 1e3),
        **{name: number(seconds * 1e3) for name, seconds in parts.items()},
        "rest_of_step": number(parts["rest"] / step_s),
    }
