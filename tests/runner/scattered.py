"""Batches over a scattered cache, and what attention must give on them."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.runner.attention.backend import GroupBatch


@dataclass
class Scattered:
    """Sequences whose K and V lie in a cache at random blocks; all other slots are NaN.

    `shares` are (tokens already in the cache, tokens of this step) by sequence.
    """

    shares: Sequence[tuple[int, int]]
    block_size: int
    num_kv_heads: int = 2
    group: int = 2
    head_size: int = 8
    dtype: torch.dtype = torch.float32
    tables: Sequence[list[int]] = ()  # at random if not given
    device: str = "cpu"

    def __post_init__(self) -> None:
        generator = torch.Generator().manual_seed(3)
        self.lengths = [old + new for old, new in self.shares]
        tables_len = [-(-length // self.block_size) for length in self.lengths]
        order = torch.randperm(sum(tables_len) + 3, generator=generator) + 1
        if not self.tables:
            parts = order[: sum(tables_len)].split(tables_len)
            self.tables = [list(map(int, part)) for part in parts]

        def draw(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=generator).to(self.device, self.dtype)

        heads, size = self.num_kv_heads, self.head_size
        self.keys = [draw(length, heads, size) for length in self.lengths]
        self.values = [draw(length, heads, size) for length in self.lengths]
        num_rows = sum(new for _, new in self.shares)
        self.query = draw(num_rows, heads * self.group, size)
        shape = (2, len(order) + 1, self.block_size, heads, size)
        self.kv_cache = torch.full(shape, float("nan"), dtype=self.dtype, device=self.device)
        for seq, (old, _) in enumerate(self.shares):
            slots = self.slots(seq)[:old]
            self.kv_cache.flatten(1, 2)[0, slots] = self.keys[seq][:old]
            self.kv_cache.flatten(1, 2)[1, slots] = self.values[seq][:old]

    def slots(self, seq: int) -> list[int]:
        table, size = self.tables[seq], self.block_size
        return [table[p // size] * size + p % size for p in range(self.lengths[seq])]

    def new(self, parts: Sequence[Tensor]) -> Tensor:
        """The rows of this step out of whole sequences."""
        return torch.cat([part[old:] for part, (old, _) in zip(parts, self.shares)])

    @property
    def batch(self) -> GroupBatch:
        starts = [0]
        slots: list[int] = []
        for seq, (old, new) in enumerate(self.shares):
            starts.append(starts[-1] + new)
            slots.extend(self.slots(seq)[old:])
        return GroupBatch(
            block_size=self.block_size,
            query_start=starts,
            seq_lens=self.lengths,
            block_tables=self.tables,
            slot_mapping=torch.tensor(slots, dtype=torch.int64, device=self.device),
        )

    def dense(self, window: int | None, scale: float) -> Tensor:
        """The same attention in float64 without any paging: [num_rows, num_heads, head_size]."""
        outs: list[Tensor] = []
        start = 0
        for keys, values, (old, new) in zip(self.keys, self.values, self.shares):
            query = self.query[start : start + new].double()
            start += new
            keys = keys.double().repeat_interleave(self.group, 1)
            values = values.double().repeat_interleave(self.group, 1)
            at = torch.arange(old, old + new, device=self.device)[:, None]
            seen = torch.arange(old + new, device=self.device)[None]
            visible = seen <= at
            if window is not None:
                visible &= at - seen < window
            scores = torch.einsum("qhd,khd->hqk", query, keys) * scale
            weights = scores.masked_fill(~visible, float("-inf")).softmax(-1)
            outs.append(torch.einsum("hqk,khd->qhd", weights, values))
        return torch.cat(outs)
