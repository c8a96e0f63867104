"""The Llama family's attention, MLP and norms with fewer and larger calls.

A decode step of a small model spends a third of its time between the multiplications. These stand
in for the stock modules of the classes named below: Q, K and V are one multiplication, gate and up
another, the rotary embedding turns Q and K together, and a norm is one call. The decoder layers, the
model's own forward and the attention interface stay transformers'.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import rms_norm
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from engine.runner.attention.plug import ATTENTION_NAME
from engine.runner.packed_linear import Kernel, PackedLinear, fuse

# Where each class of attention finds the window that it hands on.
ATTENTIONS: dict[str, Callable[[Any], int | None]] = {
    "LlamaAttention": lambda stock: None,
    "MistralAttention": lambda stock: getattr(stock.config, "sliding_window", None),
    "Qwen2Attention": lambda stock: getattr(stock, "sliding_window", None),
}
MLPS = ("LlamaMLP", "MistralMLP", "Qwen2MLP")
NORMS = ("LlamaRMSNorm", "MistralRMSNorm", "Qwen2RMSNorm")


class FusedAttention(nn.Module):
    """One layer's attention. Calls the model's registered attention function as the stock one does."""

    def __init__(self, stock: Any, kernel: Kernel) -> None:
        super().__init__()
        self.layer_idx = stock.layer_idx
        self.scaling = stock.scaling
        self.sliding_window = ATTENTIONS[type(stock).__name__](stock)
        self.head_size = stock.head_dim
        self.num_heads = stock.q_proj.out_features // stock.head_dim
        self.num_kv_heads = stock.k_proj.out_features // stock.head_dim
        self.qkv_proj = fuse([stock.q_proj, stock.k_proj, stock.v_proj], kernel)
        self.o_proj = PackedLinear(stock.o_proj.weight, stock.o_proj.bias, kernel)
        self.attend = ALL_ATTENTION_FUNCTIONS[ATTENTION_NAME]
        self.multiply_qkv, self.multiply_o = self.qkv_proj.multiply, self.o_proj.multiply

    def forward(
        self,
        hidden_states: Tensor,  # [1, num_tokens, hidden_size]
        position_embeddings: tuple[Tensor, Tensor],  # cosine and signed sine: SignedRotary
        attention_mask: Tensor | None = None,
        **options: Any,
    ) -> tuple[Tensor, None]:
        batch, num_tokens, _ = hidden_states.shape
        qkv = self.multiply_qkv(hidden_states).view(batch, num_tokens, -1, self.head_size)
        num_turned = self.num_heads + self.num_kv_heads
        turned = turn(qkv[:, :, :num_turned], *position_embeddings)
        out, _ = self.attend(
            self,
            turned[:, :, : self.num_heads].transpose(1, 2),
            turned[:, :, self.num_heads :].transpose(1, 2),
            qkv[:, :, num_turned:].transpose(1, 2),
            attention_mask,
            scaling=self.scaling,
            sliding_window=self.sliding_window,
            **options,
        )
        return self.multiply_o(out.view(batch, num_tokens, -1)), None


class FusedMLP(nn.Module):
    """down(act(gate(x)) * up(x))"""

    def __init__(self, stock: Any, kernel: Kernel) -> None:
        super().__init__()
        self.gate_up_proj = fuse([stock.gate_proj, stock.up_proj], kernel)
        self.down_proj = PackedLinear(stock.down_proj.weight, stock.down_proj.bias, kernel)
        self.act_fn = stock.act_fn
        self.multiply_gate_up = self.gate_up_proj.multiply
        self.multiply_down = self.down_proj.multiply

    def forward(self, x: Tensor) -> Tensor:
        gate, up = self.multiply_gate_up(x).chunk(2, dim=-1)
        return self.multiply_down(self.act_fn(gate).mul_(up))


class FusedNorm(nn.Module):
    """RMSNorm in one call; in float32 bit by bit the stock one."""

    def __init__(self, stock: Any) -> None:
        super().__init__()
        self.weight = stock.weight
        self.scale = stock.weight.detach()  # the same tensor, found without a look-up of nn.Module
        self.shape = tuple(stock.weight.shape)
        self.epsilon = stock.variance_epsilon

    def forward(self, hidden_states: Tensor) -> Tensor:
        return rms_norm(hidden_states, self.shape, self.scale, self.epsilon)


class SignedRotary(nn.Module):
    """The model's own rotary embedding, with the sign of `rotate_half` moved into the sine.

    rotate_half(x) * sin = cat(-x2, x1) * cat(s1, s2) = cat(x2, x1) * cat(-s1, s2), bit by bit.
    """

    def __init__(self, stock: nn.Module) -> None:
        super().__init__()
        self.stock = stock

    def forward(self, *args: Any, **options: Any) -> tuple[Tensor, Tensor]:
        cosine, sine = self.stock(*args, **options)  # [1, num_tokens, head_size]
        first, second = sine.chunk(2, dim=-1)
        signed = torch.cat((-first, second), dim=-1)
        return cosine[:, :, None], signed[:, :, None]  # one for all heads


def turn(heads: Tensor, cosine: Tensor, signed_sine: Tensor) -> Tensor:
    """Rotary embedding of [1, num_tokens, num_heads, head_size]."""
    swapped = heads.roll(heads.shape[-1] // 2, dims=-1)
    return heads * cosine + swapped * signed_sine


def fuse_layers(model: Any, kernel: Kernel) -> bool:
    """Replace attention, MLP and norms of every layer, or nothing; whether it did."""
    decoder = getattr(model, "model", None)
    layers = list(getattr(decoder, "layers", ()))
    rotary = getattr(decoder, "rotary_emb", None)
    if (
        decoder is None
        or rotary is None
        or not layers
        or not all(_is_known(layer) for layer in layers)
    ):
        return False
    for layer in layers:
        layer.self_attn = FusedAttention(layer.self_attn, kernel)
        layer.mlp = FusedMLP(layer.mlp, kernel)
        layer.input_layernorm = FusedNorm(layer.input_layernorm)
        layer.post_attention_layernorm = FusedNorm(layer.post_attention_layernorm)
    decoder.norm = FusedNorm(decoder.norm)
    decoder.rotary_emb = SignedRotary(rotary)
    return True


def _is_known(layer: Any) -> bool:
    attention, mlp = getattr(layer, "self_attn", None), getattr(layer, "mlp", None)
    return (
        type(attention).__name__ in ATTENTIONS
        and type(attention).__module__.startswith("transformers.")
        and type(mlp).__name__ in MLPS
        and type(getattr(layer, "input_layernorm", None)).__name__ in NORMS
        and type(getattr(layer, "post_attention_layernorm", None)).__name__ in NORMS
    )
