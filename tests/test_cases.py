"""The scenarios of data/cases.json: faults that other engines had, and what vLLM 0.17.1 does.

Each runs on the scripted engine; `expectations.py` reads what the case expects of the record.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from engine.conformance import recorded_run
from engine.workload import parse_workload
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
