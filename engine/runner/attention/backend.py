"""What an attention kernel must offer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor


@dataclass(slots=True, frozen=True)
class GroupBatch:
    """Where the tokens of one step lie in the cache of one KV-cache group.

    Rows are the step's packed tokens; sequence `i` owns rows `query_start[i]` to
    `query_start[i + 1]`, and they are the last of its `seq_lens[i]` tokens.

    vLLM 0.17.1: v1/attention/backend.py CommonAttentionMetadata
    """

    block_size: int  # tokens
    query_start: Sequence[int]  # [num_seqs + 1]
    seq_lens: Sequence[int]  # tokens in the cache once this step's are written
    block_tables: Sequence[Sequence[int]]
    slot_mapping: Tensor  # [num_tokens] int64

    @property
    def num_seqs(self) -> int:
        return len(self.seq_lens)


class AttentionBackend(Protocol):
    """Writes K and V into the cache, then attends through the block tables.

    `plan` is made once a step for each kind of layer; every layer of that kind gets it back.

    vLLM 0.17.1: v1/attention/backend.py AttentionBackend, AttentionMetadataBuilder, AttentionImpl
    """

    @property
    def name(self) -> str: ...

    def plan(self, batch: GroupBatch, *, window: int | None, dtype: torch.dtype) -> Any:
        """What all layers of one group and window share; `window` counts the query itself."""

    def forward(
        self,
        query: Tensor,  # [num_tokens, num_heads, head_size]
        key: Tensor,  # [num_tokens, num_kv_heads, head_size]
        value: Tensor,  # [num_tokens, num_kv_heads, head_size]
        kv_cache: Tensor,  # [2, num_blocks, block_size, num_kv_heads, head_size]
        *,
        plan: Any,
        scale: float,
    ) -> Tensor:
        """[num_tokens, num_heads, head_size]; K and V of all rows are written before any is read."""
