"""A model's config.json: what every layer keeps of a token, and what cannot be known from it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.core.kv_cache_spec import (
    ChunkedLocalAttentionSpec,
    FullAttentionSpec,
    KVCacheSpec,
    MLAAttentionSpec,
    SlidingWindowSpec,
)
from engine.errors import ConfigError
from views.text import Text

MAX_CHARACTERS = 200_000  # of a config.json; published ones have a few thousand
MAX_LAYERS = 2_000
MAX_NUMBER = 10**9
FULL, SLIDING, CHUNKED, MLA = "full", "sliding", "chunked_local", "mla"
KINDS = {"full_attention": FULL, "sliding_attention": SLIDING, "chunked_attention": CHUNKED}

# What published files leave out because the class in transformers has it as its default.
_GEMMA3 = {
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "vocab_size": 262_208,
    "max_position_embeddings": 131_072,
    "sliding_window": 4096,
    "sliding_window_pattern": 6,
}
DEFAULTS: dict[str, dict[str, Any]] = {
    "gemma": {"head_dim": 256, "tie_word_embeddings": True},
    "gemma2": {"head_dim": 256, "sliding_window": 4096, "tie_word_embeddings": True},
    "gemma3_text": {**_GEMMA3, "tie_word_embeddings": True},
    "llama4_text": {"attention_chunk_size": 8192, "no_rope_layer_interval": 4},
    "cohere2": {"sliding_window_pattern": 4},
}
OLD_NAMES = {
    "num_hidden_layers": ("n_layer", "num_layers", "n_layers"),
    "num_attention_heads": ("n_head", "n_heads"),
    "num_key_value_heads": ("n_head_kv", "num_kv_heads", "multi_query_group_num"),
    "hidden_size": ("n_embd", "d_model"),
    "max_position_embeddings": ("n_positions", "max_seq_len", "seq_length"),
}
# Keys of models with layers that keep a state of fixed size (Mamba, linear attention).
STATE_KEYS = (
    "mamba_d_state",
    "mamba_state_dim",
    "ssm_state_size",
    "state_size",
    "hybrid_override_pattern",
    "linear_attn_config",
    "linear_conv_kernel_dim",
    "layers_block_type",
    "attn_layer_period",
    "block_types",
    "conv_L_cache",
    "lru_width",
    "layer_group_size",
)
STATE_KINDS = ("linear_attention", "mamba", "mamba2", "conv", "recurrent")  # in layer_types
# Keys of models whose layers keep blocks of several sizes, or share them.
UNEQUAL_KEYS = (
    "global_head_dim",
    "index_topk",
    "block_configs",
    "attn_config",
    "hybrid_layer_pattern",
    "swa_head_dim",
    "use_cla",
)
# Keys of parts that see or hear. They have weights of their own, and no KV cache.
OTHER_PARTS = (
    "vision_config",
    "vit_config",
    "vision_tower",
    "mm_vision_tower",
    "visual",
    "img_processor",
    "audio_config",
    "speech_config",
    "audio_processor",
)
# Minimax: a number a layer, 1 with keys and values, 0 with a state (linear attention).
TYPE_LIST = "attn_type_list"


@dataclass(frozen=True)
class ModelConfig:
    """What of a model decides about its KV cache. `kinds` has one entry per layer that has a cache.

    `head_size` of an MLA model is the latent of a token: kv_lora_rank + qk_rope_head_dim.
    """

    kinds: tuple[str, ...]
    num_kv_heads: int
    head_size: int
    window: int  # tokens; 0: no layer slides
    chunk: int  # tokens; 0: no layer is chunked
    max_positions: int | None
    values: Mapping[str, Any]  # the file itself, of its language part

    @property
    def other_parts(self) -> list[str]:
        """The keys of what the model has beside its language part."""
        return [key for key in OTHER_PARTS if self.values.get(key)]

    def specs(self, block_size: int, dtype_bytes: int) -> list[KVCacheSpec]:
        """One per layer, as vLLM's attention layers answer get_kv_cache_spec."""
        sizes = (block_size, self.num_kv_heads, self.head_size, dtype_bytes)
        by_kind: dict[str, KVCacheSpec] = {
            FULL: FullAttentionSpec(*sizes),
            SLIDING: SlidingWindowSpec(*sizes, window=self.window),
            CHUNKED: ChunkedLocalAttentionSpec(*sizes, chunk=self.chunk),
            MLA: MLAAttentionSpec(*sizes),
        }
        return [by_kind[kind] for kind in self.kinds]


def parse_config(given: str, text: Text) -> dict[str, Any]:
    """The text of a config.json as a mapping; ConfigError in one sentence where it is none."""
    if not given.strip():
        raise ConfigError(text("sizing_error.empty"))
    if len(given) > MAX_CHARACTERS:
        raise ConfigError(
            text("sizing_error.long", n=f"{len(given):,}", most=f"{MAX_CHARACTERS:,}")
        )
    try:
        parsed = json.loads(given)
    except json.JSONDecodeError as error:
        at = {"line": error.lineno, "column": error.colno}
        raise ConfigError(text("sizing_error.no_json", **at)) from None
    except (RecursionError, ValueError):
        raise ConfigError(text("sizing_error.unreadable")) from None
    if not isinstance(parsed, dict):
        raise ConfigError(text("sizing_error.no_object"))
    return parsed


def read_config(parsed: Mapping[str, Any], text: Text) -> ModelConfig:
    """ConfigError in one sentence that names the key where something is missing or unknown."""
    values = _language_part(parsed)
    _refuse_unknown_caches(values, text)
    num_layers = _number(values, "num_hidden_layers", text, most=MAX_LAYERS)
    heads, head_size = _heads(values, text)
    kinds = _kinds(values, num_layers, text)
    window = _number(values, "sliding_window", text) if SLIDING in kinds else 0
    chunk = _number(values, "attention_chunk_size", text) if CHUNKED in kinds else 0
    known = values.get("max_position_embeddings") is not None
    positions = _number(values, "max_position_embeddings", text) if known else None
    shared = values.get("num_kv_shared_layers") or 0  # they read the cache of an earlier layer
    if not isinstance(shared, int) or not 0 <= shared < num_layers:
        raise ConfigError(text("sizing_error.number", key="num_kv_shared_layers", given=shared))
    return ModelConfig(
        kinds[: num_layers - shared], heads, head_size, window, chunk, positions, values
    )


def _language_part(parsed: Mapping[str, Any]) -> dict[str, Any]:
    """Of a model that also sees or hears, the part that has the KV cache; names as of today."""
    values = dict(parsed)
    for name in ("text_config", "llm_config", "language_config"):
        inner = parsed.get(name)
        if isinstance(inner, Mapping):
            values |= inner
            values.setdefault("model_type", f"{parsed.get('model_type')}_text")
            break
    for name, olds in OLD_NAMES.items():
        for old in olds:
            if values.get(name) is None and values.get(old) is not None:
                values[name] = values[old]
    model_type = values.get("model_type")
    defaults = DEFAULTS.get(model_type, {}) if isinstance(model_type, str) else {}
    return {**defaults, **values}


def _refuse_unknown_caches(values: Mapping[str, Any], text: Text) -> None:
    """A sentence where a layer keeps something that these keys do not give the size of."""
    for key in STATE_KEYS:
        if values.get(key):
            raise ConfigError(text("sizing_error.state", key=key))
    types = values.get(TYPE_LIST)
    if isinstance(types, list) and any(type_ != 1 for type_ in types):
        raise ConfigError(text("sizing_error.state", key=TYPE_LIST))
    for key in UNEQUAL_KEYS:
        if values.get(key):
            raise ConfigError(text("sizing_error.unequal", key=key))
    if values.get("is_encoder_decoder"):
        raise ConfigError(text("sizing_error.encoder"))


def _heads(values: Mapping[str, Any], text: Text) -> tuple[int, int]:
    """KV heads and numbers in each, as vLLM's model config reads them."""
    if values.get("kv_lora_rank") is not None:
        latent = _number(values, "kv_lora_rank", text) + _number(values, "qk_rope_head_dim", text)
        return 1, latent
    num_heads = _number(values, "num_attention_heads", text)
    kv_heads = num_heads
    if values.get("num_key_value_heads") is not None:
        kv_heads = _number(values, "num_key_value_heads", text)
    elif values.get("multi_query") and not values.get("new_decoder_architecture"):
        kv_heads = 1
    if num_heads % kv_heads:  # query heads share KV heads in equal shares
        raise ConfigError(text("sizing_error.kv_heads", heads=num_heads, kv_heads=kv_heads))
    if values.get("head_dim") is not None:
        return kv_heads, _number(values, "head_dim", text)
    hidden = _number(values, "hidden_size", text)
    if hidden % num_heads:
        raise ConfigError(text("sizing_error.head_dim", hidden=hidden, heads=num_heads))
    return kv_heads, hidden // num_heads


def _kinds(values: Mapping[str, Any], num_layers: int, text: Text) -> tuple[str, ...]:
    """Each layer's attention. A file says it by a list, by a pattern, or by a window alone."""
    if values.get("kv_lora_rank") is not None:
        return (MLA,) * num_layers
    listed = values.get("layer_types")
    if listed is not None:
        return _listed_kinds(listed, num_layers, text)
    model_type = values.get("model_type")
    if model_type == "llama4_text":
        return _llama4_kinds(values, num_layers, text)
    if model_type in ("gemma2", "gpt_oss"):
        return _every(2, num_layers)
    pattern = "sliding_window_pattern"
    if values.get(pattern) is not None and values.get("sliding_window") is not None:
        return _every(_number(values, pattern, text), num_layers)
    if values.get("sliding_window") is None or values.get("use_sliding_window") is False:
        return (FULL,) * num_layers
    first = values.get("max_window_layers") if values.get("use_sliding_window") else 0
    if isinstance(first, int) and 0 < first < num_layers:
        raise ConfigError(text("sizing_error.window_layers", first=first, n=num_layers))
    return (SLIDING,) * num_layers


def _every(period: int, num_layers: int) -> tuple[str, ...]:
    """Sliding windows, and every `period`-th layer sees everything."""
    return tuple(SLIDING if (i + 1) % period else FULL for i in range(num_layers))


def _listed_kinds(listed: Any, num_layers: int, text: Text) -> tuple[str, ...]:
    if not isinstance(listed, list) or len(listed) != num_layers:
        n = len(listed) if isinstance(listed, list) else 0
        raise ConfigError(text("sizing_error.layer_types", n=n, layers=num_layers))
    for kind in listed:
        if kind in STATE_KINDS:
            raise ConfigError(text("sizing_error.state", key=f"layer_types: {kind}"))
        if not isinstance(kind, str) or kind not in KINDS:
            raise ConfigError(text("sizing_error.kind", kind=str(kind)[:60]))
    return tuple(KINDS[kind] for kind in listed)


def _llama4_kinds(values: Mapping[str, Any], num_layers: int, text: Text) -> tuple[str, ...]:
    """Layers with rotary positions attend within chunks; those without see everything."""
    rotary = values.get("no_rope_layers")
    if not isinstance(rotary, list) or len(rotary) != num_layers:
        period = _number(values, "no_rope_layer_interval", text)
        rotary = [(i + 1) % period for i in range(num_layers)]
    return tuple(CHUNKED if turns else FULL for turns in rotary)


def _number(values: Mapping[str, Any], key: str, text: Text, *, most: int = MAX_NUMBER) -> int:
    given = values.get(key)
    if given is None:
        raise ConfigError(text("sizing_error.missing", key=key))
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= most:
        raise ConfigError(text("sizing_error.number", key=key, given=repr(given)[:60]))
    return given
