"""A step of one row through a fused model: plain calls of torch, and no module in between.

    norm | QKV | turn Q and K in place, write K and V at once | attend | o + residual
    norm | gate and up | act(gate) * up | down + residual

The memory that the weights come from is what such a step should wait for. At one row the kernels
of a small model take a few microseconds each, as long as a module's call or three views take to
set up, so this path makes as few of them as it can. It computes what the model's forward computes,
with the same kernels: what it says is held to that at loading, on a few tokens.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import embedding, scaled_dot_product_attention

from engine.runner.architecture import TOLERANCES, AttentionShape, StockAnswer, deviation
from engine.runner.attention.plan import LoneDecode
from engine.runner.fused_layers import FusedLayer, FusedNorm
from engine.runner.packed_linear import PackedLinear

KNOWN_MODELS = ("LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM")
TRIED_TOKENS = 8  # at loading
POSITIONS_AT_ONCE = 1024  # whose cosines and sines are computed together, when first needed


class OneRowLayer:
    """The weights of one decoder layer."""

    def __init__(self, layer: FusedLayer) -> None:
        self.norm, self.norm_again = (
            layer.input_layernorm.of_row,
            layer.post_attention_layernorm.of_row,
        )
        self.qkv, self.o = layer.qkv_proj.multiply, layer.o_proj.multiply
        self.gate_up, self.down = layer.gate_up_proj.multiply, layer.down_proj.multiply
        self.act = layer.act_fn.forward
        self.num_heads, self.num_kv_heads = layer.num_heads, layer.num_kv_heads
        self.head_size, self.scale = layer.head_size, layer.scaling
        half = layer.head_size // 2
        self.swap = torch.tensor([*range(half, 2 * half), *range(half)])

    def __call__(
        self, hidden: Tensor, turn: tuple[Tensor, Tensor], kv_cache: Tensor, lone: LoneDecode
    ) -> Tensor:
        """`hidden` [1, hidden_size]; `turn` is cosine and signed sine, [head_size] both."""
        heads = self.qkv(self.norm(hidden)).view(-1, self.head_size)
        out = self._attend(heads, turn, kv_cache, lone)
        hidden = self.o(out.reshape(1, -1).to(hidden.dtype)).add_(hidden)
        gate, up = self.gate_up(self.norm_again(hidden)).chunk(2, 1)
        return self.down(self.act(gate).mul_(up)).add_(hidden)

    def _attend(
        self, heads: Tensor, turn: tuple[Tensor, Tensor], kv_cache: Tensor, lone: LoneDecode
    ) -> Tensor:
        """`heads`: the row's heads, then its KV heads' K and V, [.., head_size]; Q and K are turned
        in place. [num_kv_heads, 1, group, head_size] in the cache's dtype."""
        num_heads, num_kv_heads, size = self.num_heads, self.num_kv_heads, self.head_size
        turned = heads[: num_heads + num_kv_heads]
        swapped = turned.index_select(1, self.swap)
        turned.mul_(turn[0]).add_(swapped.mul_(turn[1]))
        slots = kv_cache.view(2, -1, num_kv_heads, size)
        slots[:, lone.slot] = heads[num_heads:].view(2, num_kv_heads, size)
        if lone.block_ids is not None:
            slots = kv_cache.index_select(1, lone.block_ids)
        plane, row = slots.stride(0), num_kv_heads * size
        shape, strides = (num_kv_heads, 1, lone.num_slots, size), (size, row, row, 1)
        first = lone.first_slot * row
        keys = slots.as_strided(shape, strides, first)
        values = slots.as_strided(shape, strides, plane + first)
        query = heads[:num_heads].view(num_kv_heads, 1, -1, size).to(keys.dtype)
        return scaled_dot_product_attention(query, keys, values, scale=self.scale)


class OneRowModel:
    """Logits of one row, from the weights of a model that `is_supported`. Holds no engine's state."""

    def __init__(self, model: Any) -> None:
        decoder = model.model
        self.embedding = decoder.embed_tokens.weight.detach()  # [vocab_size, hidden_size]
        self.rotary = decoder.rotary_emb
        self.layers = tuple(OneRowLayer(layer) for layer in decoder.layers)
        self.last_norm = decoder.norm.of_row
        self.head = model.lm_head.multiply
        self.turns: dict[int, tuple[Tensor, Tensor]] = {}  # of POSITIONS_AT_ONCE each

    def __call__(
        self,
        input_ids: Tensor,  # [1]
        position: int,
        kv_caches: Sequence[Tensor],  # by layer, contiguous
        lones: Sequence[LoneDecode],  # by layer
    ) -> Tensor:
        """[1, vocab_size]"""
        hidden = embedding(input_ids, self.embedding)
        turn = self._turn(position)
        for layer, kv_cache, lone in zip(self.layers, kv_caches, lones, strict=True):
            hidden = layer(hidden, turn, kv_cache, lone)
        logits: Tensor = self.head(self.last_norm(hidden))
        return logits

    def _turn(self, position: int) -> tuple[Tensor, Tensor]:
        """Two threads that miss at once compute the same."""
        part, place = divmod(position, POSITIONS_AT_ONCE)
        if part not in self.turns:
            first = part * POSITIONS_AT_ONCE
            positions = torch.arange(first, first + POSITIONS_AT_ONCE)
            cosine, sine = self.rotary(self.embedding, positions[None])  # as wide as the embedding
            self.turns[part] = cosine[0, :, 0], sine[0, :, 0]
        cosines, sines = self.turns[part]
        return cosines[place], sines[place]


def is_supported(model: Any) -> bool:
    """Whether `model` is one of those known line by line, fused, packed, and on a CPU."""
    if type(model).__name__ not in KNOWN_MODELS:
        return False
    return (
        all(type(layer) is FusedLayer for layer in model.model.layers)
        and isinstance(model.model.norm, FusedNorm)
        and type(model.lm_head) is PackedLinear
        and model.model.embed_tokens.weight.device.type == "cpu"
    )


@torch.inference_mode()
def one_row_model(model: Any, answer: StockAnswer, shape: AttentionShape) -> OneRowModel | None:
    """The one-row form of `model`, if there is one and it says what the stock model said."""
    if not is_supported(model):
        return None
    found = OneRowModel(model)
    cache_shape = (2, TRIED_TOKENS, 1, shape.num_kv_heads, shape.head_size)
    kv_caches = [torch.zeros(cache_shape, dtype=answer.logits.dtype) for _ in shape.windows]
    rows = [
        found(answer.input_ids[0, end - 1 : end], end - 1, kv_caches, _all_before(end, shape))
        for end in range(1, TRIED_TOKENS + 1)
    ]
    expected = answer.logits[0, :TRIED_TOKENS]
    is_right = deviation(torch.cat(rows), expected) <= TOLERANCES[expected.dtype]
    return found if is_right else None


def _all_before(end: int, shape: AttentionShape) -> list[LoneDecode]:
    firsts = [0 if window is None else max(0, end - window) for window in shape.windows]
    return [LoneDecode(end - 1, None, first, end - first) for first in firsts]
