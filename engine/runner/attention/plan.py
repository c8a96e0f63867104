"""One step's attention, laid out once for all layers of a group and window.

block table of a sequence   [ 5, 2, 7 ]           block_size 4, 10 tokens in the cache
gathered by block           5555 2222 77..        ".." was never written: set to zero, masked
with a sliding window of 5       222 77           block 5 is not even gathered
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from engine.runner.attention.backend import GroupBatch

MAX_WASTED_TOKENS = 400  # padding that costs about as much as one more call


class Span(NamedTuple):
    """What a query row's sequence shows it: tokens `first` to `last`, the end left out.

    They lie in `num_blocks` blocks of the table from `first_block` on.
    """

    seq: int
    first: int
    last: int
    first_block: int
    num_blocks: int


@dataclass(slots=True, frozen=True)
class LoneDecode:
    """A step that is one row of one sequence: the case in which every call counts."""

    slot: int  # where its K and V go
    block_ids: Tensor | None  # [num_blocks] int64; None: they stand in a row, nothing to gather
    first_slot: int  # of the gathered slots, or of the whole cache
    num_slots: int


@dataclass(slots=True, frozen=True)
class DecodeBatch:
    """Decode rows of about equal length, padded to the longest."""

    rows: Tensor | None  # [num_seqs] int64; None: all rows of the step, in order
    block_ids: Tensor  # [num_seqs * num_blocks] int64
    num_seqs: int
    mask: Tensor | None  # [num_seqs, 1, 1, num_slots], 0 or -inf; None: nothing to hide
    unseen: Tensor | None  # flat indices of gathered slots that may hold anything, even NaN


@dataclass(slots=True, frozen=True)
class Chunk:
    """Several rows of one sequence."""

    start: int  # rows of the step
    end: int
    block_ids: Tensor | None  # [num_blocks] int64; None: the chunk is all that there is to see
    first_slot: int  # of the gathered slots the chunk may see [first_slot, last_slot)
    last_slot: int
    mask: Tensor | None  # [num_rows, num_slots] 0 or -inf; None: causal
    is_causal: bool


@dataclass(slots=True, frozen=True)
class Plan:
    """One step's attention for the layers of one group and window."""

    slot_mapping: Tensor  # [num_tokens] int64
    lone: LoneDecode | None  # then there is nothing else
    decodes: tuple[DecodeBatch, ...]
    chunks: tuple[Chunk, ...]


def plan_step(batch: GroupBatch, *, window: int | None, dtype: torch.dtype) -> Plan:
    """`dtype` is that of the cache; `window` counts the query itself."""
    if batch.query_start[-1] == 1:
        lone = _plan_lone(batch, span_of(batch, 0, window))
        return Plan(batch.slot_mapping, lone, (), ())
    decodes: list[Span] = []
    chunks: list[Chunk] = []
    for seq in range(batch.num_seqs):
        num_rows = batch.query_start[seq + 1] - batch.query_start[seq]
        if num_rows == 1:
            decodes.append(span_of(batch, seq, window))
        elif num_rows > 1:
            chunks.append(_plan_chunk(batch, span_of(batch, seq, window), window, dtype))
    buckets = split_by_length(decodes, batch.block_size)
    return Plan(
        slot_mapping=batch.slot_mapping,
        lone=None,
        decodes=tuple(_plan_decodes(batch, bucket, dtype) for bucket in buckets),
        chunks=tuple(chunks),
    )


def span_of(batch: GroupBatch, seq: int, window: int | None) -> Span:
    num_rows = batch.query_start[seq + 1] - batch.query_start[seq]
    last = batch.seq_lens[seq]
    first = 0 if window is None else max(0, last - num_rows - window + 1)
    first_block = first // batch.block_size
    num_blocks = -(-last // batch.block_size) - first_block
    return Span(seq, first, last, first_block, num_blocks)


def split_by_length(spans: list[Span], block_size: int) -> list[list[Span]]:
    """Split where padding the shorter to the longest would cost more than another call."""
    if not spans:
        return []
    by_length = sorted(spans, key=lambda span: -span.num_blocks)
    buckets = [[by_length[0]]]
    for index, span in enumerate(by_length[1:], start=1):
        padding = (buckets[-1][0].num_blocks - span.num_blocks) * block_size
        if padding * (len(by_length) - index) > MAX_WASTED_TOKENS:
            buckets.append([span])
        else:
            buckets[-1].append(span)
    return buckets if len(buckets) > 1 else [spans]


def _table(batch: GroupBatch, span: Span) -> list[int]:
    table = batch.block_tables[span.seq]
    return list(table[span.first_block : span.first_block + span.num_blocks])


def _plan_lone(batch: GroupBatch, span: Span) -> LoneDecode:
    table = _table(batch, span)
    is_row = table == list(range(table[0], table[0] + span.num_blocks))
    skipped = span.first_block * batch.block_size
    return LoneDecode(
        slot=int(batch.slot_mapping[0]),
        block_ids=None if is_row else torch.tensor(table, device=batch.slot_mapping.device),
        first_slot=span.first - skipped + (table[0] * batch.block_size if is_row else 0),
        num_slots=span.last - span.first,
    )


def _plan_decodes(batch: GroupBatch, spans: list[Span], dtype: torch.dtype) -> DecodeBatch:
    device = batch.slot_mapping.device
    num_blocks = max(span.num_blocks for span in spans)
    block_ids: list[int] = []
    for span in spans:
        table = _table(batch, span)
        block_ids += table + [table[-1]] * (num_blocks - span.num_blocks)
    hidden = _hidden_slots(spans, num_blocks * batch.block_size, batch.block_size, device)
    unseen = hidden.flatten().nonzero().flatten()
    rows = [batch.query_start[span.seq] for span in spans]
    in_order = len(spans) == batch.query_start[-1]
    return DecodeBatch(
        rows=None if in_order else torch.tensor(rows, device=device),
        block_ids=torch.tensor(block_ids, device=device),
        num_seqs=len(spans),
        mask=_additive(hidden, dtype)[:, None, None] if len(unseen) else None,
        unseen=unseen if len(unseen) else None,
    )


def _hidden_slots(
    spans: list[Span], num_slots: int, block_size: int, device: torch.device
) -> Tensor:
    """[num_seqs, num_slots]: which gathered slots a sequence must not see."""
    slots = torch.arange(num_slots, device=device)
    skipped = [span.first_block * block_size for span in spans]
    firsts = torch.tensor([span.first - n for span, n in zip(spans, skipped)], device=device)
    lasts = torch.tensor([span.last - n for span, n in zip(spans, skipped)], device=device)
    return (slots < firsts[:, None]) | (slots >= lasts[:, None])


def _plan_chunk(batch: GroupBatch, span: Span, window: int | None, dtype: torch.dtype) -> Chunk:
    start, end = batch.query_start[span.seq], batch.query_start[span.seq + 1]
    num_rows, num_keys = end - start, span.last - span.first
    sees_itself_only = num_keys == num_rows
    is_causal = sees_itself_only and (window is None or num_rows <= window)
    device = batch.slot_mapping.device
    first_slot = span.first - span.first_block * batch.block_size
    return Chunk(
        start=start,
        end=end,
        block_ids=None if sees_itself_only else torch.tensor(_table(batch, span), device=device),
        first_slot=first_slot,
        last_slot=first_slot + num_keys,
        mask=None if is_causal else _additive(_hidden(num_rows, num_keys, window, device), dtype),
        is_causal=is_causal,
    )


def _hidden(num_rows: int, num_keys: int, window: int | None, device: torch.device) -> Tensor:
    """[num_rows, num_keys]: the last row sees the last key, and `window` keys in all."""
    keys = torch.arange(num_keys, device=device)
    own = torch.arange(num_keys - num_rows, num_keys, device=device)[:, None]
    hidden = keys > own
    if window is not None:
        hidden |= keys <= own - window
    return hidden


def _additive(hidden: Tensor, dtype: torch.dtype) -> Tensor:
    mask = torch.zeros(hidden.shape, dtype=dtype, device=hidden.device)
    return mask.masked_fill_(hidden, float("-inf"))
