"""Parameters and bytes of a model's weights, from its config.json, for the families known here."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from engine.errors import ConfigError
from views.text import Text

AUTO, FLOAT32, BFLOAT16, FP8 = "auto", "float32", "bfloat16", "fp8"
WEIGHT_DTYPES = (AUTO, BFLOAT16, FP8, FLOAT32)
BYTES = {FLOAT32: 4, BFLOAT16: 2, FP8: 1}
SIXTEEN_BIT = 2
MXFP4_GROUP_BITS = (32 * 4 + 8, 32)  # 32 numbers of 4 bits share a scale of 8 bits


class Family(NamedTuple):
    """In what the layers of one model type differ from Llama's."""

    qkv_bias: bool = False
    num_norms: int = 2  # of the hidden size, in a layer
    has_qk_norm: bool = False
    experts: str | None = None  # the key of their number
    expert_size: str = "intermediate_size"
    has_sinks: bool = False  # one number a query head, and biases at router and experts


FAMILIES: dict[str, Family] = {
    "llama": Family(),
    "mistral": Family(),
    "phi3": Family(),
    "qwen2": Family(qkv_bias=True),
    "qwen3": Family(has_qk_norm=True),
    "qwen3_moe": Family(
        has_qk_norm=True, experts="num_experts", expert_size="moe_intermediate_size"
    ),
    "mixtral": Family(experts="num_local_experts"),
    "gemma": Family(),
    "gemma2": Family(num_norms=4),
    "gemma3_text": Family(num_norms=4, has_qk_norm=True),
    "gpt_oss": Family(experts="num_local_experts", has_sinks=True),
}
NEEDED = (
    "num_hidden_layers",
    "hidden_size",
    "intermediate_size",
    "vocab_size",
    "num_attention_heads",
)
ODD_LAYERS = ("mlp_only_layers", "first_k_dense_replace", "num_kv_shared_layers")


class Parameters(NamedTuple):
    """Numbers, by what quantisation does with them."""

    embeddings: int  # and the output layer, where it is not the same
    attention: int  # its matrices
    mlp: int  # its matrices: of all experts
    rest: int  # norms, biases, routers

    @property
    def total(self) -> int:
        return sum(self)


def count_parameters(values: Mapping[str, Any]) -> Parameters | None:
    """None where the file does not say enough, or says something this count does not know."""
    family = FAMILIES.get(str(values.get("model_type")))
    numbers = [values.get(key) for key in NEEDED]
    if family is None or any(values.get(key) for key in ODD_LAYERS):
        return None
    if not all(isinstance(number, int) and number > 0 for number in numbers):
        return None
    layers, hidden, intermediate, vocabulary, heads = (int(number or 0) for number in numbers)
    kv_heads = values.get("num_key_value_heads") or heads
    head_size = values.get("head_dim") or hidden // heads
    q, kv = heads * head_size, kv_heads * head_size
    experts, router = _experts(values, family, hidden)
    if experts is None:
        return None
    size = intermediate if experts == 0 else int(values[family.expert_size])
    rest = family.num_norms * hidden + router + (2 * head_size if family.has_qk_norm else 0)
    if family.qkv_bias or values.get("attention_bias"):
        rest += q + 2 * kv + (0 if family.qkv_bias else hidden)
    if values.get("mlp_bias"):
        rest += 2 * intermediate + hidden
    if family.has_sinks:
        rest += heads + experts * (2 * size + hidden)
    return Parameters(
        embeddings=vocabulary * hidden * (1 if values.get("tie_word_embeddings") else 2),
        attention=layers * 2 * hidden * (q + kv),
        mlp=layers * max(experts, 1) * 3 * hidden * size,
        rest=layers * rest + hidden,
    )


def _experts(values: Mapping[str, Any], family: Family, hidden: int) -> tuple[int | None, int]:
    """Number of experts (0: none, None: not known) and parameters of the router."""
    if family.experts is None:
        return 0, 0
    number, size = values.get(family.experts), values.get(family.expert_size)
    if not isinstance(number, int) or not isinstance(size, int) or number < 1 or size < 1:
        return None, 0
    return number, number * (hidden + (1 if family.has_sinks else 0))


class Weights(NamedTuple):
    """`num_bytes` of all, and how they came about: (parameters, bits each) twice."""

    num_bytes: int
    parts: tuple[tuple[int, float], ...]


def weigh(values: Mapping[str, Any], dtype: str, text: Text) -> Weights:
    """ConfigError in one sentence where the file does not tell, and the bytes must be typed.

    Quantised are matrices, never embeddings, norms and routers. Scales of fp8 are not counted:
    one number a matrix or a block of one. A float32 checkpoint is cast to 16 bits, as vLLM's
    `--dtype auto` does.
    """
    parameters = count_parameters(values)
    if parameters is None:
        raise ConfigError(text("sizing_error.family", kind=str(values.get("model_type"))[:60]))
    matrices = parameters.attention + parameters.mlp
    if dtype == AUTO:
        return _as_published(values, parameters, text)
    if dtype == FP8:
        return _in_two(matrices, 8, parameters.total - matrices)
    return _in_two(0, 0, parameters.total, bits=8 * BYTES[dtype])


def _as_published(values: Mapping[str, Any], parameters: Parameters, text: Text) -> Weights:
    quantised = values.get("quantization_config")
    if not quantised:
        return _in_two(0, 0, parameters.total)
    method = quantised.get("quant_method") if isinstance(quantised, Mapping) else None
    if method == "mxfp4":
        bits, of = MXFP4_GROUP_BITS
        return _in_two(parameters.mlp, bits / of, parameters.total - parameters.mlp)
    if method == "fp8":
        matrices = parameters.attention + parameters.mlp
        return _in_two(matrices, 8, parameters.total - matrices)
    raise ConfigError(text("sizing_error.quantised", method=str(method)[:60]))


def _in_two(small: int, small_bits: float, rest: int, *, bits: int = 8 * SIXTEEN_BIT) -> Weights:
    parts = ((small, small_bits), (rest, float(bits)))
    num_bytes = int(small * small_bits) // 8 + rest * bits // 8
    return Weights(num_bytes, tuple(part for part in parts if part[0]))
