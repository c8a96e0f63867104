"""A run on a real model, growing step by step. Importing this imports torch."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from engine.config import EngineConfig, GroupConfig, SamplingParams
from engine.core.admission import check_admissible
from engine.core.block_hash import none_hash
from engine.core.kv_cache_spec import FullAttentionSpec, KVCacheSpec, SlidingWindowSpec
from engine.core.sizing import KVCachePlan, num_blocks_from_bytes, plan_kv_cache
from engine.engine import Engine
from engine.errors import ConfigError
from engine.runner.attention.tiling import AttentionSizes
from engine.runner.loaded_model import LoadedModel
from engine.runner.memory import available_kv_bytes
from engine.runner.model_loader import load_model
from engine.runner.model_runner import ModelRunner
from engine.runner.other_form import dtypes_on_offer, load_beside
from engine.runner.tokenizer import Turns
from engine.sources.branch import DTYPE, Course, course_of, plan_branch
from engine.sources.prompt import Prompt, Tokenized, request_name
from engine.sources.resume import Repetition, Rest, check_same, course_again, rest_of
from engine.trace.header import TraceHeader
from engine.trace.state import Cursor
from engine.trace.trace import Trace

__all__ = ["LiveSource", "dtypes_on_offer", "load_beside", "load_model"]

ENGINE_VERSION = "vLLM 0.17.1 bookkeeping"
MAX_POOL_BYTES = 4 << 30


def plan_for(model: LoadedModel, block_size: int) -> KVCachePlan:
    """How the model's layers share a pool: one group, or several for a hybrid model."""
    sizes = {
        "num_kv_heads": model.num_kv_heads,
        "head_size": model.head_size,
        "dtype_bytes": model.dtype.itemsize,
    }
    return plan_kv_cache(
        [
            FullAttentionSpec(block_size, **sizes)
            if window is None
            else SlidingWindowSpec(block_size, **sizes, window=window)
            for window in model.windows
        ]
    )


def num_blocks_for(model: LoadedModel, config: EngineConfig, kv_bytes: int | None) -> int:
    """num_blocks that so many bytes buy; None: those that a cache may take of what is free."""
    if kv_bytes is None:
        kv_bytes = min(available_kv_bytes(model.device), MAX_POOL_BYTES)
    return num_blocks_from_bytes(plan_for(model, config.block_size), kv_bytes, config)


def _group_config(spec: KVCacheSpec) -> GroupConfig:
    if isinstance(spec, SlidingWindowSpec):
        return GroupConfig(type="sliding", window=spec.window)
    return GroupConfig(type="full")


class LiveSource:
    """One engine of one visitor on a model that many share.

    `recompute_invalid_hits` is on: an engine that answers must not read K and V that nobody
    computed (SEMANTICS 13). Not thread-safe: one caller at a time.
    """

    def __init__(
        self,
        model: LoadedModel,
        config: EngineConfig,
        course: Course | None = None,
        *,
        recorded: Trace | None = None,
    ) -> None:
        """`course`: what a branch repeats before it goes on; `recorded`: the trace that it repeats.
        ConfigError if the settings do not fit the model or the memory, or a prompt of the course
        does not fit the settings; SourceError if `recorded` was made in another way."""
        plan = plan_for(model, config.block_size)
        self._course = course or Course()
        self.rest = rest_of(self._course)
        self.model = model
        self.config = self._fit(config, plan)
        self.pool_bytes = plan.pool_bytes(self.config.num_blocks)
        self._check_pool_bytes(plan)
        self.runner = ModelRunner(
            model,
            num_blocks=config.num_blocks,
            block_size=config.block_size,
            groups=plan.groups,
            max_model_len=self.config.max_model_len,
        )
        header = self._header()
        if recorded is not None:
            check_same(recorded.header, header)
        self.trace = Trace(header) if recorded is None else recorded
        self._repetition = None if recorded is None else Repetition(recorded)
        self.engine = Engine(
            self.config,
            self.runner,
            emit=self.trace.emit if self._repetition is None else self._repetition.emit,
            none_hash=bytes.fromhex(self.trace.header.none_hash or ""),
        )
        self._num_added = len(self._course.added)
        self._course.begin(self.engine)

    @classmethod
    def resume(cls, model: LoadedModel, trace: Trace, rest: Rest | None = None) -> "LiveSource":
        """Go on with a saved run: `trace` (up to its last finished step) stays and grows.

        The past is repeated by its own steps; `branch_step` says how far, as with a branch.
        """
        config = EngineConfig.from_mapping({**trace.header.config, "kv_groups": None})
        source = cls(model, config, course_again(trace, rest), recorded=trace)
        source.rest = rest
        return source

    def _fit(self, config: EngineConfig, plan: KVCachePlan) -> EngineConfig:
        """The settings with the model's groups filled in and its length respected."""
        mapping = config.to_mapping()
        if config.kv_groups is not None:
            raise ConfigError.of("live.groups", "kv_groups come from the model: leave them out")
        if config.max_model_len > self.model.max_model_len:
            raise ConfigError.of(
                "live.max_model_len",
                "max_model_len={given} exceeds the {most} positions of {model}: lower it to {most}",
                given=config.max_model_len,
                most=self.model.max_model_len,
                model=self.model.name,
            )
        if len(plan.specs) > 1 or isinstance(plan.specs[0], SlidingWindowSpec):
            mapping["kv_groups"] = [_group_config(spec) for spec in plan.specs]
        return EngineConfig.from_mapping({**mapping, "recompute_invalid_hits": True})

    def _check_pool_bytes(self, plan: KVCachePlan) -> None:
        if self.pool_bytes > MAX_POOL_BYTES:
            most = MAX_POOL_BYTES // plan.bytes_per_block
            raise ConfigError.of(
                "live.pool_bytes",
                "num_blocks={num} of {size} tokens take {needed:,} bytes with this model, more than "
                "the {allowed:,} allowed: lower num_blocks to {most}",
                num=self.config.num_blocks,
                size=self.config.block_size,
                needed=self.pool_bytes,
                allowed=MAX_POOL_BYTES,
                most=most,
            )

    def _header(self) -> TraceHeader:
        fields = self.runner.header_fields()
        return TraceHeader(
            config=self.config.to_mapping(),
            engine_version=ENGINE_VERSION,
            model=fields["model"],
            dtype=fields["dtype"],
            device=fields["device"],
            kernel=fields["kernel_path"],
            tokenizer_id=fields["tokenizer_id"],
            eos_token_ids=tuple(sorted(self.runner.eos_token_ids)),
            none_hash=self._course.none_hash
            or none_hash(self.config.hash_algo, self.config.hash_seed).hex(),
            departs_from_vllm=("recompute_invalid_hits",),
        )

    @property
    def has_unfinished_requests(self) -> bool:
        return self.engine.has_unfinished_requests or self._course.has_more(self.engine)

    @property
    def stuck_reason(self) -> str | None:
        """One sentence when nothing can ever be scheduled again although requests wait."""
        return None if self._course.has_more(self.engine) else self.engine.stuck_reason

    @property
    def branch_step(self) -> int | None:
        return self._course.step if self.engine.step_index < self._course.step else None

    def _check_is_back(self) -> None:
        """ConfigError while a saved run repeats its past: an input would come into the middle."""
        if self._repetition is not None and not self._repetition.is_over:
            raise ConfigError.of(
                "live.not_back",
                "this run is being brought back and stands before step {step} of {last}: wait until "
                "it is there",
                step=self.engine.step_index,
                last=self._course.step,
            )

    def tokenize(self, text: str, mode: str, *, allow_special: bool = False) -> Tokenized:
        """What the model would get. How long a text may be is decided by whoever takes it in."""
        return self.model.tokenizer.encode(text, mode, allow_special=allow_special)

    def add_request(
        self,
        text: str | Sequence[int],
        *,
        mode: str = "chat",
        sampling: SamplingParams | None = None,
        allow_special: bool = False,
        before: Turns = (),
        **options: Any,
    ) -> str:
        """Queue a prompt, as text (with a chat's earlier turns before it) or as token ids; its
        request id. ConfigError if refused."""
        self._check_is_back()
        if isinstance(text, str):
            encode = self.model.tokenizer.encode
            tokens = encode(text, mode, allow_special=allow_special, before=before)
            typed = text
        else:
            tokens = self.model.tokenizer.from_token_ids(list(text))
            typed, mode = None, "ids"
        request_id = request_name(self._num_added)
        self.engine.add_request(
            request_id,
            tokens.token_ids,
            sampling=sampling,
            text_fields={
                "prompt_text": typed,
                "prompt_mode": mode,
                "prompt_token_bytes": tokens.token_bytes,
                "special_token_ids": tokens.special_token_ids,
            },
            **options,
        )
        self._num_added += 1
        return request_id

    def check_prompt(
        self, num_prompt_tokens: int, max_tokens: int, config: EngineConfig | None = None
    ) -> None:
        config = config or self.config
        specs = plan_for(self.model, config.block_size).specs
        check_admissible(config, specs, num_prompt_tokens, max_tokens)

    def abort(self, request_id: str) -> bool:
        self._check_is_back()
        return self.engine.abort(request_id)

    def reset_prefix_cache(self) -> bool:
        self._check_is_back()
        return self.engine.reset_prefix_cache().ok

    def step(self) -> None:
        """Let the engine do one step; its events are in the trace then."""
        self._course.take_step(self.engine)

    def branch(
        self,
        cursor: Cursor,
        settings: Mapping[str, Any],
        *,
        prompts: Sequence[Prompt] = (),
        keep_later: bool = False,
        model: LoadedModel | None = None,
    ) -> "LiveSource":
        """A run beside this one that goes on from `cursor`; see LiveRun.branch."""
        model = model or self.model
        plan = plan_branch(self.trace, cursor, {**settings, DTYPE: model.dtype_name})

        def tokenize(prompt: Prompt) -> Tokenized:
            return self.tokenize(prompt.text, prompt.mode, allow_special=prompt.allow_special)

        course = course_of(
            self.trace, cursor, plan, prompts=prompts, tokenize=tokenize, keep_later=keep_later
        )
        given = msgspec.structs.replace(plan.config, kv_groups=None)  # the model's, not a choice
        return LiveSource(model, given, course)

    def kv_shape(self, group_id: int) -> tuple[tuple[int, ...], int] | None:
        """Layers whose K and V lie in this group's blocks, and KV heads of each.

        None while a saved run repeats its past: the tensors are not those of its trace yet.
        """
        if self._repetition is not None and not self._repetition.is_over:
            return None
        return self.runner.layout.groups[group_id], self.model.num_kv_heads

    def peek_kv(
        self, block_id: int, layer: int, head: int
    ) -> tuple[list[list[float]], list[list[float]]]:
        """K and V of one block, layer and KV head: [block_size][head_size] each."""
        return self.runner.peek_kv(block_id, layer, head)

    @property
    def attention_sizes(self) -> AttentionSizes:
        return self.runner.attention_sizes

    @property
    def path_reason(self) -> str | None:
        return self.runner.path_reason

    def peek_query(
        self, token_id: int, position: int, block_tables: Sequence[Sequence[int]], *, layer: int
    ) -> tuple[list[list[float]], float]:
        return self.runner.peek_query(token_id, position, block_tables, layer=layer)
