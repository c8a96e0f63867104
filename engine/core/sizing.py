"""Bytes to blocks, layers to groups, and back (SEMANTICS 15).

    available bytes // page_size_bytes // group size = num_blocks

vLLM 0.17.1: v1/core/kv_cache_utils.py get_kv_cache_configs
"""

from collections.abc import Sequence
from dataclasses import dataclass

from engine.checks import whole_number
from engine.config import EngineConfig
from engine.core.kv_cache_spec import KVCacheSpec, cdiv
from engine.errors import ConfigError


@dataclass(frozen=True)
class KVCachePlan:
    """How the layers of a model share one pool.

    `tensors[i]` lists the layers that share the i-th cache tensor: the i-th of every group.
    """

    specs: tuple[KVCacheSpec, ...]  # by group
    groups: tuple[tuple[int, ...], ...]  # layer indices by group
    group_size: int  # layers of a full group = number of cache tensors

    @property
    def page_size_bytes(self) -> int:
        """One block of one layer; equal in all groups."""
        return self.specs[0].page_size_bytes

    @property
    def bytes_per_block(self) -> int:
        """One block in all cache tensors."""
        return self.page_size_bytes * self.group_size

    @property
    def tensors(self) -> tuple[tuple[int, ...], ...]:
        return tuple(
            tuple(group[i] for group in self.groups if i < len(group))
            for i in range(self.group_size)
        )

    def num_blocks(self, available_bytes: int) -> int:
        """Blocks, the null block included, that `available_bytes` pay for."""
        return available_bytes // self.page_size_bytes // self.group_size

    def tensor_bytes(self, num_blocks: int) -> int:
        """Size of one cache tensor."""
        return self.page_size_bytes * num_blocks

    def pool_bytes(self, num_blocks: int) -> int:
        """Size of all cache tensors: the way back from blocks to bytes."""
        return self.bytes_per_block * num_blocks

    def blocks_per_request(self, max_model_len: int, max_num_batched_tokens: int) -> int:
        """Blocks that a request of full length holds at once, summed over the groups."""
        return sum(
            spec.max_blocks_per_request(max_model_len, max_num_batched_tokens)
            for spec in self.specs
        )

    def max_concurrency(
        self, num_blocks: int, max_model_len: int, max_num_batched_tokens: int
    ) -> float:
        """Requests of full length that fit at once; a fraction, as vLLM reports it."""
        return num_blocks / self.blocks_per_request(max_model_len, max_num_batched_tokens)


def plan_kv_cache(specs: Sequence[KVCacheSpec]) -> KVCachePlan:
    """Deal the layers out to groups; `specs` has one per layer. ConfigError if pages differ."""
    if not specs:
        raise ConfigError("a model without attention layers needs no KV cache")
    layers_by_spec: dict[KVCacheSpec, list[int]] = {}
    for layer, spec in enumerate(specs):
        layers_by_spec.setdefault(spec, []).append(layer)
    _check_equal_pages(list(layers_by_spec))
    counts = [len(layers) for layers in layers_by_spec.values()]
    group_size = max(counts) if max(counts) < 1.25 * min(counts) else min(counts)
    groups, group_specs = [], []
    for spec, layers in layers_by_spec.items():
        num_groups = cdiv(len(layers), group_size)
        for first in range(num_groups):
            groups.append(tuple(layers[first::num_groups]))
            group_specs.append(spec)
    return KVCachePlan(tuple(group_specs), tuple(groups), group_size)


def _check_equal_pages(specs: Sequence[KVCacheSpec]) -> None:
    pages = {spec.page_size_bytes for spec in specs}
    if len(pages) > 1:
        listed = ", ".join(f"{type(spec).__name__} {spec.page_size_bytes} B" for spec in specs)
        raise ConfigError(
            f"layers have blocks of different sizes ({listed}), but all groups share one pool: "
            f"choose block sizes that make them equal"
        )


def num_blocks_from_bytes(plan: KVCachePlan, kv_cache_bytes: int, config: EngineConfig) -> int:
    """num_blocks for a pool sized from bytes; ConfigError unless it can hold max_model_len.

    vLLM 0.17.1: kv_cache_utils.py get_kv_cache_configs
    """
    whole_number("kv_cache_bytes", kv_cache_bytes, 1)
    bought = plan.num_blocks(kv_cache_bytes)
    needed = plan.blocks_per_request(config.max_model_len, config.max_num_batched_tokens)
    if bought >= needed:
        return bought
    size = plan.specs[0].block_size
    longest = bought * size
    advice = f"raise kv_cache_bytes to {plan.pool_bytes(needed)}"
    if longest and len(plan.specs) == 1:
        advice += f" or lower max_model_len to {longest}"
    raise ConfigError(
        f"kv_cache_bytes={kv_cache_bytes} buys {bought} blocks of {size} tokens "
        f"({plan.bytes_per_block} bytes each), but max_model_len={config.max_model_len} needs "
        f"{needed}: {advice}"
    )
