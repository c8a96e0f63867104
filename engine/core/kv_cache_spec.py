"""One spec per attention type: what a layer keeps of every token, in blocks and bytes.

`page_size_bytes` is one block of one layer (SEMANTICS 15).

vLLM 0.17.1: v1/kv_cache_interface.py
"""

from dataclasses import dataclass
from typing import Any

from engine.config import GroupConfig
from engine.errors import ConfigError

FP8_DS_MLA_BYTES_PER_TOKEN = 656


def cdiv(numerator: int, denominator: int) -> int:
    """Division rounded up."""
    return -(-numerator // denominator)


@dataclass(frozen=True, slots=True)
class KVCacheSpec:
    """Base of all specs. Layers of equal spec share a KV-cache group."""

    block_size: int  # tokens
    num_kv_heads: int = 1
    head_size: int = 1
    dtype_bytes: int = 2

    @property
    def page_size_bytes(self) -> int:
        """Keys and values of one block of one layer."""
        return 2 * self.block_size * self.num_kv_heads * self.head_size * self.dtype_bytes

    def max_blocks_per_request(self, max_model_len: int, max_num_batched_tokens: int) -> int:
        """Blocks of one group that a request of full length holds at once, at most."""
        return cdiv(max_model_len, self.block_size)


@dataclass(frozen=True, slots=True)
class FullAttentionSpec(KVCacheSpec):
    """Every token attends to all before it. `head_size_v` differs from head_size in few models."""

    head_size_v: int | None = None

    @property
    def page_size_bytes(self) -> int:
        both_heads = self.head_size + (self.head_size_v or self.head_size)
        return self.block_size * self.num_kv_heads * both_heads * self.dtype_bytes


@dataclass(frozen=True, slots=True)
class SinkFullAttentionSpec(FullAttentionSpec):
    """Full attention with sink tokens in front."""


@dataclass(frozen=True, slots=True)
class SlidingWindowSpec(KVCacheSpec):
    """A token attends to itself and the `window - 1` tokens before it."""

    window: int = 1  # tokens

    def max_blocks_per_request(self, max_model_len: int, max_num_batched_tokens: int) -> int:
        reach = min(self.window - 1 + max_num_batched_tokens, max_model_len)
        return cdiv(reach, self.block_size) + 1  # the window need not begin at a block's edge


@dataclass(frozen=True, slots=True)
class ChunkedLocalAttentionSpec(KVCacheSpec):
    """A token attends to those before it in its own chunk."""

    chunk: int = 1  # tokens

    def max_blocks_per_request(self, max_model_len: int, max_num_batched_tokens: int) -> int:
        return cdiv(min(self.chunk + max_num_batched_tokens, max_model_len), self.block_size)


@dataclass(frozen=True, slots=True)
class MLAAttentionSpec(KVCacheSpec):
    """One latent vector per token in place of keys and values (DeepSeek)."""

    cache_format: str | None = None  # "fp8_ds_mla" or None

    @property
    def page_size_bytes(self) -> int:
        if self.cache_format == "fp8_ds_mla":
            return self.block_size * FP8_DS_MLA_BYTES_PER_TOKEN
        return self.block_size * self.num_kv_heads * self.head_size * self.dtype_bytes


@dataclass(frozen=True, slots=True)
class MambaSpec(KVCacheSpec):
    """State tensors of fixed size, whatever the number of tokens."""

    state_shapes: tuple[tuple[int, ...], ...] = ()
    padded_bytes: int = 0  # the other groups' page, to which this one is padded

    @property
    def page_size_bytes(self) -> int:
        elements = 0
        for shape in self.state_shapes:
            size = 1
            for dimension in shape:
                size *= dimension
            elements += size
        return max(elements * self.dtype_bytes, self.padded_bytes)


@dataclass(frozen=True, slots=True)
class CrossAttentionSpec(KVCacheSpec):
    """Keys and values of an encoder's output."""


SPEC_TYPES: dict[str, type[KVCacheSpec]] = {
    "full": FullAttentionSpec,
    "sliding": SlidingWindowSpec,
    "chunked_local": ChunkedLocalAttentionSpec,
    "mla": MLAAttentionSpec,
    "mamba": MambaSpec,
    "cross": CrossAttentionSpec,
    "sink_full": SinkFullAttentionSpec,
}


def spec_of(group: GroupConfig, default_block_size: int, **sizes: Any) -> KVCacheSpec:
    """The spec of a configured group; `sizes` are num_kv_heads, head_size, dtype_bytes, ..."""
    if group.type not in SPEC_TYPES:
        raise ConfigError(f"kv_groups.type={group.type!r} is unknown: {', '.join(SPEC_TYPES)}")
    if group.type == "sliding":
        sizes["window"] = group.window
    if group.type == "chunked_local":
        sizes["chunk"] = group.chunk
    return SPEC_TYPES[group.type](block_size=group.block_size or default_block_size, **sizes)
