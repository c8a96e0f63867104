"""Settings of an engine and of a request: frozen, and checked when they are built.

Field names and defaults are those of the workload files (vLLM's own words). A wrong value raises
`ConfigError` with a sentence that says what, how much and what to do; an unknown field is an error.
"""

import math
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from engine.checks import boolean, finite_number, one_of, whole_number
from engine.errors import ConfigError
from engine.malformed import reason_of

HASH_ALGOS = ("sha256", "sha256_cbor", "xxhash", "xxhash_cbor")
POLICIES = ("fcfs", "priority")
LATER_BEHAVIOURS = ("reuse_unhashed_first", "count_lookups_once")  # off: as 0.17.1 does it
GROUP_TYPES = ("full", "sliding", "chunked_local", "mla", "mamba", "cross", "sink_full")
MIN_TEMPERATURE = (
    0.01  # vLLM 0.17.1 raises smaller positive temperatures to this: sampling_params.py
)
MAX_NUM_BLOCKS = 4_000_000
MAX_TOKENS = 2**31 - 1  # of a block, a step or a request: what a 32-bit index can count


class GroupConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One KV-cache group of a hybrid model: the attention type that its layers share."""

    type: str
    window: int | None = None  # tokens, `sliding` only
    chunk: int | None = None  # tokens, `chunked_local` only
    block_size: int | None = None  # tokens; None: the engine's block_size

    def __post_init__(self) -> None:
        one_of("kv_groups.type", self.type, GROUP_TYPES)
        for name, kind in (("window", "sliding"), ("chunk", "chunked_local")):
            value = getattr(self, name)
            if self.type == kind:
                whole_number(f"kv_groups.{name}", value, 1)
            elif value is not None:
                raise ConfigError.of(
                    "group.field",
                    "kv_groups.{name} belongs to type {kind!r}, not {given!r}",
                    name=name,
                    kind=kind,
                    given=self.type,
                )
        if self.block_size is not None:
            whole_number("kv_groups.block_size", self.block_size, 1)


class SpecConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Speculative decoding: who drafts, how many tokens, and (scripted runs) how many are right."""

    method: str
    num_speculative_tokens: int
    accept: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        one_of("spec.method", self.method, ("eagle", "draft_model", "ngram"))
        whole_number("spec.num_speculative_tokens", self.num_speculative_tokens, 1)
        for right in self.accept:
            whole_number("spec.accept", right, 0)

    @property
    def num_lookahead_tokens(self) -> int:
        """Slots reserved beyond the scheduled tokens; n-gram drafting needs none (SEMANTICS 10)."""
        return 0 if self.method == "ngram" else self.num_speculative_tokens

    @property
    def drops_last_hit_block(self) -> bool:
        """EAGLE recomputes the last hit block because the drafter needs its hidden states."""
        return self.method == "eagle"


class EngineConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that decides what the scheduler and the KV cache do. Tokens, unless said.

    vLLM 0.17.1: CacheConfig and SchedulerConfig
    """

    block_size: int = 4
    num_blocks: int = 64  # including the null block
    max_num_batched_tokens: int = 64  # token budget of a step
    max_num_seqs: int = 8
    max_model_len: int = 256
    enable_prefix_caching: bool = True
    enable_chunked_prefill: bool = True
    long_prefill_token_threshold: int = 0  # 0: off
    policy: str = "fcfs"
    hash_algo: str = "sha256"
    hash_seed: str | None = "0"  # the text of PYTHONHASHSEED; None: 32 random bytes
    max_loras: int | None = None
    kv_groups: tuple[GroupConfig, ...] | None = None  # None: one full-attention group
    spec: SpecConfig | None = None
    int_event_hashes: bool = False
    recompute_invalid_hits: bool = False  # departs from vLLM: cut hits before never-computed KV
    refuse_oversized: bool = False  # departs from vLLM: refuse at once what would wait for ever
    # Later than 0.17.1, each what one change of vLLM made of it:
    reuse_unhashed_first: bool = False  # vllm#42656, 2026-05: freed without a hash, taken first
    count_lookups_once: bool = False  # vllm#48860, 2026-07: a lookup counts at admission alone

    def __post_init__(self) -> None:
        whole_number("block_size", self.block_size, 1, MAX_TOKENS)
        whole_number("num_blocks", self.num_blocks, 2, MAX_NUM_BLOCKS)
        for name in ("max_num_batched_tokens", "max_num_seqs", "max_model_len"):
            whole_number(name, getattr(self, name), 1, MAX_TOKENS)
        threshold = self.long_prefill_token_threshold
        whole_number("long_prefill_token_threshold", threshold, 0, MAX_TOKENS)
        for name in (
            "enable_prefix_caching",
            "enable_chunked_prefill",
            "int_event_hashes",
            "recompute_invalid_hits",
            "refuse_oversized",
            *LATER_BEHAVIOURS,
        ):
            boolean(name, getattr(self, name))
        one_of("policy", self.policy, POLICIES)
        one_of("hash_algo", self.hash_algo, HASH_ALGOS)
        if self.hash_seed is not None and not isinstance(self.hash_seed, str):
            raise ConfigError.of(
                "setting.hash_seed",
                "hash_seed={given} is not a text: write it in quotes",
                given=repr(self.hash_seed),
            )
        if self.max_loras is not None:
            whole_number("max_loras", self.max_loras, 1)
        self._check_budget()
        self._check_groups()

    def _check_budget(self) -> None:
        budget = self.max_num_batched_tokens
        if budget < self.max_num_seqs:
            raise ConfigError.of(
                "setting.budget_below_seqs",
                "max_num_batched_tokens={budget} is below max_num_seqs={seqs}: "
                "raise it to {seqs} or lower max_num_seqs to {budget}",
                budget=budget,
                seqs=self.max_num_seqs,
            )
        if not self.enable_chunked_prefill and budget < self.max_model_len:
            raise ConfigError.of(
                "setting.budget_below_length",
                "without chunked prefill max_num_batched_tokens={budget} must reach "
                "max_model_len={length}: raise it or turn chunked prefill on",
                budget=budget,
                length=self.max_model_len,
            )

    def _check_groups(self) -> None:
        if self.kv_groups is None:
            return
        if not self.kv_groups:
            raise ConfigError.of(
                "group.none", "kv_groups is empty: name at least one group, or leave it out"
            )
        for group in self.kv_groups:
            size = group.block_size or self.block_size
            if size % self.block_size:
                raise ConfigError.of(
                    "group.no_multiple",
                    "kv_groups.block_size={given} is no multiple of block_size={size}, "
                    "in which hashes are made: use {next}",
                    given=size,
                    size=self.block_size,
                    next=self.block_size * (size // self.block_size + 1),
                )
        if self.enable_prefix_caching:
            self._check_cached_groups()

    def _check_cached_groups(self) -> None:
        """What stands together under prefix caching: the assertions of vLLM 0.17.1's
        kv_cache_coordinator.py and single_type_kv_cache_manager.py."""
        groups = self.groups
        sizes = [group.block_size or self.block_size for group in groups]
        if len(groups) == 1 and sizes[0] != self.block_size:
            raise ConfigError.of(
                "group.lone_size",
                "kv_groups.block_size={given} of the only group differs from block_size={size}: "
                "leave it out, or set block_size={given}",
                given=sizes[0],
                size=self.block_size,
            )
        if len(groups) > 1 and len(set(groups)) == 1:
            raise ConfigError.of(
                "group.all_equal",
                "the {n} groups of kv_groups are all alike, and vLLM 0.17.1 would make them one: "
                "name one group, or give them different attention",
                n=len(groups),
            )
        self._check_cached_sizes(sizes)

    def _check_cached_sizes(self, sizes: list[int]) -> None:
        """A hit is a multiple of `needed` tokens: what ChunkedLocalAttentionManager asserts."""
        needed = math.lcm(*sizes)
        groups = list(zip(self.groups, sizes, strict=True))
        is_eagle = self.spec is not None and self.spec.drops_last_hit_block
        if any(group.chunk and size != needed for group, size in groups):
            raise ConfigError.of(
                "group.chunked_sizes",
                "a chunked_local group beside others of larger blocks: for its prefix hits vLLM "
                "0.17.1 needs kv_groups.block_size={needed} there, a multiple of all: set it, or "
                "turn prefix caching off",
                needed=needed,
            )
        if is_eagle and any(group.chunk for group, _ in groups):
            raise ConfigError.of(
                "group.chunked_eagle",
                "a chunked_local group with spec.method='eagle': vLLM 0.17.1 does not take them "
                "together under prefix caching: choose another method, or turn caching off",
            )

    @property
    def groups(self) -> tuple[GroupConfig, ...]:
        """The groups with their block sizes filled in; one full-attention group by default."""
        groups = self.kv_groups or (GroupConfig(type="full"),)
        return tuple(
            msgspec.structs.replace(group, block_size=group.block_size or self.block_size)
            for group in groups
        )

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> "EngineConfig":
        """Build from JSON-like data; raises ConfigError for an unknown field or a wrong type."""
        try:
            return msgspec.convert(mapping, cls)
        except msgspec.ValidationError as error:
            raise ConfigError(reason_of(error)) from error

    def to_mapping(self) -> dict[str, Any]:
        """JSON-like data that `from_mapping` turns back into an equal config. What later versions
        do is named only where it is on: all else is as it was written before they did it."""
        built: dict[str, Any] = msgspec.to_builtins(self)
        is_off = [name for name in LATER_BEHAVIOURS if not built[name]]
        return {name: value for name, value in built.items() if name not in is_off}


class SamplingParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the tokens of one request are drawn and when it ends.

    vLLM 0.17.1: sampling_params.py SamplingParams
    """

    max_tokens: int = 16
    temperature: float = 0.0  # 0: greedy
    top_k: int = 0  # 0: off
    top_p: float = 1.0
    seed: int = 0  # the draw of output token n depends on (seed, n) alone
    stop: tuple[str, ...] = ()
    ignore_eos: bool = False

    def __post_init__(self) -> None:
        whole_number("max_tokens", self.max_tokens, 1)
        temperature = finite_number("temperature", self.temperature)
        if temperature < 0:
            raise ConfigError.of(
                "sampling.temperature",
                "temperature={given} is negative: 0 is greedy, 1 is neutral",
                given=self.temperature,
            )
        if 0 < temperature < MIN_TEMPERATURE:
            msgspec.structs.force_setattr(self, "temperature", MIN_TEMPERATURE)
        whole_number("top_k", self.top_k, 0)
        if not 0 < finite_number("top_p", self.top_p) <= 1:
            raise ConfigError.of(
                "sampling.top_p",
                "top_p={given} is out of range: it must be above 0 and at most 1",
                given=self.top_p,
            )
        whole_number("seed", self.seed, 0, 2**63 - 1)
        boolean("ignore_eos", self.ignore_eos)
        if not isinstance(self.stop, tuple) or not all(
            isinstance(stop, str) and stop for stop in self.stop
        ):
            raise ConfigError.of(
                "sampling.stop",
                "stop={given}: stop strings must be texts that are not empty",
                given=repr(self.stop),
            )


AbortPhase = Literal["before", "mid"]
