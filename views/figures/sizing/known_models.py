"""Well-known models, as far as their published config.json decides about memory.

The key is the repository on the model hub whose config.json this is, without the keys that do not
count here. The weights computed from each come exactly to the number of parameters that its page
states (tests/views/test_sizing.py). Of models that also see, the language part: `vision_config`
says that they have another.
"""

from typing import Any

Config = dict[str, Any]


def _config(
    model_type: str, shape: tuple[int, ...], heads: tuple[int, int, int], **more: Any
) -> Config:
    """`shape`: layers, hidden, intermediate, vocabulary, positions; `heads`: query, KV, head size."""
    layers, hidden, intermediate, vocabulary, positions = shape
    return {
        "model_type": model_type,
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "intermediate_size": intermediate,
        "vocab_size": vocabulary,
        "max_position_embeddings": positions,
        "num_attention_heads": heads[0],
        "num_key_value_heads": heads[1],
        "head_dim": heads[2],
        "torch_dtype": "bfloat16",
        "tie_word_embeddings": False,
        **more,
    }


TIED = {"tie_word_embeddings": True}
OSS = {
    "sliding_window": 128,
    "attention_bias": True,
    "quantization_config": {"quant_method": "mxfp4"},
}

SIGLIP = {"model_type": "siglip_vision_model", "num_hidden_layers": 27, "hidden_size": 1152}

MODELS: dict[str, Config] = {
    "HuggingFaceTB/SmolLM2-135M-Instruct": _config(
        "llama", (30, 576, 1536, 49152, 8192), (9, 3, 64), **TIED
    ),
    "Qwen/Qwen2-0.5B-Instruct": _config(
        "qwen2", (24, 896, 4864, 151936, 32768), (14, 2, 64), **TIED
    ),
    "meta-llama/Llama-3.2-1B-Instruct": _config(
        "llama", (16, 2048, 8192, 128256, 131072), (32, 8, 64), **TIED
    ),
    "google/gemma-3-1b-it": _config(
        "gemma3_text",
        (26, 1152, 6912, 262144, 32768),
        (4, 1, 256),
        sliding_window=512,
        sliding_window_pattern=6,
        **TIED,
    ),
    "mistralai/Mistral-7B-Instruct-v0.1": _config(
        "mistral", (32, 4096, 14336, 32000, 32768), (32, 8, 128), sliding_window=4096
    ),
    "Qwen/Qwen2.5-7B-Instruct": _config("qwen2", (28, 3584, 18944, 152064, 32768), (28, 4, 128)),
    "meta-llama/Llama-3.1-8B-Instruct": _config(
        "llama", (32, 4096, 14336, 128256, 131072), (32, 8, 128)
    ),
    "Qwen/Qwen3-8B": _config("qwen3", (36, 4096, 12288, 151936, 40960), (32, 8, 128)),
    "google/gemma-2-9b-it": _config(
        "gemma2", (42, 3584, 14336, 256000, 8192), (16, 8, 256), sliding_window=4096, **TIED
    ),
    "microsoft/phi-4": _config("phi3", (40, 5120, 17920, 100352, 16384), (40, 10, 128)),
    "openai/gpt-oss-20b": _config(
        "gpt_oss", (24, 2880, 2880, 201088, 131072), (64, 8, 64), num_local_experts=32, **OSS
    ),
    "google/gemma-3-27b-it": _config(
        "gemma3_text",
        (62, 5376, 21504, 262208, 131072),
        (32, 16, 128),
        sliding_window=1024,
        sliding_window_pattern=6,
        vision_config=SIGLIP,
        **TIED,
    ),
    "Qwen/Qwen3-30B-A3B": _config(
        "qwen3_moe",
        (48, 2048, 6144, 151936, 40960),
        (32, 4, 128),
        num_experts=128,
        moe_intermediate_size=768,
    ),
    "Qwen/Qwen3-32B": _config("qwen3", (64, 5120, 25600, 151936, 40960), (64, 8, 128)),
    "mistralai/Mixtral-8x7B-Instruct-v0.1": _config(
        "mixtral", (32, 4096, 14336, 32000, 32768), (32, 8, 128), num_local_experts=8
    ),
    "meta-llama/Llama-3.3-70B-Instruct": _config(
        "llama", (80, 8192, 28672, 128256, 131072), (64, 8, 128)
    ),
    "openai/gpt-oss-120b": _config(
        "gpt_oss", (36, 2880, 2880, 201088, 131072), (64, 8, 64), num_local_experts=128, **OSS
    ),
}
