"""The cache tensors: allocated once, and found by layer.

    tensor 0   shared by the first layer of every group     [2, num_blocks, block_size, heads, size]
    tensor 1   shared by the second layer of every group
    ...

Groups never use the same block id at once, so their layers can share memory. With one group that
is one tensor per layer.

vLLM 0.17.1: v1/worker/gpu_model_runner.py GPUModelRunner.initialize_kv_cache_tensors
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.errors import ConfigError


@dataclass(frozen=True)
class KVCacheLayout:
    """Which layers form which group, and how many tokens a block of each group holds."""

    num_blocks: int  # the null block included
    groups: tuple[tuple[int, ...], ...]  # layer indices by group
    block_sizes: tuple[int, ...]  # tokens, by group

    def __post_init__(self) -> None:
        layers = sorted(layer for group in self.groups for layer in group)
        assert layers == list(range(len(layers))), f"a layer is missing or doubled: {layers}"
        assert len(self.groups) == len(self.block_sizes), (self.groups, self.block_sizes)
        if len(set(self.block_sizes)) > 1:
            raise ConfigError(
                f"block sizes {self.block_sizes} make pages of different sizes, since all layers "
                "of this model have equal heads: give every group the same block_size"
            )

    @property
    def num_layers(self) -> int:
        return sum(len(group) for group in self.groups)

    @property
    def num_tensors(self) -> int:
        return max(len(group) for group in self.groups)

    def group_of_layer(self, layer: int) -> int:
        return self._place(layer)[0]

    def tensor_of_layer(self, layer: int) -> int:
        return self._place(layer)[1]

    def _place(self, layer: int) -> tuple[int, int]:
        for group_id, group in enumerate(self.groups):
            if layer in group:
                return group_id, group.index(layer)
        raise AssertionError(f"layer {layer} is in no group of {self.groups}")


class CacheRows:
    """K and V of single tokens in all layers: what lies in the slots of one runner's cache."""

    def __init__(self, layout: KVCacheLayout, kv_caches: Sequence[Tensor]) -> None:
        """`kv_caches` by layer: tensors_by_layer()."""
        self._groups = [layout.group_of_layer(layer) for layer in range(layout.num_layers)]
        self._slots = [cache.view(2, -1, *cache.shape[3:]) for cache in kv_caches]

    def read(self, slots: Sequence[Tensor]) -> Tensor:
        """`slots` by group; a copy, [num_layers, 2, num_slots, num_kv_heads, head_size]."""
        pairs = zip(self._slots, self._groups, strict=True)
        return torch.stack([cache[:, slots[group]] for cache, group in pairs])

    def write(self, slots: Sequence[Tensor], numbers: Tensor) -> None:
        """What `read` gave, into these slots."""
        for cache, group, layer in zip(self._slots, self._groups, numbers, strict=True):
            cache[:, slots[group]] = layer


def allocate_kv_cache(
    layout: KVCacheLayout,
    *,
    num_kv_heads: int,
    head_size: int,
    dtype: torch.dtype,
    device: torch.device,
) -> list[Tensor]:
    """One tensor per position in a group, filled with zeros. ConfigError if memory is short."""
    shape = (2, layout.num_blocks, layout.block_sizes[0], num_kv_heads, head_size)
    try:
        return [torch.zeros(shape, dtype=dtype, device=device) for _ in range(layout.num_tensors)]
    except (RuntimeError, MemoryError) as error:  # torch's out-of-memory errors are RuntimeErrors
        num_bytes = layout.num_tensors * torch.Size(shape).numel() * dtype.itemsize
        raise ConfigError.of(
            "live.no_memory",
            "num_blocks={num} needs {num_bytes} bytes for the KV cache, more than {device} has: "
            "lower num_blocks or block_size",
            num=layout.num_blocks,
            num_bytes=num_bytes,
            device=str(device),
        ) from error


def tensors_by_layer(layout: KVCacheLayout, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    return tuple(tensors[layout.tensor_of_layer(layer)] for layer in range(layout.num_layers))
