"""vLLM's own scheduler on random workloads, kept as digests: each is a whole run, field by field.

Where one differs, `make test-vllm VLLM_PYTHON=... FUZZ_ARGS="--first SEED --runs 1"` says in which field.
Written by `python -m tests.against_vllm VLLM_PYTHON --runs 300 --digests tests/data/random_runs.json`,
and for a few later seeds, whose pools are larger than what is listed of a free queue.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.recorded_run import recorded_run, write_run
from engine.workload import parse_workload
from tests.against_vllm.__main__ import compare, main
from tests.against_vllm.digest import digest_of
from tests.against_vllm.random_workloads import random_workload

DIGESTS: dict[str, str] = json.loads(
    (Path(__file__).parents[1] / "data/random_runs.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("seed", DIGESTS)
def test_a_random_run_is_vllms_in_every_field(seed: str) -> None:
    lines = recorded_run(parse_workload(random_workload(int(seed))))
    assert digest_of(lines) == DIGESTS[seed]


def test_a_digest_holds_every_field_and_the_order_of_requests() -> None:
    lines = list(recorded_run(parse_workload(random_workload(1))))
    whole = digest_of(lines)
    assert digest_of(lines[:-1]) != whole
    step = next(line for line in lines[1:] if len(line["after_update"]["requests"]) > 1)
    kept = step["after_update"]["requests"]
    step["after_update"]["requests"] = dict(reversed(kept.items()))
    assert digest_of(lines) != whole
    step["after_update"]["requests"] = kept
    assert digest_of(lines) == whole
    step["usage_of_a_later_version"] = 0
    assert digest_of(lines) != whole


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda lines: lines, None),
        (lambda lines: lines[:-1], "we go on, they end after"),
        (lambda lines: [*lines[:3], lines[3] | {"preempted": ["r9"]}, *lines[4:]], "step 2: preem"),
        (
            lambda lines: [*lines[:3], {"raised": "AssertionError()"}],
            "vLLM raised AssertionError()",
        ),
    ],
)
def test_what_differs_from_a_record_is_said(
    tmp_path: Path, change: Callable[[list[Any]], list[Any]], problem: str | None
) -> None:
    workload = random_workload(1)
    write_run(change(list(recorded_run(parse_workload(workload)))), tmp_path / "random_1.jsonl.gz")
    said = compare(1, workload, tmp_path / "random_1.jsonl.gz").problem
    assert said is None if problem is None else problem in str(said)


def test_a_workload_that_vllm_ran_may_not_be_refused(tmp_path: Path) -> None:
    workload = random_workload(1)
    write_run(recorded_run(parse_workload(workload)), tmp_path / "random_1.jsonl.gz")
    workload["config"]["policy"] = "lifo"
    said = compare(1, workload, tmp_path / "random_1.jsonl.gz").problem
    assert str(said).startswith("refused here, and vLLM ran it: ")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            None,
            "cannot be run: No such file or directory; name an interpreter that has vLLM 0.17.1",
        ),
        ("echo 0.18.0", "has vLLM 0.18.0; name an interpreter"),
        ("echo \"No module named 'vllm'\" >&2; exit 1", "says: No module named 'vllm'; name an"),
        ("exit 1", "says: nothing; name an interpreter"),
        ('case "$1" in -c) echo 0.17.1+cpu;; esac', "vLLM's side ended before random_0"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="a script of the shell stands in for Python")
def test_an_interpreter_without_this_vllm_gets_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None, said: str
) -> None:
    python, kept = tmp_path / "python", tmp_path / "kept"
    if content is not None:
        python.write_text(f"#!/bin/sh\n{content}\n", encoding="utf-8")
        python.chmod(0o755)
    assert main([str(python), "--runs", "1", "--keep", str(kept)]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1
