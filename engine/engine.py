"""The engine: a step is schedule, run, update.

    engine = Engine(config, runner)
    engine.add_request("a", prompt_token_ids, sampling=SamplingParams(max_tokens=8))
    while engine.has_unfinished_requests:
        for output in engine.step():
            print(output.request_id, output.token_ids)
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from engine.config import EngineConfig, SamplingParams, whole_number
from engine.core.block_hash import BlockHasher
from engine.core.kv_cache_spec import cdiv
from engine.core.kv_events import KVCacheEvent
from engine.core.output import ModelOutput, SchedulerOutput
from engine.core.request import FINISH_REASONS, BlockTables, Request
from engine.core.scheduler import Scheduler
from engine.core.stats import PrefixCacheStats
from engine.errors import ConfigError
from engine.trace.events import (
    CacheReset,
    Emit,
    RequestAborted,
    SettingChanged,
    SlotsWritten,
    StepBegan,
    StepEnded,
    ignore,
)

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


class RequestOutput(NamedTuple):
    """What a request gained in one step."""

    request_id: str
    token_ids: tuple[int, ...]
    finish_reason: str | None
    num_cached_tokens: int


class ResetResult(NamedTuple):
    ok: bool
    preempted: list[str]


class Engine:
    """One scheduler, one cache, one runner; every change is emitted as an event.

    Not thread-safe: one caller at a time. vLLM 0.17.1: v1/engine/core.py EngineCore
    """

    def __init__(self, config: EngineConfig, runner: Runner, *, emit: Emit = ignore) -> None:
        self.config = config
        self.runner = runner
        self.emit = emit
        self.scheduler = Scheduler(config, emit=emit)
        self.hasher = (
            BlockHasher(config.hash_algo, config.hash_seed, config.block_size)
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
        self._check_prompt(request_id, prompt_token_ids, sampling)
        whole_number("priority", priority, -(2**31), 2**31)
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

    def _check_prompt(
        self, request_id: str, token_ids: Sequence[int], sampling: SamplingParams
    ) -> None:
        if request_id in self.scheduler.requests:
            raise ConfigError(f"request id {request_id!r} is taken: choose another")
        check_token_ids(token_ids, self.runner.vocab_size)
        limit = self.config.max_model_len
        if len(token_ids) >= limit:
            raise ConfigError(
                f"the prompt has {len(token_ids)} tokens, but max_model_len={limit} leaves room "
                f"for {limit - 1} and one answer: shorten it or raise max_model_len"
            )
        if self.config.refuse_oversized:
            self._check_fits_pool(len(token_ids), sampling.max_tokens)

    def _check_fits_pool(self, num_prompt_tokens: int, max_tokens: int) -> None:
        """Refuse what would be admitted, outgrow the whole pool, and wait for ever."""
        num_tokens = min(num_prompt_tokens + max_tokens, self.config.max_model_len) - 1
        usable = self.config.num_blocks - 1
        needed = sum(
            spec.max_blocks_per_request(num_tokens, self.config.max_num_batched_tokens)
            if cdiv(num_tokens, spec.block_size) > usable
            else cdiv(num_tokens, spec.block_size)
            for spec in self.scheduler.kv_cache_manager.specs
        )
        if needed > usable:
            raise ConfigError(
                f"{num_prompt_tokens} prompt tokens and up to {max_tokens} new ones need {needed} "
                f"blocks of {self.config.block_size} tokens, but the pool has {usable}: raise "
                f"num_blocks to {needed + 1}, lower max_tokens, or shorten the prompt "
                f"(vLLM would preempt the request and let it wait for ever)"
            )

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
            raise ConfigError(f"{name} cannot change during a run: begin a new one with it")
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
        grown = self.scheduler.update_from_output(self.scheduler_output, self._model_output)
        self.outputs = [
            RequestOutput(
                request.request_id,
                token_ids,
                FINISH_REASONS.get(request.status),
                request.num_cached_tokens,
            )
            for request, token_ids in grown
        ]
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
        counters = {name: getattr(self.stats, name) for name in PrefixCacheStats.__slots__}
        times = {name: round(seconds, 6) for name, seconds in self._times.items()}
        self.emit(StepEnded(self.step_index, **counters, **times))
        output = self.scheduler_output
        self._is_idle = not output.scheduled and not output.preempted
        self.step_index += 1

    @property
    def is_stuck(self) -> bool:
        """Requests wait, the latest step did nothing, and so no later step ever will."""
        return self._is_idle and self.has_unfinished_requests

    # The engine's own picture -----------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """The state in the form of the recorded runs, from the engine's own objects.

        `State.snapshot` builds the same from folded events; both must be equal (SEMANTICS 2).
        """
        scheduler = self.scheduler
        manager = scheduler.kv_cache_manager
        pool = manager.pool
        listed = [
            (id_, block)
            for id_, block in enumerate(pool.blocks)
            if id_ and (block.ref_cnt or block.cache_key)
        ]
        requests = scheduler.requests
        return {
            "waiting": [request.request_id for request in scheduler.waiting],
            "running": [request.request_id for request in scheduler.running],
            "requests": {
                id_: {
                    "status": request.status.value,
                    "num_computed_tokens": request.num_computed_tokens,
                    "num_tokens": request.num_tokens,
                    "num_cached_tokens": request.num_cached_tokens,
                    "num_preemptions": request.num_preemptions,
                    "blocks": [list(table) for table in manager.get_block_tables(id_)],
                }
                for id_, request in requests.items()
            },
            "free_queue": _queue_snapshot(pool),
            "num_free_blocks": pool.num_free_blocks,
            "usage": pool.usage,
            "blocks": [
                [id_, block.ref_cnt, block.cache_key.hex() if block.cache_key else None]
                for id_, block in listed
            ],
            "cached": {key.hex(): list(ids) for key, ids in pool.cached.items()},
            "invalid_blocks": [id_ for id_, b in listed if b.cache_key and not b.kv_valid],
            "token_ids": {id_: list(request.token_ids) for id_, request in requests.items()},
            "block_hashes": {
                id_: [hash_.hex() for hash_ in request.block_hashes]
                for id_, request in requests.items()
            },
            "spec_token_ids": {id_: list(r.spec_token_ids) for id_, r in requests.items()},
        }


def _queue_snapshot(pool: Any, ends: int = 64, whole_up_to: int = 512) -> dict[str, Any]:
    """All ids of a small pool's free queue; the ends of a large one's."""
    queue = pool.free_queue
    if pool.num_blocks <= whole_up_to:
        return {"len": len(queue), "ids": list(queue)}
    first = [id_ for id_, _ in zip(queue, range(ends), strict=False)]
    last = [id_ for id_, _ in zip(reversed(queue), range(ends), strict=False)]
    return {"len": len(queue), "head": first, "tail": last[::-1]}


def check_token_ids(token_ids: Sequence[int], vocab_size: int) -> None:
    """ConfigError unless these are token ids of the vocabulary, at least one."""
    if not token_ids:
        raise ConfigError("the prompt is empty: it needs at least one token")
    for place, token_id in enumerate(token_ids):
        if isinstance(token_id, bool) or not isinstance(token_id, int):
            raise ConfigError(f"token {place} is {token_id!r}: token ids are whole numbers")
        if not 0 <= token_id < vocab_size:
            raise ConfigError(
                f"token {place} has id {token_id}, but ids go from 0 to {vocab_size - 1}"
            )
