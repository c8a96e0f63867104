"""The trace replayed equals the engine's own snapshot, for every recorded workload."""

import random
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from engine.trace.codec import encode_trace, read_trace
from engine.trace.header import TraceHeader
from engine.trace.invariants import check, violations
from engine.trace.state import Cursor, State
from engine.trace.trace import Trace
from engine.workload import ScriptedRun, read_workload
from tests.trace.stories import fold

WORKLOADS = sorted((Path(__file__).parents[1] / "data/golden/workloads").glob("*.json"))
ALL_WORKLOADS = pytest.mark.parametrize("path", WORKLOADS, ids=lambda path: path.stem)


class Recorded(NamedTuple):
    """A run, and the engine's own picture after each schedule() and each update()."""

    trace: Trace
    snapshots: dict[Cursor, dict[str, Any]]


@lru_cache(maxsize=4)
def recorded(path: Path) -> Recorded:
    workload = read_workload(path)
    trace = Trace(TraceHeader(config=workload.config.to_mapping()))
    run = ScriptedRun(workload, emit=trace.emit)
    snapshots = {}
    while not run.is_over:
        step = run.engine.step_index
        run.before()
        run.engine.schedule()
        snapshots[trace.after_schedule(step)] = run.engine.snapshot()
        run.engine.run()
        run.middle()
        run.after()
        snapshots[trace.after_update(step)] = run.engine.snapshot()
    return Recorded(trace, snapshots)


def some_cursors(trace: Trace, count: int) -> list[Cursor]:
    rng = random.Random(trace.num_events)
    return [trace.cursor_at(rng.randrange(trace.num_positions)) for _ in range(count)]


def whole(state: State) -> dict[str, Any]:
    """Everything that a State knows; entries as values, whoever owns them."""

    def values(entry: Any) -> dict[str, Any]:
        names = set(entry.__struct_fields__) - {"owner", "token_log", "sample_log", "hash_log"}
        return {name: getattr(entry, name) for name in names}

    facts = {**vars(state), "owner": None, "num_left_freed": None}
    facts["blocks"] = {id_: values(block) for id_, block in state.blocks.items()}
    facts["requests"] = {
        id_: [values(request), request.samples, request.token_ids, request.block_hashes]
        for id_, request in state.requests.items()
    }
    return facts


def test_there_are_recorded_workloads() -> None:
    assert len(WORKLOADS) == 59


@ALL_WORKLOADS
def test_the_folded_picture_is_the_engines_after_schedule_and_after_update(path: Path) -> None:
    trace, snapshots = recorded(path)
    assert len(snapshots) == 2 * trace.num_steps > 0
    for cursor, snapshot in snapshots.items():
        assert trace.at(cursor).snapshot() == snapshot, cursor


@ALL_WORKLOADS
def test_every_sub_step_keeps_the_invariants(path: Path) -> None:
    trace = recorded(path).trace
    positions = range(trace.num_positions)
    for position in positions if len(positions) < 1_000 else positions[::7]:
        check(trace.at(trace.cursor_at(position)))


@ALL_WORKLOADS
def test_written_and_read_it_is_the_same_run(path: Path) -> None:
    trace = recorded(path).trace
    loaded = read_trace(encode_trace(trace, compress=True))
    assert loaded.problem is None
    assert loaded.trace is not None
    assert loaded.trace.events_from(0) == trace.events_from(0)
    assert loaded.trace.header == trace.header
    assert whole(loaded.trace.at(loaded.trace.last)) == whole(trace.at(trace.last))


@ALL_WORKLOADS
def test_a_jump_shows_what_folding_from_the_start_shows(path: Path) -> None:
    trace = recorded(path).trace
    for cursor in some_cursors(trace, 12):
        jumped = whole(trace.at(cursor))
        assert jumped == whole(fold(trace.events_before(cursor), State(trace.header.config)))


@ALL_WORKLOADS
def test_keyframes_change_no_picture(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.trace.trace.MIN_KEYFRAME_DISTANCE", 7)
    monkeypatch.setattr("engine.trace.trace.MAX_KEYFRAME_DISTANCE", 7)
    original, snapshots = recorded(path)
    trace = Trace(original.header)
    trace.extend(original.events_from(0))
    trace.at(trace.last)
    cursors = list(snapshots)
    random.Random(7).shuffle(cursors)
    for cursor in cursors[:60]:
        assert trace.at(cursor).snapshot() == snapshots[cursor]


def test_the_defect_of_the_priority_policy_is_seen() -> None:
    """SEMANTICS 13: a block stays in the cache although nobody ever computes it."""
    path = next(path for path in WORKLOADS if path.stem == "priority_stale_blocks")
    trace = recorded(path).trace
    state = trace.at(trace.after_schedule(9))
    stale = [id_ for id_ in state.snapshot()["invalid_blocks"] if state.blocks[id_].ref_cnt]
    assert 15 in stale
    state.config["recompute_invalid_hits"] = True
    state.is_written = True
    assert any("reads block 15" in sentence for sentence in violations(state))
