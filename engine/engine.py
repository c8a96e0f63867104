"""The engine: a step is schedule, run, update.

engine = Engine(config, runner)
engine.add_request("a", prompt_token_ids, sampling=SamplingParams(max_tokens=8))
while engine.has_unfinished_requests:
    for output in engine.step():
        print(output.request_id, output.token_ids)
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from engine.checks import check_token_ids, whole_number
from engine.config import EngineConfig, SamplingParams
from engine.core.admission import check_admissible
from engine.core.block_hash import BlockHasher
from engine.core.kv_cache_spec import cdiv
from engine.core.kv_events import KVCacheEvent
from engine.core.output import ModelOutput, RequestOutput, SchedulerOutput
from engine.core.request import BlockTables, Request
from engine.core.scheduler import Scheduler
from engine.core.snapshot import snapshot
from engine.core.stats import PrefixCacheStats
from engine.errors import ConfigError, Sentence
from engine.replay import replay
from engine.trace.events import (
    CacheReset,
    Emit,
    Event,
    RequestAborted,
    SettingChanged,
    SlotsWritten,
    StepBegan,
    StepEnded,
    ignore,
)

STEP_TIMES = ("schedule_s", "run_s", "update_s")
CHANGEABLE_SETTINGS = ("max_num_batched_tokens", "max_num_seqs", "long_prefill_token_threshold")


class Runner(Protocol):
    """Whoever turns a batch into tokens: a model, or a script."""

    eos_token_ids: frozenset[int]
    vocab_size: int

    def execute(
        self,
        output: SchedulerOutput,
        block_tables: BlockTables,
        forced: Mapping[str, tuple[int, ...]] | None = None,
    ) -> ModelOutput:
        """Compute K and V of all scheduled tokens and draw the next one where all are known.

        `forced`: tokens to take instead of drawing, by request id (replay).
        """

    def forget(self, request_id: str) -> None:
        """The request is gone."""


class ResetResult(NamedTuple):
    ok: bool
    preempted: list[str]


class Engine:
    """One scheduler, one cache, one runner; every change is emitted as an event.

    Not thread-safe: one caller at a time. vLLM 0.17.1: v1/engine/core.py EngineCore
    """

    def __init__(
        self,
        config: EngineConfig,
        runner: Runner,
        *,
        emit: Emit = ignore,
        none_hash: bytes | None = None,
    ) -> None:
        """`none_hash`: parent of every first block, to repeat a run whose hash_seed is None."""
        self.config = config
        self.runner = runner
        self.emit = emit
        self.scheduler = Scheduler(config, emit=emit)
        self.hasher = (
            BlockHasher(config.hash_algo, config.hash_seed, config.block_size, none_hash)
            if config.enable_prefix_caching
            else None
        )
        self.step_index = 0  # of the step that is going on or comes next
        self.outputs: list[RequestOutput] = []  # of the latest step
        self.stats = PrefixCacheStats()
        self.kv_events: list[KVCacheEvent] = []
        self.scheduler_output: SchedulerOutput | None = None
        self._model_output = ModelOutput()
        self._is_idle = False
        self._began_at = time.perf_counter()
        self._times: dict[str, float] = {}

    # Inputs -----------------------------------------------------------------------------------

    @property
    def has_unfinished_requests(self) -> bool:
        return bool(self.scheduler.requests)

    def check_prompt(self, num_prompt_tokens: int, max_tokens: int) -> None:
        """ConfigError if `add_request` would refuse a prompt of this length; changes nothing."""
        specs = self.scheduler.kv_cache_manager.specs
        check_admissible(self.config, specs, num_prompt_tokens, max_tokens)

    def add_request(
        self,
        request_id: str,
        prompt_token_ids: Sequence[int],
        *,
        sampling: SamplingParams | None = None,
        arrival_time: float | None = None,
        priority: int = 0,
        cache_salt: str | None = None,
        lora_name: str | None = None,
        skip_reading_prefix_cache: bool = False,
        text_fields: Mapping[str, Any] | None = None,
    ) -> None:
        """Queue a prompt. ConfigError if it cannot be served; nothing is changed then.

        `arrival_time` defaults to the step index; `text_fields` are the fields of RequestAdded
        about the prompt's text.
        """
        sampling = sampling or SamplingParams()
        if request_id in self.scheduler.requests:
            raise ConfigError.of(
                "request.taken", "request id {id!r} is taken: choose another", id=request_id
            )
        whole_number("priority", priority, -(2**31), 2**31)
        check_token_ids(list(prompt_token_ids), self.runner.vocab_size)
        self.check_prompt(len(prompt_token_ids), sampling.max_tokens)
        request = Request(
            request_id,
            prompt_token_ids,
            sampling=sampling,
            arrival_time=float(self.step_index) if arrival_time is None else arrival_time,
            priority=priority,
            cache_salt=cache_salt,
            lora_name=lora_name,
            skip_reading_prefix_cache=skip_reading_prefix_cache,
            stop_token_ids=frozenset() if sampling.ignore_eos else self.runner.eos_token_ids,
            hasher=self.hasher,
            emit=self.emit,
        )
        self._is_idle = False
        self.emit(request.to_event(self.step_index, **(text_fields or {})))
        self.scheduler.add_request(request)

    def abort(self, request_id: str, *, phase: str = "before") -> bool:
        """Drop a request; False if it is unknown or finished. Its cached blocks stay cached."""
        request = self.scheduler.abort(request_id)
        self.emit(RequestAborted(request_id, self.step_index, request is not None, phase))
        if request is None:
            return False
        self.scheduler.free(request)
        self.runner.forget(request_id)
        self._is_idle = False
        return True

    def reset_prefix_cache(self, *, reset_running_requests: bool = False) -> ResetResult:
        """Forget all hashes; refused while a block is in use, unless the running are preempted."""
        preempted = self.scheduler.preempt_all() if reset_running_requests else []
        pool = self.scheduler.kv_cache_manager.pool
        in_use = pool.num_blocks - 1 - pool.num_free_blocks
        ok = self.scheduler.kv_cache_manager.reset_prefix_cache()
        self.emit(CacheReset(self.step_index, ok, in_use, reset_running_requests))
        self._is_idle = False
        return ResetResult(ok, preempted)

    def change_setting(self, name: str, value: int) -> None:
        """Change one of CHANGEABLE_SETTINGS between two steps."""
        if name not in CHANGEABLE_SETTINGS:
            raise ConfigError.of(
                "setting.fixed",
                "{name} cannot change during a run: begin a new one with it",
                name=name,
            )
        changed = {**self.config.to_mapping(), name: value}
        self.config = EngineConfig.from_mapping(changed)
        setattr(self.scheduler, name, value)
        self._is_idle = False
        self.emit(SettingChanged(self.step_index, name, value))

    # Step -------------------------------------------------------------------------------------

    def step(self, forced: Mapping[str, tuple[int, ...]] | None = None) -> list[RequestOutput]:
        """Schedule, run, update. What every request gained."""
        self.schedule()
        self.run(forced)
        self.update()
        return self.outputs

    def schedule(self) -> SchedulerOutput:
        """Choose the batch and take its blocks."""
        began = time.perf_counter()
        budget = self.scheduler.max_num_batched_tokens
        self.emit(StepBegan(self.step_index, budget, round(began - self._began_at, 6)))
        self.scheduler_output = self.scheduler.schedule(self.step_index)
        self._times["schedule_s"] = time.perf_counter() - began
        return self.scheduler_output

    def run(self, forced: Mapping[str, tuple[int, ...]] | None = None) -> None:
        """Let the runner compute the batch."""
        assert self.scheduler_output is not None, "schedule() comes first"
        began = time.perf_counter()
        manager = self.scheduler.kv_cache_manager
        total = self.scheduler_output.total_num_scheduled_tokens
        self._model_output = ModelOutput()
        if total:
            self._model_output = self.runner.execute(
                self.scheduler_output, manager.get_block_tables, forced
            )
            self.emit(SlotsWritten(total, manager.pool.mark_written()))
        self._times["run_s"] = time.perf_counter() - began

    def update(self, *, end_step: bool = True) -> None:
        """Append the new tokens and free who is finished."""
        assert self.scheduler_output is not None, "schedule() comes first"
        began = time.perf_counter()
        self.outputs = self.scheduler.update_from_output(self.scheduler_output, self._model_output)
        for output in self.outputs:
            if output.finish_reason is not None:
                self.runner.forget(output.request_id)
        self._times["update_s"] = time.perf_counter() - began
        if end_step:
            self.end_step()

    def end_step(self) -> None:
        """Hand out this step's statistics and events, and go on to the next."""
        assert self.scheduler_output is not None, "schedule() comes first"
        manager = self.scheduler.kv_cache_manager
        self.stats, self.kv_events = manager.take_stats(), manager.take_events()
        counters = [getattr(self.stats, name) for name in PrefixCacheStats.__slots__]
        times = [round(self._times.get(name, 0.0), 6) for name in STEP_TIMES]
        self.emit(StepEnded(self.step_index, *counters, *times))
        output = self.scheduler_output
        self._is_idle = not output.scheduled and not output.preempted
        self.step_index += 1

    @property
    def is_stuck(self) -> bool:
        """Requests wait, the latest step did nothing, and so no later step ever will."""
        return self._is_idle and self.has_unfinished_requests

    @property
    def stuck_reason(self) -> str | None:
        """One sentence about a standstill: who waits for how many blocks of how many."""
        if not self.is_stuck:
            return None
        head = self.scheduler.waiting.peek()
        size = self.config.block_size
        needed = cdiv(head.num_tokens, size)
        usable = self.config.num_blocks - 1
        num_behind = len(self.scheduler.waiting) - 1
        behind = ""
        if num_behind:
            behind = Sentence.of("stuck.behind", ", and {n} more wait behind it", n=num_behind)
        return Sentence.of(
            "stuck.head",
            "nothing can run any more: {request} stands at the head of the waiting queue with "
            "{tokens} tokens, which need {needed} blocks or more while the pool has {usable}{behind}; "
            "vLLM 0.17.1 waits like this for ever. Abort {request}, or begin a run with more blocks.",
            request=head.request_id,
            tokens=head.num_tokens,
            needed=needed,
            usable=usable,
            behind=behind,
        )

    # Replay -----------------------------------------------------------------------------------

    def replay(self, events: Iterable[Event], until: int | None = None) -> None:
        """Re-execute the inputs of a recorded run on this new engine, up to step `until`.

        Recorded tokens are forced, so K and V are rebuilt and the same tokens come out whatever
        the sampling was. TraceError if the run takes another course than the recorded one.
        """
        assert self.step_index == 0, "replay needs a new engine"
        replay(self, events, until)

    # The engine's own picture -----------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """The state in the form of the recorded runs, from the engine's own objects.

        `State.snapshot` builds the same from folded events; both must be equal (SEMANTICS 2).
        """
        return snapshot(self.scheduler)
