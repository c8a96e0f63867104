"""Paged attention in plain torch: the definition for other kernels, and the CPU's product path.

A step mixes decodes (one row of a sequence) with prefill chunks (several rows). Decodes of about
equal length are one padded batch; a chunk is a call of its own; a step of one row has the shortest
way of all. plan.py says what each of them reads.

The query heads that share a KV head stand as rows of the query (`group` folded into its length),
so K and V are never repeated, neither by us nor by `enable_gqa=True`.
"""

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from engine.runner.attention.backend import GroupBatch
from engine.runner.attention.plan import Chunk, DecodeBatch, LoneDecode, Plan, plan_step


class ReferenceAttention:
    """vLLM 0.17.1: v1/attention/backends/cpu_attn.py CPUAttentionBackendImpl"""

    name = "torch-reference"

    def plan(self, batch: GroupBatch, *, window: int | None, dtype: torch.dtype) -> Plan:
        return plan_step(batch, window=window, dtype=dtype)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        kv_cache: Tensor,
        *,
        plan: Plan,
        scale: float,
    ) -> Tensor:
        if plan.lone is not None:
            keys, values = _write_and_see_one(key, value, kv_cache, plan.lone)
            return _attend_one(query, keys, values, scale)
        dtype, narrow = query.dtype, kv_cache.dtype
        if narrow != dtype:  # float32 activations around a half-size cache
            query, key, value = query.to(narrow), key.to(narrow), value.to(narrow)
        write_kv(key, value, kv_cache, plan.slot_mapping)
        if len(plan.decodes) == 1 and plan.decodes[0].rows is None:
            return _attend_decodes(query, kv_cache, plan.decodes[0], scale).to(dtype)
        out = torch.empty_like(query)
        for decode in plan.decodes:
            rows = decode.rows
            assert rows is not None, "other rows stand beside these"
            out.index_copy_(0, rows, _attend_decodes(query[rows], kv_cache, decode, scale))
        for chunk in plan.chunks:
            here = slice(chunk.start, chunk.end)
            keys, values = key[here], value[here]  # [num_keys, num_kv_heads, head_size]
            if chunk.block_ids is not None:
                slots = kv_cache.index_select(1, chunk.block_ids).flatten(1, 2)
                keys, values = slots[:, chunk.first_slot : chunk.last_slot].unbind(0)
            out[here] = _attend_chunk(query[here], keys, values, chunk, scale=scale)
        return out.to(dtype)


def write_kv(key: Tensor, value: Tensor, kv_cache: Tensor, slot_mapping: Tensor) -> None:
    """Put the step's K and V into their slots. vLLM 0.17.1: reshape_and_cache"""
    keys, values = kv_cache.unbind(0)  # [num_blocks, block_size, num_kv_heads, head_size]
    keys.view(-1, *key.shape[1:]).index_copy_(0, slot_mapping, key)
    values.view(-1, *key.shape[1:]).index_copy_(0, slot_mapping, value)


def _write_and_see_one(
    key: Tensor, value: Tensor, kv_cache: Tensor, lone: LoneDecode
) -> tuple[Tensor, Tensor]:
    """Write one row, and what it sees: [num_kv_heads, 1, num_slots, head_size] twice, views where
    the blocks stand in a row. A copy converts, so nothing is cast before."""
    shape = (2, -1, 1, *key.shape[1:])
    slots = kv_cache.view(shape)  # [2, num_slots, 1, num_kv_heads, head_size]
    key_slot, value_slot = slots.narrow(1, lone.slot, 1).unbind(0)
    key_slot.copy_(key)
    value_slot.copy_(value)
    if lone.block_ids is not None:
        slots = kv_cache.index_select(1, lone.block_ids).view(shape)
    seen = slots.narrow(1, lone.first_slot, lone.num_slots).permute(0, 3, 2, 1, 4)
    keys, values = seen.unbind(0)
    return keys, values


def _attend_one(query: Tensor, keys: Tensor, values: Tensor, scale: float) -> Tensor:
    """`query` [1, num_heads, head_size]. KV heads take the place of the batch: then the kernel's
    output lies in our order, and needs no copy."""
    num_kv_heads, _, _, head_size = keys.shape
    folded = query.to(keys.dtype).view(num_kv_heads, 1, -1, head_size)
    out = scaled_dot_product_attention(folded, keys, values, scale=scale)
    return out.reshape(query.shape).to(query.dtype)


def _attend_decodes(query: Tensor, kv_cache: Tensor, decode: DecodeBatch, scale: float) -> Tensor:
    num_kv_heads, head_size = kv_cache.shape[3:]
    blocks = kv_cache.index_select(1, decode.block_ids)  # [2, blocks, block_size, heads, size]
    if decode.unseen is not None:
        blocks.view(2, -1, num_kv_heads, head_size).index_fill_(1, decode.unseen, 0)
    by_seq = blocks.view(2, decode.num_seqs, -1, num_kv_heads, head_size).transpose(2, 3)
    key, value = by_seq.unbind(0)  # [num_seqs, num_kv_heads, num_slots, head_size]
    folded = query.view(decode.num_seqs, num_kv_heads, -1, head_size)
    out = scaled_dot_product_attention(folded, key, value, attn_mask=decode.mask, scale=scale)
    return out.reshape(query.shape)


def _attend_chunk(
    query: Tensor, key: Tensor, value: Tensor, chunk: Chunk, *, scale: float
) -> Tensor:
    """KV heads take the place of the batch; the group's heads share them through a stride of 0."""
    num_rows, num_heads, head_size = query.shape
    num_kv_heads = key.shape[1]
    group = num_heads // num_kv_heads
    folded = query.view(num_rows, num_kv_heads, group, head_size).permute(1, 2, 0, 3)
    out = scaled_dot_product_attention(
        folded,
        _shared(key, group),
        _shared(value, group),
        attn_mask=chunk.mask,
        is_causal=chunk.is_causal,
        scale=scale,
    )
    return out.permute(2, 0, 1, 3).reshape(query.shape)


def _shared(keys: Tensor, group: int) -> Tensor:
    """[num_keys, num_kv_heads, head_size] -> [num_kv_heads, group, num_keys, head_size], a view."""
    return keys.transpose(0, 1).unsqueeze(1).expand(-1, group, -1, -1)
