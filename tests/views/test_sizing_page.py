"""The calculator's page: its formula comes to its results, and its form keeps what was typed."""

import json
import math
import re

import pytest

from tests.views.page import payload, send
from views.figures.sizing.known_models import MODELS
from views.figures.sizing.sizing import size
from views.figures.sizing.sizing_inputs import KNOWN_EXAMPLE, OWN, Inputs
from views.figures.sizing.sizing_page import sizing_page
from views.text import Text

TEXT = Text()
PYTHON = {"×": "*", "÷": "/", "−": "-", "⌈": "ceil(", "⌉": ")", "min (": "min("}
QUESTIONS = [
    KNOWN_EXAMPLE,
    Inputs(gpu="24", util="0.85", max_len="8192"),
    Inputs(dtype="fp8", kv_dtype="fp8", weights="", gpu="141"),
    Inputs(weights="7.5"),
    Inputs(model=OWN, config='{"model_type": "deepseek_v2", "num_hidden_layers": 27, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "max_position_embeddings": 163840}', weights="29.3"),
    Inputs(model=OWN, config='{"text_config": {"model_type": "llama4_text", "num_hidden_layers": 8, "hidden_size": 512, "num_attention_heads": 4}, "max_position_embeddings": 100000}', weights="1"),
    *(Inputs(model=name, gpu="300") for name in MODELS),
]  # fmt: skip


def shown(inputs):
    page = sizing_page(inputs, TEXT)
    assert not page["errors"]
    return page["result"]


def value_of(number):
    return re.sub(r"[^\d.]", "", number)


def computed(parts):
    """What the terms in front of the last = come to."""
    python = "".join(
        PYTHON.get(part, part) if isinstance(part, str) else value_of(part[0]) for part in parts
    )
    return eval(python, {"ceil": math.ceil, "min": min, "__builtins__": {}})


@pytest.mark.parametrize("inputs", QUESTIONS, ids=lambda inputs: inputs.model[-24:])
def test_every_line_of_the_formula_comes_to_its_result(inputs):
    num_checked = 0
    for step in shown(inputs)["steps"]:
        for *parts, result in step["lines"]:
            if parts and parts[-1] == "=":
                wanted = float(value_of(result[0]))
                assert computed(parts[:-1]) == pytest.approx(wanted, abs=0.005, rel=0), step
                num_checked += 1
    assert num_checked >= 6


def test_the_known_example_shows_its_numbers():
    result = shown(KNOWN_EXAMPLE)
    numbers = {number["key"]: number["value"] for number in result["numbers"]}
    assert numbers == {
        "page": "8,192",
        "blocks": "131,928",
        "tokens": "2,110,848",
        "concurrency": "64.42",
    }
    lines = {step["key"]: step["lines"] for step in result["steps"]}
    assert lines["tensors"][0][-1] == ["1,080,754,176 B", "one layer"]
    assert [part for part in lines["page"][0] if part[0] == "64"] == [["64", "head_size"]]


@pytest.mark.parametrize("inputs", QUESTIONS, ids=lambda inputs: inputs.model[-24:])
def test_the_bar_is_to_scale_and_whole(inputs):
    drawn = shown(inputs)["bar"]
    sizing, _ = size(inputs, TEXT)
    shares = {part["key"]: part["share"] for part in drawn["parts"]}
    assert sum(shares.values()) == pytest.approx(1)
    whole = max(sizing.question.total_bytes, sizing.weight_bytes)
    assert shares["kv"] == pytest.approx(sizing.pool_bytes / whole)


def test_more_than_the_gpu_has_is_drawn_beyond_its_end():
    result = shown(Inputs(model="meta-llama/Llama-3.3-70B-Instruct"))
    assert result["bar"]["end"] < 1
    assert "more than the GPU has" in result["bar"]["over"]
    assert "Nothing is left" in result["warnings"][0]
    numbers = [number["value"] for number in result["numbers"]]
    assert numbers[1:] == ["0", "0", "0.00"]
    assert [step["key"] for step in result["steps"]][-1] == "page"


def test_a_pool_that_cannot_hold_one_request_says_what_would_fit():
    said = shown(Inputs(gpu="20", util="1"))["warnings"]
    assert "would not start" in said[0]
    longest = int(re.sub(r"\D", "", said[1]))
    assert shown(Inputs(gpu="20", util="1", max_len=str(longest)))["warnings"] == []
    assert "would not start" in shown(Inputs(gpu="20", util="1", max_len=str(longest + 1)))["warnings"][0]  # fmt: skip


def test_odd_blocks_and_lengths_beyond_the_model_are_named():
    page = sizing_page(Inputs(block_size="5", max_len="200000"), TEXT)
    assert page["result"]["numbers"][1]["value"] == "90,181"
    assert page["remarks"] == {
        "max_len": "max_model_len=200,000 is beyond the model's max_position_embeddings=131,072: vLLM refuses it, unless rope_scaling stretches the positions or VLLM_ALLOW_LONG_MAX_MODEL_LEN is set.",
        "block_size": "block_size=5 is fine for counting, but vLLM's CUDA kernels want a multiple of 16.",
    }
    assert sizing_page(Inputs(block_size="32", max_len="131072"), TEXT)["remarks"] == {}


def note_on_weights(**given):
    (step,) = [each for each in shown(Inputs(**given))["steps"] if each["key"] == "weights"]
    return step["note"]


def test_a_model_that_also_sees_or_hears_says_that_its_language_part_alone_is_counted():
    """The page of gemma-3-27b-it states 27,432,406,640 parameters: 423,060,336 of them see."""
    assert note_on_weights(model="google/gemma-3-27b-it") == (
        "The language part alone is counted. What the checkpoint has beside it to see or hear "
        "(vision_config) is not: add its bytes to everything else, or type the GiB of all weights."
    )
    pasted = {"text_config": MODELS["Qwen/Qwen3-8B"], "audio_config": {"d_model": 1}}
    hears = {"model": OWN, "config": json.dumps(pasted)}
    assert "(audio_config)" in note_on_weights(**hears)
    both = note_on_weights(**hears, dtype="fp8")
    assert both.startswith("The language part alone")
    assert both.endswith("The scales of the matrices are not counted.")
    assert note_on_weights(model="google/gemma-3-1b-it") == ""
    assert note_on_weights(**hears, weights="20") == "As typed."


def test_a_hybrid_shows_which_layers_share_a_tensor():
    dealt = shown(Inputs(model="google/gemma-3-1b-it"))["groups"]
    assert dealt["rows"][0]["layers"] == ["0", "7", "14", "21"]
    assert dealt["rows"][5]["layers"] == ["6", "13", "20", ""]
    assert dealt["rows"][6] == {
        "name": "group 6: full attention",
        "kind": "full",
        "layers": ["5", "11", "17", "23"],
    }
    assert shown(KNOWN_EXAMPLE)["groups"] is None


def test_a_long_block_keeps_its_ends():
    page = shown(Inputs(block_size="64", model="google/gemma-3-27b-it"))["page"]
    assert page["rows"][-3:] == ["13", "…", "63"]
    assert page["columns"] == ["0", "1", "2", "3", "4", "5", "…", "15"]
    assert "128 numbers of 2 B = 256 B" in page["cell"]


def test_an_error_stands_at_its_field_and_the_form_stays():
    page = sizing_page(Inputs(gpu="lots"), TEXT)
    assert page["result"] is None
    assert set(page["errors"]) == {"gpu"}
    assert page["inputs"]["gpu"] == "lots"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gpu", "GPU memory is empty: give GiB such as 80."),
        ("rest", "Everything else is empty: give GiB such as 2."),
        ("util", "gpu_memory_utilization is empty: give a number such as 0.9."),
        ("block_size", "block_size is empty: give a number such as 16."),
        ("batched", "max_num_batched_tokens is empty: give a number such as 8192."),
    ],
)
def test_a_field_that_is_empty_is_named(name, said):
    assert sizing_page(Inputs(**{name: " "}), TEXT)["errors"] == {name: said}


# The page, as Streamlit runs it ------------------------------------------------------------------


def blocks(app):
    return payload(app, "sizing")["result"]["numbers"][1]["value"]


@pytest.fixture
def calculator(app):
    """The page alone; AppTest cannot go to a page that is a function."""
    from streamlit.testing.v1 import AppTest

    def draw():
        from views.pages import sizing

        sizing.render()

    return AppTest.from_function(draw, default_timeout=30)


def test_the_page_opens_with_a_result(calculator):
    calculator.run()
    assert not calculator.exception
    assert not calculator.error
    assert blocks(calculator) == "28,181"


def test_a_link_restores_the_calculation(calculator):
    for name, value in KNOWN_EXAMPLE.address().items():
        calculator.query_params[name] = value
    assert blocks(calculator.run()) == "131,928"
    assert payload(calculator, "sizing")["address"] == KNOWN_EXAMPLE.address()


def test_what_is_typed_is_kept_and_nothing_of_it_breaks_the_page(calculator):
    calculator.run()
    send(calculator, "sized", KNOWN_EXAMPLE._asdict())
    assert blocks(calculator) == "131,928"
    for sent in (None, 7, {"gpu": []}, {"model": OWN, "config": "<script>"}, {"block_size": "0"}):
        send(calculator, "sized", sent)
        assert not calculator.exception
        assert not calculator.error
    assert payload(calculator, "sizing")["errors"].keys() == {"block_size"}
    send(calculator, "sized", KNOWN_EXAMPLE._asdict())
    assert blocks(calculator) == "131,928"


@pytest.mark.parametrize(
    "params", [{"model": "<b>"}, {"gpu": "-1"}, {"step": "3"}, {"kv": "x" * 9999}]
)
def test_a_link_that_says_nonsense_gets_a_sentence(calculator, params):
    for name, value in params.items():
        calculator.query_params[name] = value
    calculator.run()
    assert not calculator.exception
    assert not calculator.error
    assert set(payload(calculator, "sizing")["errors"]) == set(params) - {"step"}
