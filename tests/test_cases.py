"""The scenarios of data/cases.json: faults that other engines had, and what vLLM 0.17.1 does.

Each runs on the scripted engine; `expectations.py` reads what the case expects of the record.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from engine.config import EngineConfig, SamplingParams
from engine.engine import Engine
from engine.recorded_run import recorded_run
from engine.runner.model_loader import LoadedModel
from engine.runner.tokenizer import Tokenizer
from engine.workload import ScriptedRunner, Workload, parse_workload
from tests.expectations import CHECKS, Run, check_snapshot

CASES = json.loads((Path(__file__).parent / "data" / "cases.json").read_text(encoding="utf-8"))
WORKLOAD_FIELDS = ("name", "about", "config", "requests", "ops", "max_steps")


@pytest.mark.parametrize("case", CASES["scenarios"], ids=lambda case: case["name"])
def test_the_engine_does_what_vllm_does_in(case: dict[str, Any]) -> None:
    workload = parse_workload({name: case[name] for name in WORKLOAD_FIELDS})
    _, *steps = recorded_run(workload)
    run = Run(steps, workload.config.num_blocks)
    for record in steps:
        check_snapshot(record["after_schedule"], run.num_blocks)
        check_snapshot(record["after_update"], run.num_blocks)
    for name, expected in case["expect"].items():
        CHECKS[name](run, expected)


def test_every_report_that_names_a_workload_has_its_scenario() -> None:
    named = {name for report in CASES["reports"] for name in report["workloads"]}
    assert named == {case["name"] for case in CASES["scenarios"]}


PROMPT_HITS = {"prompt_twice": 16, "prompt_first_token_differs": 0}


@pytest.fixture(scope="module")
def tokenizer(bfloat16: LoadedModel) -> Tokenizer:
    return bfloat16.tokenizer


@pytest.mark.model
@pytest.mark.parametrize("case_id", PROMPT_HITS)
def test_the_second_of_two_typed_prompts_hits(case_id: str, tokenizer: Tokenizer) -> None:
    case = next(case for case in CASES["inputs"] if case["id"] == case_id)
    prompts = [tokenizer.encode(text, case["given"]["mode"])[0] for text in case["given"]["texts"]]
    assert [len(prompt) for prompt in prompts] == [17, 17]
    requests = [
        {"id": f"r{number}", "arrival_step": number, "prompt": prompt, "output": [7, 8]}
        for number, prompt in enumerate(prompts)
    ]
    config = {"block_size": case["given"].get("block_size", 4)}
    workload = parse_workload({"name": case_id, "config": config, "requests": requests})
    _, *steps = recorded_run(workload)
    CHECKS["first_cached"](Run(steps, workload.config.num_blocks), {"r1": PROMPT_HITS[case_id]})


def test_a_huge_max_tokens_ends_at_max_model_len_with_nothing_reserved_for_it() -> None:
    """Case max_tokens_huge, on an engine whose runner always says 7."""
    config = EngineConfig(max_model_len=24, num_blocks=8)
    workload = Workload(name="sevens", config=config, requests=())
    runner = ScriptedRunner(workload)
    runner.scripts["a"] = (7,) * 24
    engine = Engine(config, runner)
    engine.add_request("a", [1, 2, 3], sampling=SamplingParams(max_tokens=10**12))
    outputs = [output for _ in range(24) for output in engine.step()]
    assert sum(len(output.token_ids) for output in outputs) == 21
    assert outputs[-1].finish_reason == "length"
    assert not engine.has_unfinished_requests


@pytest.mark.model
@pytest.mark.parametrize("block_size", [1, 16])
def test_a_prompt_of_one_letter_runs_and_never_hits(block_size: int, tokenizer: Tokenizer) -> None:
    """Case prompt_one_letter: its only token is left to compute, whoever sent it before."""
    case = next(case for case in CASES["inputs"] if case["id"] == "prompt_one_letter")
    prompt = tokenizer.encode(case["given"]["text"], case["given"]["mode"])[0]
    assert list(prompt) == [81]
    requests = [
        {"id": f"r{number}", "arrival_step": 2 * number, "prompt": list(prompt), "output": [7, 8]}
        for number in range(3)
    ]
    config = {"block_size": block_size}
    workload = parse_workload({"name": "letters", "config": config, "requests": requests})
    _, *steps = recorded_run(workload)
    hits = {"r0": 0, "r1": 0, "r2": 0}
    CHECKS["first_cached"](Run(steps, workload.config.num_blocks), hits)
