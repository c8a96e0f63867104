"""Pagewalk on the same weights: a new engine and an empty cache for every run."""

import time
from typing import Any

from bench.measure import Timing
from bench.references import Prompts
from engine.config import EngineConfig, SamplingParams
from engine.engine import Engine
from engine.runner.model_loader import load_model
from engine.runner.model_runner import ModelRunner
from engine.trace.header import TraceHeader
from engine.trace.trace import Trace

BLOCK_SIZE = 16


class Pagewalk:
    """One loaded model; every run gets an engine, a runner and a trace of its own."""

    def __init__(self, model: str | None, dtype: str) -> None:
        """`model` None: the default one."""
        self.loaded = load_model(model, dtype=dtype, device="cpu")

    @property
    def path(self) -> str:
        """On which kernels a run is computed, as its trace says it."""
        runner = ModelRunner(self.loaded, num_blocks=2, block_size=BLOCK_SIZE)
        return str(runner.header_fields()["kernel_path"])

    def time(self, prompts: Prompts, num_new_tokens: int) -> Timing:
        """With recording on, as in the app. The budget takes all prompts in the first step."""
        timing, _ = self._run(prompts, num_new_tokens)
        return timing

    def recording_share(self, prompts: Prompts, num_new_tokens: int) -> float:
        """Seconds to append the events of a run to a new trace / seconds of that run.

        The events are made with recording off as well (they go to `ignore`), so appending them is
        all that recording adds.
        """
        timing, trace = self._run(prompts, num_new_tokens)
        events = trace.events_before(trace.last)
        empty = Trace(trace.header)
        start_s = time.perf_counter()
        for event in events:
            empty.emit(event)
        return (time.perf_counter() - start_s) / timing.total_s

    def _run(self, prompts: Prompts, num_new_tokens: int) -> tuple[Timing, Trace]:
        config = self._config(prompts, num_new_tokens)
        trace = Trace(TraceHeader(config=config.to_mapping()))
        runner: Any = ModelRunner(
            self.loaded, num_blocks=config.num_blocks, block_size=config.block_size
        )
        engine = Engine(config, runner, emit=trace.emit)
        sampling = SamplingParams(max_tokens=num_new_tokens, ignore_eos=True)
        start_s = time.perf_counter()
        for number, prompt in enumerate(prompts):
            engine.add_request(str(number), prompt, sampling=sampling)
        token_times_s: list[list[float]] = [[] for _ in prompts]
        while engine.has_unfinished_requests:
            outputs = engine.step()
            now_s = time.perf_counter()
            for output in outputs:
                token_times_s[int(output.request_id)].extend([now_s] * len(output.token_ids))
        assert all(len(times) == num_new_tokens for times in token_times_s)
        return Timing(start_s, token_times_s), trace

    def _config(self, prompts: Prompts, num_new_tokens: int) -> EngineConfig:
        longest = max(len(prompt) for prompt in prompts) + num_new_tokens
        num_tokens = sum(len(prompt) + num_new_tokens for prompt in prompts)
        return EngineConfig(
            block_size=BLOCK_SIZE,
            num_blocks=num_tokens // BLOCK_SIZE + 2 * len(prompts) + 2,
            max_num_batched_tokens=max(256, num_tokens),
            max_num_seqs=len(prompts),
            max_model_len=longest + 1,
            recompute_invalid_hits=True,
        )
