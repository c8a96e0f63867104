"""From a config.json and a GPU to blocks: exact numbers, hybrids, and what is refused."""

import json

import pytest

from views.figures.sizing.known_models import MODELS
from views.figures.sizing.model_config import parse_config, read_config
from views.figures.sizing.model_weights import count_parameters, weigh
from views.figures.sizing.sizing import size
from views.figures.sizing.sizing_inputs import KNOWN_EXAMPLE, MAX_LINK, OWN, Inputs, read_inputs
from views.text import Text

TEXT = Text()
PUBLISHED = {  # parameters, as the pages of the repositories state them
    "HuggingFaceTB/SmolLM2-135M-Instruct": 134_515_008,
    "Qwen/Qwen2-0.5B-Instruct": 494_032_768,
    "meta-llama/Llama-3.2-1B-Instruct": 1_235_814_400,
    "google/gemma-3-1b-it": 999_885_952,
    "mistralai/Mistral-7B-Instruct-v0.1": 7_241_732_096,
    "Qwen/Qwen2.5-7B-Instruct": 7_615_616_512,
    "meta-llama/Llama-3.1-8B-Instruct": 8_030_261_248,
    "Qwen/Qwen3-8B": 8_190_735_360,
    "google/gemma-2-9b-it": 9_241_705_984,
    "microsoft/phi-4": 14_659_507_200,
    "openai/gpt-oss-20b": 20_914_757_184,
    "google/gemma-3-27b-it": 27_009_346_304,
    "Qwen/Qwen3-30B-A3B": 30_532_122_624,
    "Qwen/Qwen3-32B": 32_762_123_264,
    "mistralai/Mixtral-8x7B-Instruct-v0.1": 46_702_792_704,
    "meta-llama/Llama-3.3-70B-Instruct": 70_553_706_496,
    "openai/gpt-oss-120b": 116_829_156_672,
}
SMALL = {
    "model_type": "llama",
    "num_hidden_layers": 2,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 128,
    "vocab_size": 100,
    "max_position_embeddings": 512,
}


def sized(**typed):
    sizing, errors = size(Inputs(**typed), TEXT)
    assert not errors
    return sizing


def own(**changed):
    values = {key: value for key, value in (SMALL | changed).items() if value is not None}
    return {"model": OWN, "config": json.dumps(values)}


def refusal(**typed):
    """The only field in the way, and its sentence."""
    sizing, errors = size(Inputs(**typed), TEXT)
    assert sizing is None
    ((field, sentence),) = errors.items()
    return field, sentence


def test_the_known_example_has_131928_blocks():
    sizing, errors = size(KNOWN_EXAMPLE, TEXT)
    assert not errors
    assert sizing.plan.page_size_bytes == 8_192
    assert sizing.num_blocks == 131_928
    assert sizing.plan.tensor_bytes(sizing.num_blocks) == 1_080_754_176
    assert sizing.num_tokens == 131_928 * 16
    assert sizing.blocks_per_request == 2_048
    assert sizing.concurrency == pytest.approx(64.418, abs=0.001)


def test_doubling_heads_or_layers_halves_the_blocks_and_fp8_doubles_them():
    typed = {"gpu": "8", "kv": "25165824", "weights": "1"}
    as_it_is = sized(**own(), **typed).num_blocks
    assert as_it_is == 25_165_824 // (2 * 16 * 2 * 16 * 2) // 2
    assert sized(**own(num_key_value_heads=4), **typed).num_blocks == as_it_is // 2
    assert sized(**own(num_hidden_layers=4), **typed).num_blocks == as_it_is // 2
    assert sized(**own(), **typed, kv_dtype="fp8").num_blocks == as_it_is * 2


@pytest.mark.parametrize("name", MODELS)
def test_the_parameters_of_a_known_model_are_those_of_its_page(name):
    assert count_parameters(read_config(MODELS[name], TEXT).values).total == PUBLISHED[name]


def test_there_is_a_published_number_for_each_known_model():
    assert MODELS.keys() == PUBLISHED.keys()
    assert len(MODELS) >= 15


def test_the_experts_of_gpt_oss_have_4_25_bits_each():
    weights = weigh(MODELS["openai/gpt-oss-20b"], "auto", TEXT)
    assert weights.num_bytes == 13_761_264_768  # total_size in its safetensors index
    assert weigh(MODELS["openai/gpt-oss-20b"], "bfloat16", TEXT).num_bytes == 2 * 20_914_757_184


def test_fp8_weights_leave_embeddings_and_norms_at_two_bytes():
    parameters = count_parameters(SMALL)
    weights = weigh(SMALL, "fp8", TEXT)
    matrices = parameters.attention + parameters.mlp
    assert weights.num_bytes == matrices + 2 * (parameters.total - matrices)


def test_available_is_what_vllm_asks_for_less_weights_and_rest():
    sizing = sized(gpu="80", util="0.9", rest="2")
    assert sizing.requested_bytes == 77_309_411_328
    assert sizing.available_bytes == 77_309_411_328 - 2 * 8_030_261_248 - 2 * 2**30
    # a block of 16 tokens in 32 layers with 8 heads of 128 numbers of 2 bytes
    assert sizing.num_blocks == sizing.available_bytes // (2 * 16 * 8 * 128 * 2) // 32
    assert sizing.blocks_per_request == 8_192


def test_a_window_that_is_switched_off_is_none():
    model = read_config({**SMALL, "sliding_window": 32, "use_sliding_window": False}, TEXT)
    assert model.kinds == ("full", "full")


def test_the_language_part_of_a_model_that_sees_is_read_with_its_defaults():
    vision = {
        "model_type": "gemma3",
        "text_config": {
            "model_type": "gemma3_text",
            "num_hidden_layers": 34,
            "hidden_size": 2560,
            "intermediate_size": 10240,
            "sliding_window": 1024,
        },
    }
    model = read_config(vision, TEXT)
    assert (model.num_kv_heads, model.head_size, model.window) == (4, 256, 1024)
    assert model.kinds.count("full") == 5
    assert model.max_positions == 131_072
    assert count_parameters(model.values).total == 3_880_263_168  # gemma-3-4b without its eyes


def test_a_list_of_full_attention_alone_is_no_state():
    assert read_config({**SMALL, "attn_type_list": [1, 1]}, TEXT).kinds == ("full", "full")


def test_layers_that_read_the_cache_of_others_have_none():
    assert len(read_config({**SMALL, "num_kv_shared_layers": 1}, TEXT).kinds) == 1


def test_a_chunked_layer_sees_its_chunk_and_every_fourth_everything():
    config = {**SMALL, "model_type": "llama4_text", "num_hidden_layers": 4}
    model = read_config({"model_type": "llama4", "text_config": config}, TEXT)
    assert model.kinds == ("chunked_local", "chunked_local", "chunked_local", "full")
    assert model.chunk == 8192


def test_mla_keeps_one_latent_and_its_weights_are_typed():
    mla = own(model_type="deepseek_v2", kv_lora_rank=512, qk_rope_head_dim=64)
    field, sentence = refusal(**mla)
    assert field == "weights"
    assert "deepseek_v2" in sentence
    assert sized(**mla, weights="1").plan.page_size_bytes == 16 * 576 * 2


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"num_hidden_layers": None}, "num_hidden_layers is missing"),
        ({"num_attention_heads": None}, "num_attention_heads is missing"),
        ({"hidden_size": None}, "hidden_size is missing"),
        ({"num_hidden_layers": 0}, "num_hidden_layers=0"),
        ({"num_hidden_layers": 10**12}, "num_hidden_layers=1000000000000"),
        ({"num_hidden_layers": "24"}, "num_hidden_layers='24'"),
        ({"num_hidden_layers": True}, "num_hidden_layers=True"),
        ({"num_key_value_heads": -2}, "num_key_value_heads=-2"),
        ({"hidden_size": 65}, "not a multiple"),
        ({"num_key_value_heads": 3}, "num_attention_heads=4 in this config.json is not a multiple"),
        ({"num_key_value_heads": 8}, "not a multiple of num_key_value_heads=8"),
        ({"mamba_d_state": 16}, "mamba_d_state"),
        (
            {"layer_types": ["linear_attention", "full_attention"]},
            "(layer_types: linear_attention)",
        ),
        ({"layer_types": ["new_attention", "full_attention"]}, "of type new_attention"),
        ({"attn_type_list": [0, 1]}, "state of fixed size (attn_type_list)"),
        ({"conv_L_cache": 3}, "state of fixed size (conv_L_cache)"),
        ({"hybrid_layer_pattern": [0, 1]}, "hybrid_layer_pattern"),
        ({"layer_types": ["full_attention"]}, "lists 1 layers"),
        ({"layer_types": 7}, "lists 0 layers"),
        ({"layer_types": ["sliding_attention", "full_attention"]}, "sliding_window is missing"),
        ({"index_topk": 2048}, "index_topk"),
        ({"is_encoder_decoder": True}, "encoder"),
        ({"kv_lora_rank": 512}, "qk_rope_head_dim is missing"),
        ({"sliding_window": 32, "use_sliding_window": True, "max_window_layers": 1}, "refuses"),
    ],
)
def test_a_config_that_says_too_little_gets_a_sentence_that_names_it(changed, named):
    field, sentence = refusal(**own(**changed))
    assert field == "config"
    assert named in sentence


@pytest.mark.parametrize(
    "given",
    ["", " ", "{", "[1]", "null", "7", "<html>", "[" * 50_000, "x" * 300_000, '{"a": 1e999999}'],
)
def test_what_is_no_config_gets_a_sentence(given):
    field, sentence = refusal(model=OWN, config=given)
    assert field == "config"
    assert len(sentence) < 200


def test_what_cannot_be_read_is_not_told_a_place_that_is_right():
    assert refusal(model=OWN, config="[" * 2_000)[1].startswith(
        "This cannot be read as JSON: it is"
    )


@pytest.mark.parametrize("quantised", [{"quant_method": "gptq", "bits": 4}, {}, 7])
def test_weights_of_unknown_quantisation_are_typed(quantised):
    if not quantised:
        assert sized(**own(quantization_config=quantised))
        return
    assert refusal(**own(quantization_config=quantised))[0] == "weights"
    assert sized(**own(quantization_config=quantised), weights="0.5").weight_bytes == 2**29


@pytest.mark.parametrize(
    ("field", "given"),
    [
        *[(field, given) for field in ("gpu", "util", "block_size", "batched") for given in ("", "0", "-1", "abc", "1e400", "nan", "9" * 400)],
        ("rest", "-1"),
        ("rest", "2,5"),
        ("weights", "many"),
        ("util", "1.01"),
        ("util", "0,9"),
        ("block_size", "16.5"),
        ("max_len", "0"),
        ("kv", "-8"),
        ("kv", "24 GiB"),
        ("dtype", "int3"),
        ("kv_dtype", "q8"),
        ("model", "no/such"),
    ],
)  # fmt: skip
def test_a_field_that_makes_no_sense_says_so_itself(field, given):
    name, sentence = refusal(**{field: given})
    assert name == field
    assert len(sentence) < 200


@pytest.mark.parametrize("given", ["131072", " 131,072 ", "131_072", "131 072", "１３１０７２"])
def test_a_whole_number_may_be_set_in_groups(given):
    question, _ = read_inputs(Inputs(max_len=given), TEXT)
    assert question.max_model_len == 131_072


def test_a_model_that_does_not_fit_leaves_no_block():
    sizing = sized(model="meta-llama/Llama-3.3-70B-Instruct")
    assert sizing.available_bytes < 0
    assert sizing.num_blocks == sizing.num_tokens == sizing.longest == 0
    assert sizing.concurrency == 0


def test_the_longest_request_that_fits_is_found():
    sizing = sized(gpu="20", util="1", rest="2")
    assert sizing.concurrency < 1
    assert sizing.longest == sizing.num_blocks * 16
    assert sized(gpu="80").longest == 131_072


def test_a_link_says_what_differs_and_gives_it_back():
    assert Inputs().address() == {}
    typed = Inputs(gpu="24", block_size="32", **own())
    link = typed.address()
    assert link.keys() == {"model", "config", "gpu", "block_size"}
    again = Inputs.from_browser(link)
    assert json.loads(again.config) == SMALL
    assert again._replace(config="") == typed._replace(config="")


def test_a_config_that_is_too_long_or_broken_stays_out_of_the_link():
    assert "config" not in Inputs(**own(note="x" * MAX_LINK)).address()
    assert "config" not in Inputs(model=OWN, config="{").address()
    assert "config" not in Inputs(config=json.dumps(SMALL)).address()


@pytest.mark.parametrize("sent", [None, 7, [], {"gpu": None}, {"foo": "bar"}, {"gpu": ["8"]}])
def test_whatever_a_browser_sends_is_read(sent):
    assert isinstance(Inputs.from_browser(sent), Inputs)
    assert len(Inputs.from_browser({"gpu": "9" * 10**6}).gpu) < 100


def test_parsing_keeps_what_the_file_says():
    assert parse_config('{"a": 1}', TEXT) == {"a": 1}
