"""The small steps between the multiplications of a decoder layer, each as one Triton kernel.

A decode step of a small model is made of launches: the stock layer makes about forty, most of them
on a few thousand numbers. These three kernels do what lies between two multiplications in one
launch, in float32, and round once at the end.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

MAX_TILE = 1024


@triton.jit
def add_norm_kernel(
    added_ptr: tl.tensor,  # [num_tokens, SIZE]; not read if ADDS is false
    residual_ptr: tl.tensor,  # [num_tokens, SIZE]
    weight_ptr: tl.tensor,  # [SIZE]
    out_ptr: tl.tensor,  # [num_tokens, SIZE]
    epsilon: tl.tensor,
    ADDS: tl.constexpr,
    SIZE: tl.constexpr,
    SIZE_PAD: tl.constexpr,
) -> None:
    """One token: residual += added, then out = RMSNorm(residual) * weight."""
    row = tl.program_id(0).to(tl.int64) * SIZE
    i = tl.arange(0, SIZE_PAD)
    mask = i < SIZE
    x = tl.load(residual_ptr + row + i, mask=mask, other=0.0).to(tl.float32)
    if ADDS:
        x += tl.load(added_ptr + row + i, mask=mask, other=0.0).to(tl.float32)
        tl.store(residual_ptr + row + i, x.to(residual_ptr.dtype.element_ty), mask=mask)
    weight = tl.load(weight_ptr + i, mask=mask, other=0.0).to(tl.float32)
    out = x * tl.rsqrt(tl.sum(x * x, 0) / SIZE + epsilon) * weight
    tl.store(out_ptr + row + i, out.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def turn_and_write_kernel(
    qkv_ptr: tl.tensor,  # [num_tokens, NUM_HEADS + 2 * NUM_KV_HEADS, HEAD_SIZE]
    query_ptr: tl.tensor,  # [num_tokens, NUM_HEADS, HEAD_SIZE]
    kv_cache_ptr: tl.tensor,  # [2, num_blocks, block_size, NUM_KV_HEADS, HEAD_SIZE]
    cosine_ptr: tl.tensor,  # [num_positions, HALF] float32
    sine_ptr: tl.tensor,
    positions_ptr: tl.tensor,  # [num_tokens]
    slot_mapping_ptr: tl.tensor,  # [num_tokens]; -1: write nothing
    stride_value: tl.tensor,  # from the keys to the values
    stride_block: tl.tensor,
    stride_slot: tl.tensor,
    stride_kv_head: tl.tensor,
    NUM_HEADS: tl.constexpr,
    NUM_KV_HEADS: tl.constexpr,
    HALF: tl.constexpr,  # head_size / 2
    HALF_PAD: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
) -> None:
    """One head of one token: turn Q and K by the position, and put K and V into their slot."""
    token, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    i = tl.arange(0, HALF_PAD)
    mask = i < HALF
    source = qkv_ptr + (token * (NUM_HEADS + 2 * NUM_KV_HEADS) + head) * (2 * HALF) + i
    first = tl.load(source, mask=mask).to(tl.float32)
    second = tl.load(source + HALF, mask=mask).to(tl.float32)
    if head < NUM_HEADS + NUM_KV_HEADS:
        at = tl.load(positions_ptr + token).to(tl.int64) * HALF + i
        cosine, sine = tl.load(cosine_ptr + at, mask=mask), tl.load(sine_ptr + at, mask=mask)
        first, second = first * cosine - second * sine, second * cosine + first * sine
    if head < NUM_HEADS:
        goal = query_ptr + (token * NUM_HEADS + head) * (2 * HALF) + i
        tl.store(goal, first.to(query_ptr.dtype.element_ty), mask=mask)
        tl.store(goal + HALF, second.to(query_ptr.dtype.element_ty), mask=mask)
    else:
        slot = tl.load(slot_mapping_ptr + token).to(tl.int64)
        row = slot // BLOCK_SIZE * stride_block + slot % BLOCK_SIZE * stride_slot
        is_value = (head >= NUM_HEADS + NUM_KV_HEADS).to(tl.int64)
        row += is_value * stride_value + (head - NUM_HEADS) % NUM_KV_HEADS * stride_kv_head
        mask = mask & (slot >= 0)
        goal = kv_cache_ptr + row + i
        tl.store(goal, first.to(kv_cache_ptr.dtype.element_ty), mask=mask)
        tl.store(goal + HALF, second.to(kv_cache_ptr.dtype.element_ty), mask=mask)


@triton.jit
def silu_mul_kernel(
    gate_up_ptr: tl.tensor,  # [num_tokens, 2, SIZE]
    out_ptr: tl.tensor,  # [num_tokens, SIZE]
    SIZE: tl.constexpr,
    TILE: tl.constexpr,
) -> None:
    """One tile of one token: silu(gate) * up."""
    row = tl.program_id(0).to(tl.int64)
    i = tl.program_id(1) * TILE + tl.arange(0, TILE)
    mask = i < SIZE
    gate = tl.load(gate_up_ptr + row * 2 * SIZE + i, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(gate_up_ptr + (row * 2 + 1) * SIZE + i, mask=mask, other=0.0).to(tl.float32)
    out = gate / (1.0 + tl.exp(-gate)) * up
    tl.store(out_ptr + row * SIZE + i, out.to(out_ptr.dtype.element_ty), mask=mask)


class Norm:
    """An RMSNorm that takes the addition before it along."""

    def __init__(self, weight: Tensor, epsilon: float) -> None:
        self.weight = weight  # [hidden_size]
        self.epsilon = epsilon

    def __call__(self, residual: Tensor, added: Tensor | None = None) -> Tensor:
        """`residual` [num_tokens, hidden_size] is changed in place."""
        out = torch.empty_like(residual)
        size = residual.shape[1]
        add_norm_kernel[(len(residual),)](
            residual if added is None else added, residual, self.weight, out, self.epsilon,
            ADDS=added is not None, SIZE=size, SIZE_PAD=triton.next_power_of_2(size), num_warps=4,
        )  # fmt: skip
        return out


class Rotary:
    """Rotary embedding by a table of all positions, and the write into the cache with it."""

    def __init__(self, cosine: Tensor, sine: Tensor, *, num_heads: int, num_kv_heads: int) -> None:
        """`cosine` and `sine` [num_positions, head_size / 2] float32."""
        self.cosine, self.sine = cosine.contiguous(), sine.contiguous()
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads

    def __call__(
        self, qkv: Tensor, positions: Tensor, kv_cache: Tensor, slot_mapping: Tensor
    ) -> Tensor:
        """`qkv` [num_tokens, all heads * head_size] -> Q [num_tokens, num_heads, head_size]."""
        half = self.cosine.shape[1]
        query = torch.empty(
            (len(qkv), self.num_heads, 2 * half), dtype=qkv.dtype, device=qkv.device
        )
        stride_value, stride_block, stride_slot, stride_kv_head, _ = kv_cache.stride()
        turn_and_write_kernel[(len(qkv), self.num_heads + 2 * self.num_kv_heads)](
            qkv, query, kv_cache, self.cosine, self.sine, positions, slot_mapping,
            stride_value, stride_block, stride_slot, stride_kv_head, NUM_HEADS=self.num_heads,
            NUM_KV_HEADS=self.num_kv_heads, HALF=half, HALF_PAD=triton.next_power_of_2(half),
            BLOCK_SIZE=kv_cache.shape[2], num_warps=1,
        )  # fmt: skip
        return query


def silu_mul(gate_up: Tensor) -> Tensor:
    """[num_tokens, 2 * size] -> [num_tokens, size]"""
    num_tokens, size = len(gate_up), gate_up.shape[1] // 2
    out = torch.empty((num_tokens, size), dtype=gate_up.dtype, device=gate_up.device)
    tile = min(MAX_TILE, triton.next_power_of_2(size))
    silu_mul_kernel[(num_tokens, triton.cdiv(size, tile))](
        gate_up, out, SIZE=size, TILE=tile, num_warps=4
    )
    return out
