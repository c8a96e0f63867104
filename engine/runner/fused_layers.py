"""The Llama family's decoder layer with fewer and larger calls.

A decode step of a small model spends half of its time between the multiplications. `FusedLayer`
stands in for the stock decoder layer of the classes named below: Q, K and V are one multiplication,
gate and up another, the rotary embedding turns Q and K together, a norm is one call, and no module
calls another. The model's own forward and the attention interface stay transformers'.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import rms_norm
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from engine.runner.attention.plug import ATTENTION_NAME
from engine.runner.packed_linear import Kernel, fuse

# The classes that are known line by line, and where each finds the window that it hands on.
WINDOWS: dict[str, Callable[[Any], int | None]] = {
    "LlamaDecoderLayer": lambda attention: None,
    "MistralDecoderLayer": lambda attention: getattr(attention.config, "sliding_window", None),
    "Qwen2DecoderLayer": lambda attention: getattr(attention, "sliding_window", None),
}


class FusedNorm(nn.Module):
    """RMSNorm in one call; in float32 bit by bit the stock one, in a batch of any size."""

    def __init__(self, stock: Any) -> None:
        super().__init__()
        self.weight = stock.weight
        self.shape = tuple(stock.weight.shape)
        self.epsilon = stock.variance_epsilon
        self.scale = stock.weight.detach()  # the same tensor, found without nn.Module's look-up

    def forward(self, hidden_states: Tensor) -> Tensor:
        return rms_norm(hidden_states, self.shape, self.scale, self.epsilon)

    def of_row(self, row: Tensor) -> Tensor:
        """`row` [1, hidden_size], rounded where the stock norm rounds."""
        if row.dtype == torch.float32:
            return self.forward(row)
        wide = row.float()
        return wide.mul_(self._inverse_root(wide)).to(row.dtype).mul_(self.scale)

    def _inverse_root(self, row: Tensor) -> float:
        """1 / root mean square of a float32 row."""
        flat = row.view(-1)
        mean_square: float = flat.dot(flat).item() / self.shape[0]
        return float((mean_square + self.epsilon) ** -0.5)


class WidenedNorm(FusedNorm):
    """Of a half-size model in float32 activations: a single row in the three calls that cost least.

    They sum in another order, so the last bit may be another one. The kernels around it do so too:
    only a float32 model's tokens must not depend on who shares the batch, and that has FusedNorm.
    """

    def __init__(self, stock: Any) -> None:
        super().__init__(stock)
        self.scale = self.scale.float()
        self.nothing = torch.zeros_like(self.scale)

    def forward(self, hidden_states: Tensor) -> Tensor:
        if hidden_states.shape[:-1].numel() != 1:
            return super().forward(hidden_states)
        return self.of_row(hidden_states)

    def of_row(self, row: Tensor) -> Tensor:
        inverse = self._inverse_root(row)
        return torch.addcmul(self.nothing, row, self.scale, value=inverse)


def fuse_norm(stock: Any, kernel: Kernel) -> FusedNorm:
    return WidenedNorm(stock) if kernel.widens else FusedNorm(stock)


class FusedLayer(nn.Module):
    """One decoder layer. Calls the registered attention function as the stock one does.

    What `forward` calls are plain functions: nn.Module's own call costs more than some of them.
    """

    def __init__(self, stock: Any, kernel: Kernel) -> None:
        super().__init__()
        attention, mlp = stock.self_attn, stock.mlp
        self.layer_idx = attention.layer_idx
        self.scaling = attention.scaling
        self.sliding_window = WINDOWS[type(stock).__name__](attention)
        self.head_size = attention.head_dim
        self.num_heads = attention.q_proj.out_features // self.head_size
        self.num_kv_heads = attention.k_proj.out_features // self.head_size
        self.act_fn = mlp.act_fn
        self.input_layernorm = fuse_norm(stock.input_layernorm, kernel)
        self.post_attention_layernorm = fuse_norm(stock.post_attention_layernorm, kernel)
        self.qkv_proj = fuse([attention.q_proj, attention.k_proj, attention.v_proj], kernel)
        self.o_proj = fuse([attention.o_proj], kernel)
        self.gate_up_proj = fuse([mlp.gate_proj, mlp.up_proj], kernel)
        self.down_proj = fuse([mlp.down_proj], kernel)
        self.calls = (
            self.input_layernorm.forward,
            self.qkv_proj.multiply,
            ALL_ATTENTION_FUNCTIONS[ATTENTION_NAME],
            self.o_proj.multiply,
            self.post_attention_layernorm.forward,
            self.gate_up_proj.multiply,
            self.act_fn.forward,
            self.down_proj.multiply,
        )

    def forward(
        self,
        hidden_states: Tensor,  # [1, num_tokens, hidden_size]
        attention_mask: Tensor | None = None,
        *,
        position_embeddings: tuple[Tensor, Tensor],  # cosine and signed sine: SignedRotary
        **options: Any,
    ) -> Tensor:
        norm, multiply_qkv, attend, multiply_o, norm_again, gate_up, act, down = self.calls
        batch, num_tokens, _ = hidden_states.shape
        num_heads, num_turned = self.num_heads, self.num_heads + self.num_kv_heads
        qkv = multiply_qkv(norm(hidden_states)).view(batch, num_tokens, -1, self.head_size)
        turned = turn(qkv.narrow(2, 0, num_turned), *position_embeddings).transpose(1, 2)
        out, _ = attend(
            self,
            turned.narrow(1, 0, num_heads),
            turned.narrow(1, num_heads, self.num_kv_heads),
            qkv.narrow(2, num_turned, self.num_kv_heads).transpose(1, 2),
            attention_mask,
            scaling=self.scaling,
            sliding_window=self.sliding_window,
            **options,
        )
        hidden_states = hidden_states + multiply_o(out.view(batch, num_tokens, -1))
        gate, up = gate_up(norm_again(hidden_states)).chunk(2, dim=-1)
        return hidden_states + down(act(gate).mul_(up))


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
    return (heads * cosine).add_(swapped.mul_(signed_sine))


def fuse_layers(model: Any, kernel: Kernel) -> bool:
    """Replace every decoder layer, the last norm and the rotary embedding, or nothing."""
    decoder = getattr(model, "model", None)
    layers = list(getattr(decoder, "layers", ()))
    if decoder is None or not layers or not all(_is_known(layer) for layer in layers):
        return False
    for index, layer in enumerate(layers):
        decoder.layers[index] = FusedLayer(layer, kernel)
    decoder.norm = fuse_norm(decoder.norm, kernel)
    decoder.rotary_emb = SignedRotary(decoder.rotary_emb)
    return True


def _is_known(layer: Any) -> bool:
    kind = type(layer)
    return kind.__name__ in WINDOWS and kind.__module__.startswith("transformers.")
