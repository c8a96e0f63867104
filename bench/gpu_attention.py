"""The attention kernel by itself: against the bytes it must read, and against SDPA."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from bench.gpu_clock import MAX_CACHED_TOKENS, Clock
from bench.gpu_report import Report, number
from engine.runner.attention.backend import GroupBatch
from engine.runner.attention.reference import ReferenceAttention
from engine.runner.attention.triton_backend import PagedPlan, TritonAttention, paged_attention

NUM_HEADS, NUM_KV_HEADS, HEAD_SIZE = 9, 3, 64  # SmolLM2-135M
SCALE = HEAD_SIZE**-0.5
TOLERANCE = 3e-2  # of bfloat16, relative


class Case(NamedTuple):
    """Sequences of one length in a cache whose blocks are drawn at random."""

    query: Tensor  # [num_tokens, num_heads, head_size]
    kv_cache: Tensor  # [2, num_blocks, block_size, num_kv_heads, head_size]
    plan: PagedPlan

    def attend(self) -> Tensor:
        return paged_attention(self.query, self.kv_cache, plan=self.plan, scale=SCALE)


def draw_cases(
    clock: Clock, batch: int, length: int, block_size: int, *, query_len: int = 1, num_sets: int = 1
) -> list[Case]:
    """Sets of sequences, each with blocks of its own in one cache."""
    num_blocks = -(-length // block_size)
    ids = torch.randperm(num_sets * batch * num_blocks).view(num_sets, batch, num_blocks).tolist()
    kv_cache = _draw(clock, 2, num_sets * batch * num_blocks, block_size, NUM_KV_HEADS, HEAD_SIZE)
    backend, cases = TritonAttention(), []
    for tables in ids:
        group = group_batch(clock, tables, length, block_size=block_size, query_len=query_len)
        query = _draw(clock, batch * query_len, NUM_HEADS, HEAD_SIZE)
        plan = backend.plan(group, window=None, dtype=clock.dtype)
        cases.append(Case(query, kv_cache, plan))
    return cases


def group_batch(
    clock: Clock, tables: Sequence[Sequence[int]], length: int, *, block_size: int, query_len: int
) -> GroupBatch:
    positions = range(length - query_len, length)
    slots = [
        table[position // block_size] * block_size + position % block_size
        for table in tables
        for position in positions
    ]
    return GroupBatch(
        block_size=block_size,
        query_start=[index * query_len for index in range(len(tables) + 1)],
        seq_lens=[length] * len(tables),
        block_tables=tables,
        slot_mapping=torch.tensor(slots, device=clock.device),
    )


def _draw(clock: Clock, *shape: int) -> Tensor:
    return torch.randn(shape, device=clock.device, dtype=clock.dtype)


def check(clock: Clock) -> dict[str, Any]:
    """The largest relative error against plain torch in float32. AssertionError if it is too large."""
    worst = 0.0
    for block_size in clock.size.block_sizes:
        for query_len in (1, 30):
            (case,) = draw_cases(clock, 3, 40, block_size, query_len=query_len)
            tables = case.plan.block_table.tolist()
            group = group_batch(clock, tables, 40, block_size=block_size, query_len=query_len)
            cache = case.kv_cache.float()
            flat = cache.flatten(1, 2)
            key, value = flat[0, group.slot_mapping], flat[1, group.slot_mapping]
            backend = ReferenceAttention()
            plan = backend.plan(group, window=None, dtype=torch.float32)
            expected = backend.forward(
                case.query.float(), key, value, cache, plan=plan, scale=SCALE
            )
            error = float((case.attend().float() - expected).norm() / expected.norm())
            assert error < TOLERANCE, f"block_size={block_size}: off by {error:.2g}"
            worst = max(worst, error)
    return {"largest_relative_error": worst}


def measure_decode(clock: Clock, report: Report) -> None:
    """Decode attention over batch x context x block size; the floor is K and V, read once."""
    rows = report.rows("decode_attention")
    for batch in clock.size.batches:
        for context in clock.size.contexts:
            if batch * context > MAX_CACHED_TOKENS:
                continue
            with report.attempt(f"decode_attention {batch} x {context}"):
                sdpa_s = _sdpa_s(clock, batch, context, _num_sets(clock, batch, context))
                for block_size in clock.size.block_sizes:
                    rows.append(_decode_row(clock, batch, context, block_size, sdpa_s=sdpa_s))
    report.table(
        "Decode attention",
        "bytes of K and V over the speed of a copy = the floor; served: split for "
        f"{clock.size.max_model_len} tokens, as in a graph; SDPA: on as much contiguous K and V",
        rows,
    )


def _kv_bytes(clock: Clock, batch: int, context: int) -> int:
    return 2 * batch * context * NUM_KV_HEADS * HEAD_SIZE * clock.dtype.itemsize


def _num_sets(clock: Clock, batch: int, context: int) -> int:
    return clock.num_sets(_kv_bytes(clock, batch, context))


def _decode_row(
    clock: Clock, batch: int, context: int, block_size: int, *, sdpa_s: float
) -> dict[str, Any]:
    read_bytes, num_sets = _kv_bytes(clock, batch, context), _num_sets(clock, batch, context)
    cases = draw_cases(clock, batch, context, block_size, num_sets=num_sets)
    kernel_s = clock.kernel_s([case.attend for case in cases])
    served_s = clock.kernel_s([_as_served(clock, case).attend for case in cases])
    return {
        "batch": batch,
        "context": context,
        "block_size": block_size,
        "us": number(kernel_s * 1e6),
        "TB_s": number(read_bytes / kernel_s / 1e12),
        "of_floor": number(read_bytes / clock.bytes_s / kernel_s),
        "served_us": number(served_s * 1e6),
        "sdpa_us": number(sdpa_s * 1e6),
    }


def _as_served(clock: Clock, case: Case) -> Case:
    """The same, split as in a graph, which must do for the longest request that there may be."""
    plan = dataclasses.replace(case.plan, max_seq_len=clock.size.max_model_len)
    return case._replace(plan=plan)


def _sdpa_s(clock: Clock, batch: int, context: int, num_sets: int) -> float:
    """torch's own attention on K and V that lie in one piece, without any paging, on as many sets
    of them as the kernel gets: neither finds its data in the L2 cache."""
    queries = _draw(clock, num_sets, batch, NUM_HEADS, 1, HEAD_SIZE)
    keys, values = (
        _draw(clock, num_sets, batch, NUM_KV_HEADS, context, HEAD_SIZE) for _ in range(2)
    )
    return clock.kernel_s(
        [
            functools.partial(scaled_dot_product_attention, *one_set, enable_gqa=True)
            for one_set in zip(queries, keys, values, strict=True)
        ]
    )


def measure_prefill(clock: Clock, report: Report) -> None:
    """Whole prompts: the rate of the two products that a causal mask leaves."""
    rows = report.rows("prefill_attention")
    for batch, length in clock.size.prompts:
        with report.attempt(f"prefill_attention {batch} x {length}"):
            sdpa_s = _sdpa_prefill_s(clock, batch, length)
            for block_size in clock.size.block_sizes:
                rows.append(_prefill_row(clock, batch, length, block_size, sdpa_s=sdpa_s))
    report.table("Prefill attention", "causal; SDPA on contiguous K and V beside it", rows)


def _sdpa_prefill_s(clock: Clock, batch: int, length: int) -> float:
    query = _draw(clock, batch, NUM_HEADS, length, HEAD_SIZE)
    key, value = (_draw(clock, batch, NUM_KV_HEADS, length, HEAD_SIZE) for _ in range(2))
    return clock.kernel_s(
        [lambda: scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)]
    )


def _prefill_row(
    clock: Clock, batch: int, length: int, block_size: int, *, sdpa_s: float
) -> dict[str, Any]:
    flop = 4 * NUM_HEADS * HEAD_SIZE * batch * length * (length + 1) / 2
    (case,) = draw_cases(clock, batch, length, block_size, query_len=length)
    case.attend()  # its tiles are copied to the device once, and not while capturing
    kernel_s = clock.kernel_s([case.attend])
    return {
        "batch": batch,
        "tokens": length,
        "block_size": block_size,
        "us": number(kernel_s * 1e6),
        "TFLOP_s": number(flop / kernel_s / 1e12),
        "sdpa_TFLOP_s": number(flop / sdpa_s / 1e12),
    }
