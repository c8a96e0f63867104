"""The source of vLLM 0.17.1: names, defaults and shapes, where no run can show them."""

# ruff: noqa: ARG001  (a check takes a trace, also where its answer is the same for all)

import functools

import msgspec

from engine.trace.trace import Trace
from lessons.errors import FactError
from lessons.vllm_source import PATH, VllmSource


@functools.cache
def vllm_source() -> VllmSource:
    """As vllm_source.py read it; every run is of the same version."""
    return msgspec.json.decode(PATH.read_bytes(), type=VllmSource)


def fields_of_a_block(trace: Trace) -> tuple[str, ...]:
    """All that KVCacheBlock keeps of a block, by the names of its fields."""
    return vllm_source().block_fields


def block_has_field(trace: Trace, *, name: str) -> bool:
    """Whether KVCacheBlock has a field of this name."""
    return name in vllm_source().block_fields


def parameters_of_allocate_slots(trace: Trace) -> tuple[str, ...]:
    """What KVCacheManager.allocate_slots is given, by the names of its parameters."""
    return vllm_source().allocate_slots


def allocate_slots_takes(trace: Trace, *, names: tuple[str, ...]) -> bool:
    """Whether the parameters of KVCacheManager.allocate_slots begin with these."""
    return vllm_source().allocate_slots[: len(names)] == names


def declares_block_size(trace: Trace, *, size: int) -> bool:
    """Whether CacheConfig itself declares this block size as its default."""
    return vllm_source().declared_block_size == size


def default_block_sizes(trace: Trace, *, platform: str = "") -> tuple[int, ...]:
    """The block sizes that a platform sets where none was asked for, ascending; left out: all of them."""
    sizes = vllm_source().block_sizes
    if platform and platform not in sizes:
        raise FactError.of(
            "fact.no_platform",
            "vLLM sets a block size on {known}, not on {platform}",
            known=", ".join(sizes),
            platform=platform,
        )
    wanted = [sizes[platform]] if platform else sizes.values()
    return tuple(sorted({size for each in wanted for size in each}))


def cache_shape(trace: Trace, *, backend: str) -> tuple[str, ...]:
    """The axes of a layer's cache tensor in an attention back end, such as flash_attn."""
    shapes = vllm_source().cache_shapes
    if backend not in shapes:
        raise FactError.of(
            "fact.no_backend",
            "the back ends are {known}, not {backend}",
            known=", ".join(shapes),
            backend=backend,
        )
    return shapes[backend]


def num_cache_shapes(trace: Trace) -> int:
    """How many different orders of axes the attention back ends have for a layer's cache tensor."""
    return len(set(vllm_source().cache_shapes.values()))
