"""The pools of well-known models, computed by hand from their configs; hybrids as vLLM 0.17.1 has them."""

import json

import pytest

from tests.views.test_sizing import SMALL, TEXT, sized
from views.figures.sizing.known_models import MODELS
from views.figures.sizing.model_config import read_config
from views.figures.sizing.sizing_inputs import OWN

# 2 x 16 tokens x KV heads x head size x 2 bytes; layers of a group; groups; and
# ceil(max_position_embeddings / 16) for a full group, ceil((window - 1 + 8192) / 16) + 1 for a
# sliding one (at most for max_position_embeddings), summed over the groups.
BY_HAND = {
    "HuggingFaceTB/SmolLM2-135M-Instruct": (12_288, 30, 1, 512),
    "Qwen/Qwen2-0.5B-Instruct": (8_192, 24, 1, 2_048),
    "meta-llama/Llama-3.2-1B-Instruct": (32_768, 16, 1, 8_192),
    "google/gemma-3-1b-it": (16_384, 4, 7, 2_048 + 6 * 545),
    "mistralai/Mistral-7B-Instruct-v0.1": (65_536, 32, 1, 769),
    "Qwen/Qwen2.5-7B-Instruct": (32_768, 28, 1, 2_048),
    "meta-llama/Llama-3.1-8B-Instruct": (65_536, 32, 1, 8_192),
    "Qwen/Qwen3-8B": (65_536, 36, 1, 2_560),
    "google/gemma-2-9b-it": (131_072, 21, 2, 512 + 513),
    "microsoft/phi-4": (81_920, 40, 1, 1_024),
    "openai/gpt-oss-20b": (32_768, 12, 2, 8_192 + 521),
    "google/gemma-3-27b-it": (131_072, 10, 7, 8_192 + 6 * 577),
    "Qwen/Qwen3-30B-A3B": (32_768, 48, 1, 2_560),
    "Qwen/Qwen3-32B": (65_536, 64, 1, 2_560),
    "mistralai/Mixtral-8x7B-Instruct-v0.1": (65_536, 32, 1, 2_048),
    "meta-llama/Llama-3.3-70B-Instruct": (65_536, 80, 1, 8_192),
    "openai/gpt-oss-120b": (32_768, 18, 2, 8_192 + 521),
}
KV_BYTES = 100 * 2**30


@pytest.mark.parametrize("name", MODELS)
def test_the_pool_of_a_known_model_is_the_one_computed_by_hand(name):
    page, group_size, num_groups, blocks_per_request = BY_HAND[name]
    sizing = sized(model=name, kv=str(KV_BYTES))
    num_blocks = KV_BYTES // page // group_size
    assert sizing.plan.page_size_bytes == page
    assert (sizing.plan.group_size, len(sizing.plan.groups)) == (group_size, num_groups)
    assert sizing.num_blocks == num_blocks
    assert sizing.num_tokens == num_blocks // num_groups * 16
    assert sizing.blocks_per_request == blocks_per_request
    assert sizing.concurrency == num_blocks / blocks_per_request


# What get_kv_cache_groups, get_kv_cache_config_from_groups and get_max_concurrency_for_kv_cache_config
# of vLLM 0.17.1 answer for the same layers, 100 GiB and 8192 tokens a step.
AS_VLLM = {
    "gemma-3-1b": ("google/gemma-3-1b-it", {}, [4, 4, 4, 4, 3, 3, 4], 1_638_400, 308.0857465212486),
    "gpt-oss-20b": ("openai/gpt-oss-20b", {}, [12, 12], 273_066, 31.340066567198438),
    "gemma-3-27b": (
        "google/gemma-3-27b-it",
        {},
        [9, 9, 9, 9, 8, 8, 10],
        81_920,
        7.0293461472455805,
    ),
    "llama-4-scout": (
        OWN,
        {
            "model_type": "llama4",
            "text_config": SMALL
            | {
                "model_type": "llama4_text",
                "num_hidden_layers": 48,
                "num_attention_heads": 40,
                "num_key_value_heads": 8,
                "head_dim": 128,
                "max_position_embeddings": 1_048_576,
            },
        },
        [12, 12, 12, 12],
        136_533,
        1.9900448927238805,
    ),
}


@pytest.mark.parametrize(
    ("model", "config", "layers", "num_blocks", "concurrency"), AS_VLLM.values(), ids=AS_VLLM
)
def test_a_hybrid_model_has_the_groups_and_blocks_of_vllm(
    model, config, layers, num_blocks, concurrency
):
    sizing = sized(
        model=model, config=json.dumps(config), kv=str(KV_BYTES), batched="8192", weights="1"
    )
    assert [len(group) for group in sizing.plan.groups] == layers
    assert sizing.num_blocks == num_blocks
    assert sizing.concurrency == pytest.approx(concurrency, rel=1e-12)


def test_a_hybrid_model_deals_its_layers_to_groups_of_the_smaller_kind():
    sizing = sized(model="google/gemma-3-1b-it", gpu="24")
    assert sizing.plan.group_size == 4
    assert [len(group) for group in sizing.plan.groups] == [4, 4, 4, 4, 3, 3, 4]
    assert sizing.plan.page_size_bytes == 2 * 16 * 1 * 256 * 2
    assert sizing.num_blocks == sizing.available_bytes // 16_384 // 4
    assert sizing.num_tokens == sizing.num_blocks // 7 * 16
    # six sliding groups reach back 511 tokens from 8192 of a step; one full group keeps 32768
    assert sizing.blocks_per_request == 2_048 + 6 * (544 + 1)


def test_alternating_layers_make_two_groups():
    for name, window in (("google/gemma-2-9b-it", 4096), ("openai/gpt-oss-20b", 128)):
        model = read_config(MODELS[name], TEXT)
        assert model.kinds[:4] == ("sliding", "full", "sliding", "full")
        assert model.window == window
        assert len(sized(model=name, max_len="4096").plan.groups) == 2


def test_a_model_of_sliding_layers_alone_has_one_group():
    sizing = sized(model="mistralai/Mistral-7B-Instruct-v0.1")
    assert len(sizing.plan.groups) == 1
    assert sizing.blocks_per_request == (4_095 + 8_192 + 15) // 16 + 1
