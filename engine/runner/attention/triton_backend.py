"""Launches the kernels of paged_triton.py: tiling.py says into how many programs."""

import functools
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
import triton
from torch import Tensor

from engine.errors import Sentence
from engine.runner.attention.backend import AttentionBackend, GroupBatch
from engine.runner.attention.paged_triton import attention_kernel, combine_kernel, write_kernel
from engine.runner.attention.reference import ReferenceAttention
from engine.runner.attention.tiling import (
    choose_num_splits,
    choose_tiling,
    cut_queries,
    longest_walk,
)

# Decided when @triton.jit reads a kernel, so it holds for the whole process.
INTERPRETED = bool(triton.knobs.runtime.interpret)
LOG2_E = 1.4426950408889634
PRECISION = "tf32x3"  # of float32 products: tensor cores, three times, near float32's own accuracy
TRIAL_TOLERANCE = 1e-2  # float16 of numbers up to three


@dataclass(slots=True)
class PagedPlan:
    """One step's attention for the layers of one group and window, on the device.

    vLLM 0.17.1: v1/attention/backends/triton_attn.py TritonAttentionMetadata
    """

    slot_mapping: Tensor  # [num_tokens] int32 or int64
    block_table: Tensor  # [num_seqs, blocks of the longest] int32
    seq_lens: Tensor  # [num_seqs] int32
    query_start: Tensor  # [num_seqs + 1] int32
    max_seq_len: int  # no sequence is longer
    window: int | None = None
    query_starts: Sequence[int] | None = None  # the same on the host; None: one query each
    _tiles: dict[int, Tensor] = field(default_factory=dict)

    def tiles(self, num_queries: int) -> Tensor:
        """[num_tiles, 2] int32: a sequence, and which of its queries is the first of the tile."""
        assert self.query_starts is not None, "one query each: nothing to cut"
        if num_queries not in self._tiles:
            cut = cut_queries(self.query_starts, num_queries)
            tiles = torch.tensor(cut, dtype=torch.int32).view(-1, 2)
            self._tiles[num_queries] = tiles.to(self.block_table.device)
        return self._tiles[num_queries]


class TritonAttention:
    """vLLM 0.17.1: v1/attention/backends/triton_attn.py TritonAttentionImpl"""

    name = "triton"

    def plan(self, batch: GroupBatch, *, window: int | None, dtype: torch.dtype) -> PagedPlan:
        device = batch.slot_mapping.device
        longest = max((len(table) for table in batch.block_tables), default=0)
        numbers = [*batch.seq_lens, *batch.query_start]
        for table in batch.block_tables:
            numbers.extend(table)
            numbers.extend([0] * (longest - len(table)))
        on_device = torch.tensor(numbers, dtype=torch.int32).to(device)  # one copy for all
        sizes = (batch.num_seqs, batch.num_seqs + 1, batch.num_seqs * longest)
        lens, starts, tables = torch.split_with_sizes(on_device, sizes)
        one_each = list(batch.query_start) == list(range(batch.num_seqs + 1))
        return PagedPlan(
            slot_mapping=batch.slot_mapping,
            block_table=tables.view(batch.num_seqs, longest),
            seq_lens=lens,
            query_start=starts,
            max_seq_len=max(batch.seq_lens, default=0),
            window=window,
            query_starts=None if one_each else batch.query_start,
        )

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        kv_cache: Tensor,
        *,
        plan: PagedPlan,
        scale: float,
    ) -> Tensor:
        dtype, narrow = query.dtype, kv_cache.dtype
        if narrow != dtype:  # float32 activations around a half-size cache
            query, key, value = query.to(narrow), key.to(narrow), value.to(narrow)
        write_kv(key, value, kv_cache, plan.slot_mapping)
        return paged_attention(query, kv_cache, plan=plan, scale=scale).to(dtype)


def write_kv(key: Tensor, value: Tensor, kv_cache: Tensor, slot_mapping: Tensor) -> None:
    """Put the step's K and V into their slots; a slot of -1 is passed over.

    vLLM 0.17.1: reshape_and_cache_flash
    """
    keys, values = kv_cache.unbind(0)  # [num_blocks, block_size, num_kv_heads, head_size]
    num_tokens, num_kv_heads, head_size = key.shape
    if num_tokens == 0:
        return
    assert key.stride(2) == value.stride(2) == keys.stride(3) == 1, "heads lie apart"
    row_pad = triton.next_power_of_2(num_kv_heads * head_size)
    write_kernel[(num_tokens,)](
        key, value, keys, values, slot_mapping,
        key.stride(0), key.stride(1), value.stride(0), value.stride(1),
        keys.stride(0), keys.stride(1), keys.stride(2),
        BLOCK_SIZE=keys.shape[1], NUM_KV_HEADS=num_kv_heads, HEAD_SIZE=head_size,
        ROW_PAD=row_pad, num_warps=max(1, min(8, row_pad // 128)),
    )  # fmt: skip


def paged_attention(
    query: Tensor,  # [num_tokens, num_heads, head_size]
    kv_cache: Tensor,  # [2, num_blocks, block_size, num_kv_heads, head_size]
    *,
    plan: PagedPlan,
    scale: float,
    num_splits: int | None = None,  # of the KV of every sequence; None: as many as keep a GPU busy
    tile_kv: int | None = None,
) -> Tensor:
    """[num_tokens, num_heads, head_size]; the K and V of all rows must be in the cache by now."""
    key, value = kv_cache.unbind(0)
    (num_tokens, num_heads, head_size), num_kv_heads = query.shape, key.shape[2]
    assert query.stride(2) == key.stride(3) == 1, "heads lie apart"
    out = torch.empty(query.shape, dtype=query.dtype, device=query.device)
    if num_tokens == 0:
        return out
    one_query_each, group = plan.query_starts is None, num_heads // num_kv_heads
    tiling = choose_tiling(group, head_size, query.dtype.itemsize, one_query_each=one_query_each)
    tiling = tiling._replace(kv=tile_kv or tiling.kv)
    tiles = plan.seq_lens if one_query_each else plan.tiles(tiling.queries)
    if num_splits is None:
        num_splits = choose_num_splits(
            len(tiles) * num_kv_heads,
            longest_walk(plan.max_seq_len, tiling.queries, plan.window),
            tiling.kv,
            num_processors=num_processors(query.device),
        )
    part, stats = _parts(query, num_splits) if num_splits > 1 else (out, out)
    head_pad = max(16, triton.next_power_of_2(head_size))
    attention_kernel[(len(tiles) * num_splits, num_kv_heads)](
        out, part, stats, query, key, value, plan.block_table, plan.query_start, plan.seq_lens,
        tiles, scale * LOG2_E, query.stride(0), query.stride(1), out.stride(0), out.stride(1),
        key.stride(0), key.stride(1), key.stride(2), plan.block_table.stride(0),
        ONE_QUERY_EACH=one_query_each, GROUP=group, TILE_QUERIES=tiling.queries,
        TILE_ROWS=tiling.rows, TILE_KV=tiling.kv, HEAD_SIZE=head_size, HEAD_PAD=head_pad,
        BLOCK_SIZE=key.shape[1], WINDOW=plan.window or 0, NUM_SPLITS=num_splits,
        PRECISION=PRECISION, WIDEN=INTERPRETED and query.dtype == torch.bfloat16,
        num_warps=tiling.num_warps, num_stages=tiling.num_stages,
    )  # fmt: skip
    if num_splits > 1:
        combine_kernel[(num_tokens, num_heads)](
            out, part, stats, out.stride(0), out.stride(1), HEAD_SIZE=head_size, HEAD_PAD=head_pad,
            NUM_SPLITS=num_splits, SPLITS_PAD=triton.next_power_of_2(num_splits), num_warps=1,
        )  # fmt: skip
    return out


def _parts(query: Tensor, num_splits: int) -> tuple[Tensor, Tensor]:
    num_tokens, num_heads, head_size = query.shape
    shape = (num_tokens, num_heads, num_splits)
    part = torch.empty((*shape, head_size), dtype=torch.float32, device=query.device)
    return part, torch.empty((*shape, 2), dtype=torch.float32, device=query.device)


@functools.cache
def num_processors(device: torch.device) -> int:
    """Streaming multiprocessors; the interpreter is a single one."""
    if device.type != "cuda":
        return 0
    count: int = torch.cuda.get_device_properties(device).multi_processor_count
    return count


# Triton, the compilers that it calls, and the driver: AssertionError without libcuda.so, ImportError
# where its cache may not be executed, ValueError of a type that the GPU lacks. Torch needs none of it.
TRIAL_ERRORS = (
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    subprocess.SubprocessError,
    triton.TritonError,
)


def why_kernels_fail(device: torch.device) -> Sentence | None:
    """Try both kernels on a few tokens; None if they gave what plain torch gives."""
    torch_says = _try(ReferenceAttention(), device)
    try:
        kernels_say = _try(TritonAttention(), device)
    except TRIAL_ERRORS as error:
        return Sentence.of(
            "kernels.trial_failed",
            "a trial of the Triton kernels failed ({cause})",
            cause=cause_of(error),
        )
    if torch.allclose(kernels_say, torch_says, atol=TRIAL_TOLERANCE):
        return None
    return Sentence.of(
        "kernels.other_numbers", "a trial of the Triton kernels gave other numbers than torch"
    )


def cause_of(error: Exception) -> str:
    """The line that says it: the compiler's errors end with it, all others begin with it."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    line = lines[-1 if isinstance(error, triton.CompilationError) else 0]
    return line.strip().rstrip(".:!")[:200]


def _try(backend: AttentionBackend, device: torch.device) -> Tensor:
    """A chunk of five tokens after three others, and a decode, in blocks of two."""
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randn(3, 6, 2, 16, generator=generator).half().to(device)
    batch = GroupBatch(
        block_size=2,
        query_start=(0, 5, 6),
        seq_lens=(8, 1),
        block_tables=((3, 1, 5, 2), (4,)),
        slot_mapping=torch.tensor([3, 10, 11, 4, 5, 8], device=device),
    )
    query, key, value = drawn.unbind(0)
    kv_cache = torch.ones(2, 6, 2, 1, 16, dtype=torch.float16, device=device)
    plan = backend.plan(batch, window=None, dtype=torch.float16)
    return backend.forward(query, key[:, :1], value[:, :1], kv_cache, plan=plan, scale=0.25)
