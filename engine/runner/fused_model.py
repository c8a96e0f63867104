"""A Llama or Qwen2 decoder over the paged cache in ten launches a layer instead of forty.

    norm | qkv product | turn Q and K, write K and V | attention | combine | o product |
    add + norm | gate and up product | silu * up | down product | add + norm of the next layer

Made of a loaded transformers model, with which it shares the weights. It holds no engine's state,
so one serves every engine on that model.
"""

import threading
import weakref
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, linear

from engine.errors import Sentence
from engine.runner.attention.triton_backend import PagedPlan, paged_attention
from engine.runner.fused_kernels import Norm, Rotary, silu_mul

KNOWN_LAYERS = ("LlamaDecoderLayer", "Qwen2DecoderLayer")
FIXED_ROPES = ("default", "linear", "llama3", "yarn")  # a position's angles never change

_made: "weakref.WeakKeyDictionary[nn.Module, FusedModel]" = weakref.WeakKeyDictionary()
_refused: "weakref.WeakKeyDictionary[nn.Module, Sentence]" = weakref.WeakKeyDictionary()
_making = threading.Lock()


class Product:
    """Linear layers on the same input as one multiplication: their outputs side by side.

    The stock layers keep working, as views of the common weight.
    """

    def __init__(self, *layers: nn.Linear) -> None:
        weights = [layer.weight.detach() for layer in layers]
        biases = [layer.bias.detach() for layer in layers if layer.bias is not None]
        assert len(biases) in (0, len(layers)), "a bias is missing"
        self.bias: Tensor | None = torch.cat(biases) if biases else None
        self.weight: Tensor = weights[0]
        if len(layers) > 1:
            self.weight = torch.cat(weights)
            parts = torch.split_with_sizes(self.weight, [len(weight) for weight in weights])
            for layer, part in zip(layers, parts):
                layer.weight.data = part

    def __call__(self, x: Tensor) -> Tensor:
        out: Tensor = linear(x, self.weight, self.bias)
        return out


class FusedLayer:
    """The weights of one decoder layer, and what they do."""

    def __init__(self, stock: Any, rotary: Rotary) -> None:
        attention, mlp = stock.self_attn, stock.mlp
        self.rotary = rotary
        self.scale = float(attention.scaling)
        self.input_norm = _norm(stock.input_layernorm)
        self.post_norm = _norm(stock.post_attention_layernorm)
        self.qkv = Product(attention.q_proj, attention.k_proj, attention.v_proj)
        self.o = Product(attention.o_proj)
        self.gate_up = Product(mlp.gate_proj, mlp.up_proj)
        self.down = Product(mlp.down_proj)

    def __call__(
        self, x: Tensor, residual: Tensor, positions: Tensor, kv_cache: Tensor, *, plan: PagedPlan
    ) -> Tensor:
        """`x` is the normed `residual`; what comes back is still to be added to it."""
        query = self.rotary(self.qkv(x), positions, kv_cache, plan.slot_mapping)
        out = paged_attention(query, kv_cache, plan=plan, scale=self.scale)
        x = self.post_norm(residual, self.o(out.view(len(x), -1)))
        return self.down(silu_mul(self.gate_up(x)))


class FusedModel:
    """Logits of packed tokens, from the weights of a stock model that `is_supported`."""

    def __init__(self, model: Any) -> None:
        config, decoder = model.config, model.model
        self.embedding = decoder.embed_tokens.weight.detach()  # [vocab_size, hidden_size]
        positions = torch.arange(config.max_position_embeddings, device=self.embedding.device)
        like = torch.zeros(1, device=self.embedding.device)  # its dtype is the table's
        cosine, sine = decoder.rotary_emb(like, positions[None])  # [1, num_positions, head_size]
        half = cosine.shape[-1] // 2
        rotary = Rotary(
            cosine[0, :, :half],
            sine[0, :, :half],
            num_heads=config.num_attention_heads,
            num_kv_heads=config.num_key_value_heads,
        )
        self.layers = [FusedLayer(layer, rotary) for layer in decoder.layers]
        self.last_norm = _norm(decoder.norm)
        self.head = Product(model.lm_head)

    def __call__(
        self,
        input_ids: Tensor,  # [num_tokens]
        positions: Tensor,  # [num_tokens]
        kv_caches: Sequence[Tensor],  # by layer
        plans: Sequence[PagedPlan],  # by layer
    ) -> Tensor:
        """[num_tokens, vocab_size]"""
        residual = embedding(input_ids, self.embedding)  # a tensor of its own: changed in place
        added: Tensor | None = None
        for layer, kv_cache, plan in zip(self.layers, kv_caches, plans, strict=True):
            x = layer.input_norm(residual, added)
            added = layer(x, residual, positions, kv_cache, plan=plan)
        return self.head(self.last_norm(residual, added))


def fused_model(model: nn.Module) -> FusedModel | None:
    """The fused form of `model`, made once; None if it is not one of those known line by line, or
    was refused."""
    with _making, torch.inference_mode(False), torch.no_grad():
        if model not in _made:
            if model in _refused or not is_supported(model):
                return None
            _made[model] = FusedModel(model)
        return _made[model]


def refuse(model: nn.Module, reason: Sentence) -> None:
    """No fused form of `model` from now on. `reason`: one sentence."""
    with _making:
        _made.pop(model, None)
        _refused[model] = reason


def why_refused(model: nn.Module) -> Sentence | None:
    return _refused.get(model)


def is_supported(model: Any) -> bool:
    """Whether every part is one that the fused path repeats exactly."""
    config, decoder = model.config, getattr(model, "model", None)
    layers = list(getattr(decoder, "layers", ()))
    rope = getattr(config, "rope_parameters", None) or {}
    return (
        bool(layers)
        and all(_is_known(layer) for layer in layers)
        and type(model.lm_head) is nn.Linear
        and config.hidden_act == "silu"
        and rope.get("rope_type") in FIXED_ROPES
        and rope.get("partial_rotary_factor", 1.0) == 1.0
        and layers[0].self_attn.head_dim % 2 == 0
    )


def _is_known(layer: Any) -> bool:
    """transformers' own class, with plain linear layers and all biases of a product or none."""
    kind = type(layer)
    if kind.__name__ not in KNOWN_LAYERS or not kind.__module__.startswith("transformers."):
        return False
    attention, mlp = layer.self_attn, layer.mlp
    products = (
        (attention.q_proj, attention.k_proj, attention.v_proj),
        (attention.o_proj,),
        (mlp.gate_proj, mlp.up_proj),
        (mlp.down_proj,),
    )
    return all(
        all(type(part) is nn.Linear for part in product)
        and len({part.bias is None for part in product}) == 1
        for product in products
    )


def _norm(stock: Any) -> Norm:
    return Norm(stock.weight.detach(), float(stock.variance_epsilon))
