"""What `expect` in data/cases.json says about a recorded run, checked on its step records.

A run is a list of step records in the format of the recorded runs of vLLM (data/golden/traces).
Tables, queues, reference counts and hashes are read after scheduling unless an entry names the
phase `after_update`.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

Record = dict[str, Any]


class Run:
    """The step records of one run, with the few questions that several checks ask."""

    def __init__(self, steps: Sequence[Record], num_blocks: int) -> None:
        self.steps = {record["step"]: record for record in steps}
        self.num_blocks = num_blocks

    def snapshot(self, entry: Record) -> Record:
        """The picture that an entry with `step` and perhaps `phase` is about."""
        snapshot: Record = self.steps[entry["step"]][entry.get("phase", "after_schedule")]
        return snapshot

    def first_rows(self) -> dict[str, tuple[int, Record]]:
        """For each request that ever ran: the step that scheduled it first, and its row there."""
        first: dict[str, tuple[int, Record]] = {}
        for number, record in self.steps.items():
            for row in record["scheduled"]:
                first.setdefault(row["id"], (number, row))
        return first

    def finishes(self) -> dict[str, tuple[int, str]]:
        return {
            output["id"]: (number, output["finish_reason"])
            for number, record in self.steps.items()
            for output in record["outputs"]
            if output["finish_reason"] is not None
        }

    def events(self) -> list[Record]:
        return [event for record in self.steps.values() for event in record["events"]]


def hashes(snapshot: Record) -> dict[int, str]:
    """Block id -> hash with group suffix, of the blocks that have one."""
    return {id_: hash_ for id_, _, hash_ in snapshot["blocks"] if hash_ is not None}


def check_first_cached(run: Run, expected: dict[str, int]) -> None:
    first = run.first_rows()
    assert {id_: first[id_][1]["num_computed_tokens"] for id_ in expected} == expected


def check_scheduled(run: Run, expected: dict[str, dict[str, int]]) -> None:
    for step, rows in expected.items():
        scheduled = run.steps[int(step)]["scheduled"]
        assert {row["id"]: row["num_scheduled_tokens"] for row in scheduled} == rows, step


def check_computed_before(run: Run, expected: dict[str, dict[str, int]]) -> None:
    for step, rows in expected.items():
        scheduled = run.steps[int(step)]["scheduled"]
        assert {row["id"]: row["num_computed_tokens"] for row in scheduled} == rows, step


def check_starts(run: Run, expected: dict[str, int]) -> None:
    first = run.first_rows()
    assert {id_: first[id_][0] for id_ in expected} == expected


def check_never_starts(run: Run, expected: list[str]) -> None:
    assert not set(expected) & set(run.first_rows())


def check_finish(run: Run, expected: dict[str, Record]) -> None:
    finishes = run.finishes()
    for id_, entry in expected.items():
        step, reason = finishes[id_]
        assert step == entry["step"], id_
        assert reason == entry.get("reason", reason), id_


def check_never_finishes(run: Run, expected: list[str]) -> None:
    assert not set(expected) & set(run.finishes())


def check_tables(run: Run, expected: list[Record]) -> None:
    for entry in expected:
        request = run.snapshot(entry)["requests"][entry["id"]]
        assert request["blocks"] == [entry["blocks"]], entry


def check_free_queue(run: Run, expected: list[Record]) -> None:
    for entry in expected:
        assert run.snapshot(entry)["free_queue"]["ids"] == entry["ids"], entry


def check_free_len(run: Run, expected: list[Record]) -> None:
    for entry in expected:
        assert run.snapshot(entry)["free_queue"]["len"] == entry["len"], entry


def check_refs(run: Run, expected: list[Record]) -> None:
    for entry in expected:
        counts = {id_: ref_cnt for id_, ref_cnt, _ in run.snapshot(entry)["blocks"]}
        assert {id_: counts.get(int(id_), 0) for id_ in entry["refs"]} == entry["refs"], entry


def check_hashed(run: Run, expected: list[Record]) -> None:
    for entry in expected:
        assert sorted(hashes(run.snapshot(entry))) == entry["ids"], entry


def check_same_hash(run: Run, expected: list[Record]) -> None:
    for entry in expected:
        by_id = hashes(run.snapshot(entry))
        for group in entry["groups"]:
            assert len({by_id[id_] for id_ in group}) == 1, entry


def check_distinct_hashes(run: Run, expected: list[Record]) -> None:
    for entry in expected:
        by_id = hashes(run.snapshot(entry))
        assert len({by_id[id_] for id_ in entry["ids"]}) == len(entry["ids"]), entry


def check_waiting(run: Run, expected: list[Record]) -> None:
    for entry in expected:
        assert run.snapshot(entry)["waiting"] == entry["ids"], entry


def check_running(run: Run, expected: list[Record]) -> None:
    for entry in expected:
        assert run.snapshot(entry)["running"] == entry["ids"], entry


def check_usage(run: Run, expected: list[Record]) -> None:
    for entry in expected:
        assert run.snapshot(entry)["usage"] == entry["value"], entry


def check_common_prefix(run: Run, expected: dict[str, list[int]]) -> None:
    for step, counts in expected.items():
        assert run.steps[int(step)]["num_common_prefix_blocks"] == counts, step


def check_preempted(run: Run, expected: list[list[Any]]) -> None:
    found = [[step, id_] for step, record in run.steps.items() for id_ in record["preempted"]]
    assert found == expected


def check_outputs(run: Run, expected: dict[str, dict[str, list[int]]]) -> None:
    for step, rows in expected.items():
        outputs = run.steps[int(step)]["outputs"]
        assert {output["id"]: output["tokens"] for output in outputs} == rows, step


def check_idle_from(run: Run, expected: int) -> None:
    assert expected in run.steps
    assert not any(run.steps[step]["scheduled"] for step in run.steps if step >= expected)


def check_ops(run: Run, expected: list[Record]) -> None:
    for entry in expected:
        record = run.steps[entry["step"]]
        found = [(op["op"], op.get("ok")) for op in record["ops"] + record["mid_ops"]]
        assert (entry["op"], entry["ok"]) in found, entry


def check_totals(run: Run, expected: dict[str, int]) -> None:
    totals = {
        name: sum(record["prefix_cache_stats"][name] for record in run.steps.values())
        for name in expected
    }
    assert totals == expected


def check_events(run: Run, expected: dict[str, list[Record]]) -> None:
    """`parent` is null or [step, event, block]: the hash that this earlier event announced."""
    for step, entries in expected.items():
        events = run.steps[int(step)]["events"]
        assert len(events) == len(entries), step
        for event, entry in zip(events, entries, strict=True):
            parent = entry["parent"]
            if parent is not None:
                parent_step, event_index, block_index = parent
                announced = run.steps[parent_step]["events"][event_index]
                parent = announced["block_hashes"][block_index]
            assert event["type"] == entry["type"], step
            assert len(event["block_hashes"]) == entry["n"], step
            assert event["parent_block_hash"] == parent, step
            assert event["token_ids"] == entry["token_ids"], step


def check_event_counts(run: Run, expected: dict[str, int]) -> None:
    counts = Counter(event["type"] for event in run.events())
    assert {name: counts[name] for name in expected} == expected


def check_all_free_at_end(run: Run, expected: bool) -> None:
    last = run.steps[max(run.steps)]["after_update"]
    assert (last["num_free_blocks"] == run.num_blocks - 1) is expected


CHECKS: dict[str, Callable[[Run, Any], None]] = {
    name.removeprefix("check_"): function
    for name, function in list(globals().items())
    if name.startswith("check_")
}


def check_snapshot(snapshot: Record, num_blocks: int) -> None:
    """What holds in every snapshot of a pool whose free ids are all listed."""
    free_ids = snapshot["free_queue"]["ids"]
    holders = Counter(
        block_id
        for request in snapshot["requests"].values()
        for table in request["blocks"]
        for block_id in table
        if block_id != 0
    )
    ref_counts = {id_: ref_cnt for id_, ref_cnt, _ in snapshot["blocks"] if ref_cnt}
    assert ref_counts == dict(holders)
    assert len(set(free_ids)) == len(free_ids) == snapshot["num_free_blocks"]
    assert not {0, *ref_counts} & set(free_ids)
    assert len(free_ids) + len(ref_counts) == num_blocks - 1
    assert snapshot["usage"] == 1.0 - len(free_ids) / (num_blocks - 1)
