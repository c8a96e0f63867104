"""The input cases of data/cases.json that are about settings alone (B36): refused or taken."""

import json
from pathlib import Path
from typing import Any

import pytest

from engine.config import MIN_TEMPERATURE, EngineConfig, GroupConfig, SamplingParams, SpecConfig
from engine.errors import ConfigError

CASES = json.loads((Path(__file__).parent / "data" / "cases.json").read_text(encoding="utf-8"))
FULL, FULL_8 = GroupConfig(type="full"), GroupConfig(type="full", block_size=8)
SLIDING = GroupConfig(type="sliding", window=5)
SLIDING_8 = GroupConfig(type="sliding", window=5, block_size=8)
CHUNKED = GroupConfig(type="chunked_local", chunk=8)
CHUNKED_8 = GroupConfig(type="chunked_local", chunk=8, block_size=8)
EAGLE = SpecConfig(method="eagle", num_speculative_tokens=1)
NGRAM = SpecConfig(method="ngram", num_speculative_tokens=1)
SAMPLING = {case["id"]: case for case in CASES["inputs"] if case["area"] == "sampling"}
REFUSED = [id_ for id_, case in SAMPLING.items() if case["right"].startswith("refused")]
TAKEN = ["temperature_zero", "temperature_tiny", "temperature_huge", "max_tokens_huge"]
REFUSED_BY_CHOICE = ["seed_negative"]  # the case allows either; vLLM 0.17.1 knows no such seed


def given(case_id: str) -> dict[str, Any]:
    """The options of a case; JSON has no NaN, so the file spells it as a text."""
    options = SAMPLING[case_id]["given"]
    return {
        name: float(value) if value in ("NaN", "Infinity") else value
        for name, value in options.items()
    }


def test_every_sampling_case_is_a_test_here() -> None:
    assert set(SAMPLING) == {*REFUSED, *TAKEN, *REFUSED_BY_CHOICE}


@pytest.mark.parametrize("case_id", [*REFUSED, *REFUSED_BY_CHOICE])
def test_a_wrong_option_is_refused_in_a_sentence_that_names_it(case_id: str) -> None:
    options = given(case_id)
    with pytest.raises(ConfigError) as refusal:
        SamplingParams(**options)
    (name, value), *_ = options.items()
    assert f"{name}={value!r}" in str(refusal.value)


def test_a_temperature_of_0_is_greedy() -> None:
    assert SamplingParams(**given("temperature_zero")).temperature == 0


def test_a_tiny_temperature_is_raised_to_what_vllm_uses() -> None:
    assert SamplingParams(**given("temperature_tiny")).temperature == MIN_TEMPERATURE == 0.01


def test_a_huge_temperature_and_a_huge_max_tokens_are_taken_as_they_are() -> None:
    assert SamplingParams(**given("temperature_huge")).temperature == 100
    assert SamplingParams(**given("max_tokens_huge")).max_tokens == 10**12


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"block_size": 0}, "block_size=0"),
        ({"block_size": 10**30}, "from 1 to 2,147,483,647"),
        ({"max_num_batched_tokens": 10**320}, "a number of over 40 digits"),
        ({"long_prefill_token_threshold": 10**5000}, "a number of over 40 digits"),
        ({"block_size": 4.0}, "block_size=4.0"),
        ({"block_size": True}, "block_size=True"),
        ({"num_blocks": 1}, "num_blocks=1"),
        ({"max_num_batched_tokens": 0}, "max_num_batched_tokens=0"),
        ({"max_num_batched_tokens": 4, "max_num_seqs": 8}, "below max_num_seqs=8"),
        ({"enable_chunked_prefill": False}, "max_model_len=256"),
        ({"enable_prefix_caching": 1}, "enable_prefix_caching=1"),
        ({"policy": "lifo"}, "fcfs, priority"),
        ({"hash_algo": "md5"}, "sha256, sha256_cbor, xxhash, xxhash_cbor"),
        ({"kv_groups": ()}, "kv_groups is empty"),
        ({"kv_groups": (FULL_8,)}, "block_size=8 of the only group differs from block_size=4"),
        ({"kv_groups": (FULL, FULL)}, "the 2 groups of kv_groups are all alike"),
        ({"kv_groups": (FULL_8, CHUNKED)}, "needs kv_groups.block_size=8 there"),
        ({"kv_groups": (FULL, CHUNKED), "spec": EAGLE}, "chunked_local group with spec.met"),
        ({"kv_groups": (CHUNKED,), "spec": EAGLE}, "choose another method, or turn caching off"),
    ],
)
def test_a_wrong_setting_is_refused_in_a_sentence_that_names_it(
    options: dict[str, Any], says: str
) -> None:
    with pytest.raises(ConfigError, match=says):
        EngineConfig(**options)


@pytest.mark.parametrize(
    "options",
    [
        {"kv_groups": (FULL_8,), "enable_prefix_caching": False},
        {"kv_groups": (FULL, FULL), "enable_prefix_caching": False},
        {"kv_groups": (FULL, CHUNKED_8)},
        {"kv_groups": (FULL_8, CHUNKED_8)},
        {"kv_groups": (FULL, CHUNKED), "spec": NGRAM},
        {"kv_groups": (FULL_8, SLIDING), "spec": EAGLE},
        {"kv_groups": (FULL_8, SLIDING), "spec": NGRAM},
        {"kv_groups": (FULL, SLIDING_8), "spec": EAGLE},
        {"kv_groups": (SLIDING,), "spec": EAGLE},
        {"kv_groups": (FULL_8, SLIDING), "spec": EAGLE, "enable_prefix_caching": False},
    ],
)
def test_groups_that_vllm_takes_together_are_taken(options: dict[str, Any]) -> None:
    assert EngineConfig(**options).groups


def test_an_unknown_setting_is_an_error() -> None:
    with pytest.raises(ConfigError, match="block_sise"):
        EngineConfig.from_mapping({"block_sise": 4})


def test_one_usable_block_is_a_legal_pool() -> None:
    assert EngineConfig(num_blocks=2).num_blocks == 2
