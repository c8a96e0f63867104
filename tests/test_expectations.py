"""The checks of expectations.py accept vLLM's own recorded runs and refuse a wrong claim."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.expectations import CHECKS, Run, check_snapshot

TRACES = Path(__file__).parent / "data" / "golden" / "traces"


def recorded(name: str) -> Run:
    with gzip.open(TRACES / f"{name}.jsonl.gz", "rt") as lines:
        header, *steps = (json.loads(line) for line in lines)
    return Run(steps, header["config"]["num_blocks"])


# Of vLLM's documentation example: (check, what it says, a claim that is false)
DOC_EXAMPLE: list[tuple[str, Any, Any]] = [
    ("first_cached", {"request0": 0, "request1": 8}, {"request1": 4}),
    ("scheduled", {"0": {"request0": 15}}, {"0": {"request0": 14}}),
    ("computed_before", {"1": {"request0": 15}}, {"1": {"request0": 16}}),
    ("starts", {"request0": 0, "request1": 3}, {"request1": 4}),
    ("never_starts", ["request9"], ["request0"]),
    ("finish", {"request0": {"step": 4, "reason": "length"}}, {"request0": {"step": 3}}),
    ("never_finishes", ["request9"], ["request0"]),
    (
        "tables",
        [{"step": 0, "id": "request0", "blocks": [1, 2, 3, 4]}],
        [{"step": 0, "id": "request0", "blocks": [1, 2, 4, 3]}],
    ),
    (
        "free_queue",
        [{"step": 0, "ids": [5, 6, 7, 8, 9, 10]}],
        [{"step": 0, "ids": [10, 9, 8, 7, 6, 5]}],
    ),
    ("free_len", [{"step": 0, "len": 6}], [{"step": 0, "len": 7}]),
    (
        "refs",
        [{"step": 0, "refs": {"1": 1, "10": 0}}],
        [{"step": 0, "refs": {"1": 2}}],
    ),
    ("hashed", [{"step": 0, "ids": [1, 2, 3]}], [{"step": 0, "ids": [1, 2, 3, 4]}]),
    (
        "same_hash",
        [{"step": 0, "groups": [[1, 1]]}],
        [{"step": 0, "groups": [[1, 2]]}],
    ),
    ("distinct_hashes", [{"step": 0, "ids": [1, 2, 3]}], [{"step": 0, "ids": [1, 1]}]),
    ("waiting", [{"step": 0, "ids": []}], [{"step": 0, "ids": ["request0"]}]),
    ("running", [{"step": 0, "ids": ["request0"]}], [{"step": 0, "ids": []}]),
    ("usage", [{"step": 0, "value": 0.4}], [{"step": 0, "value": 0.5}]),
    ("common_prefix", {"0": [4], "3": [2]}, {"0": [3]}),
    ("preempted", [], [[1, "request0"]]),
    ("outputs", {"0": {"request0": [101]}}, {"0": {}}),
    ("totals", {"requests": 3, "hits": 20}, {"requests": 2}),
    (
        "events",
        {
            "1": [
                {
                    "type": "BlockStored",
                    "n": 1,
                    "parent": [0, 0, 2],
                    "token_ids": [13, 14, 15, 101],
                }
            ]
        },
        {"1": []},
    ),
    ("event_counts", {"AllBlocksCleared": 0}, {"BlockStored": 0}),
    ("all_free_at_end", True, False),
]


@pytest.mark.parametrize(
    ("name", "true", "false"), DOC_EXAMPLE, ids=[row[0] for row in DOC_EXAMPLE]
)
def test_a_check_accepts_what_happened_and_refuses_what_did_not(
    name: str, true: Any, false: Any
) -> None:
    run = recorded("doc_example")
    CHECKS[name](run, true)
    with pytest.raises(AssertionError):
        CHECKS[name](run, false)


def test_idle_runs_and_aborts_are_seen() -> None:
    CHECKS["ops"](recorded("abort_mix"), [{"step": 30, "op": "abort", "ok": False}])
    with pytest.raises(AssertionError):
        CHECKS["ops"](recorded("abort_mix"), [{"step": 30, "op": "abort", "ok": True}])
    with pytest.raises(AssertionError):
        CHECKS["idle_from"](recorded("doc_example"), 0)


def test_no_check_is_left_untried() -> None:
    assert set(CHECKS) == {name for name, _, _ in DOC_EXAMPLE} | {"ops", "idle_from"}


@pytest.mark.parametrize("name", ["doc_example", "abort_mix", "hybrid_two_windows", "preempt_self"])
def test_the_snapshots_of_vllm_itself_keep_the_invariants(name: str) -> None:
    run = recorded(name)
    for record in run.steps.values():
        check_snapshot(record["after_schedule"], run.num_blocks)
        check_snapshot(record["after_update"], run.num_blocks)
