"""Which architectures run, and how the others are found out."""

from types import SimpleNamespace

import pytest
import torch
import transformers

from engine.errors import ConfigError
from engine.runner.architecture import ask_stock, check_config, try_attention
from tests.runner.builders import VOCAB_SIZE, build_loaded, build_stock

ARCHITECTURES = [
    ("Llama", {}),
    ("Qwen2", {}),
    ("Qwen2", {"use_sliding_window": True, "sliding_window": 6, "max_window_layers": 1}),
    ("Qwen3", {"head_dim": 8}),
    ("Mistral", {"sliding_window": 6}),
    (
        "Gemma3Text",
        {
            "head_dim": 8,
            "sliding_window": 6,
            "layer_types": ["sliding_attention", "full_attention"],
        },
    ),
    ("Gemma2", {"head_dim": 8, "attn_logit_softcapping": None, "sliding_window": 6}),
    ("Phi3", {}),
    ("Granite", {}),
    ("SmolLM3", {}),
    ("Olmo2", {}),
    ("GPTNeoX", {}),
    ("GPT2", {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256}),
    ("OPT", {"ffn_dim": 48, "word_embed_proj_dim": 32}),
    ("Phi", {}),
]


def stock_of(architecture: str, config: dict) -> object:
    torch.manual_seed(0)
    if architecture == "Gemma3Text":
        settings = {"vocab_size": 260, "hidden_size": 32, "intermediate_size": 48}
        settings |= {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
        settings |= {"max_position_embeddings": 256, "initializer_range": 0.3, "pad_token_id": 0}
        built = transformers.Gemma3TextConfig(**settings, **config)
        return transformers.Gemma3ForCausalLM(built).eval()
    return build_stock(architecture, **config)


@pytest.mark.parametrize(("architecture", "config"), ARCHITECTURES)
def test_a_tried_architecture_passes_its_trial(architecture, config):
    loaded = build_loaded(stock_of(architecture, config))
    assert loaded.num_layers == 2
    assert loaded.head_size == 8
    window = config.get("sliding_window")
    assert set(loaded.windows) <= {None, window}
    assert (window in loaded.windows) or window is None


def test_a_hybrid_model_tells_its_windows_by_layer():
    config = {"use_sliding_window": True, "sliding_window": 6, "max_window_layers": 1}
    loaded = build_loaded(build_stock("Qwen2", **config))
    assert loaded.windows == (None, 6)


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"model_type": "mamba"}, "architecture 'mamba' is not supported: choose a model of"),
        ({"model_type": "gpt_oss"}, "architecture 'gpt_oss' is not supported"),
        ({}, "architecture None"),
        ({"model_type": "gemma2", "attn_logit_softcapping": 50.0}, "attn_logit_softcapping=50.0"),
        ({"model_type": "llama", "rope_parameters": {"rope_type": "dynamic"}}, "'dynamic'"),
        (
            {"model_type": "phi3", "rope_parameters": {"full": {"rope_type": "longrope"}}},
            "longrope",
        ),
    ],
)
def test_an_architecture_that_would_come_out_wrong_is_refused(config, says):
    with pytest.raises(ConfigError, match=says):
        check_config(SimpleNamespace(**config))


def test_a_model_whose_attention_does_more_than_ours_fails_its_trial():
    """A cap on the scores that the config does not admit: the logits betray it."""
    stock = build_stock()
    answer = ask_stock(stock, VOCAB_SIZE)
    for layer in stock.model.layers:
        layer.self_attn.scaling *= 3
    with pytest.raises(ConfigError, match="standard deviations"):
        try_attention(stock, answer)


def test_a_model_that_skips_our_attention_in_a_layer_fails_its_trial():
    stock = build_stock()
    answer = ask_stock(stock, VOCAB_SIZE)
    stock.model.layers[1] = torch.nn.Identity()
    stock.model.layers[1].forward = lambda hidden, **_: hidden
    with pytest.raises(ConfigError, match="only 1 of 2 layers"):
        try_attention(stock, answer)
