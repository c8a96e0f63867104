"""Saved runs take no more room than they are given: one alone, and all of them together."""

import os
import time

import pytest

from engine.sources.saved import DAY_S, About, SavedRuns, Space
from engine.trace.events import CacheReset
from tests.test_saved_runs import about, keep, lone, names, never, size_of
from tests.trace.stories import LONE, build_trace


@pytest.fixture
def runs(tmp_path):
    return SavedRuns(tmp_path / "runs")


def test_a_run_that_has_taken_its_share_is_saved_no_further_and_says_since_when(tmp_path):
    trace = build_trace(LONE[:12])
    first = size_of(trace)
    runs = SavedRuns(tmp_path, Space(run_bytes=first + 10))
    recording = keep(runs, trace)
    assert recording.stopped is None
    trace.extend(LONE[12:])
    recording.keep(about)
    assert recording.stopped is not None
    assert (recording.stopped.kind, recording.stopped.num_steps) == ("full", 1)
    size = runs.path(recording.run_id).stat().st_size
    trace.append(CacheReset(3, ok=True))
    recording.keep(never)
    assert runs.path(recording.run_id).stat().st_size == size
    assert runs.open(recording.run_id).trace.events_from(0) == LONE[:12]
    assert runs.open(recording.run_id).problem is None


def test_the_record_counts_as_well(tmp_path):
    runs = SavedRuns(tmp_path, Space(run_bytes=5_000))
    recording = runs.record(lone())
    recording.keep(lambda: About(typed={"A": {"text": "x" * 5_000}}))
    assert recording.stopped is not None
    assert not recording.is_begun
    assert not list(tmp_path.iterdir())


def test_a_disk_that_refuses_stops_the_recording_and_not_the_run(tmp_path):
    (tmp_path / "file").write_text("in the way")
    recording = keep(SavedRuns(tmp_path / "file" / "runs"))
    assert recording.stopped is not None
    assert recording.stopped.kind == "disk"
    assert recording.stopped.num_steps == 0
    assert recording.stopped.reason == "a file is where a folder should be (ENOTDIR, errno 20)"


def test_a_file_that_was_taken_away_is_not_begun_again_in_its_middle(runs):
    trace = build_trace(LONE[:12])
    recording = keep(runs, trace)
    runs.path(recording.run_id).unlink()
    trace.extend(LONE[12:])
    recording.keep(about)
    assert recording.stopped is not None
    assert recording.stopped.reason == "it is not there (ENOENT, errno 2)"
    assert not runs.path(recording.run_id).exists()


def make_old(runs, run_id, days):
    then = time.time() - days * DAY_S
    for path in runs.folder.glob(f"{run_id}*"):
        os.utime(path, (then, then))


def test_old_runs_are_swept_and_those_in_use_never(runs):
    recordings = [keep(runs) for _ in range(4)]
    ids = [recording.run_id for recording in recordings]
    for run_id, days in zip(ids, (31, 31, 31, 29), strict=True):
        make_old(runs, run_id, days)
    looked_at = runs.open(ids[1])
    del recordings[1:]
    assert set(runs.sweep()) == {ids[2]}
    assert names(runs) == sorted(
        f"{i}{end}" for i in (ids[0], ids[1], ids[3]) for end in (".about.json", ".jsonl")
    )
    assert looked_at.run_id == ids[1]
    del looked_at, recordings[:]
    assert set(runs.sweep()) == {ids[0], ids[1]}


def test_where_there_are_too_many_bytes_the_oldest_go_first(tmp_path):
    size = size_of(lone())
    runs = SavedRuns(tmp_path, Space(total_bytes=3 * size))
    ids = []
    for age in (5, 3, 4):
        ids.append(keep(runs).run_id)
        make_old(runs, ids[-1], age)
    assert runs.sweep() == []
    kept = keep(runs)
    assert runs.sweep() == [ids[0]]
    del kept
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) == 3 * size


def test_the_sweep_comes_by_itself_as_runs_are_written(tmp_path, monkeypatch):
    size = size_of(lone())
    runs = SavedRuns(tmp_path, Space(total_bytes=5 * size))
    now = 0.0
    monkeypatch.setattr("engine.sources.saved.time.monotonic", lambda: now)
    for _ in range(40):
        now += 6
        keep(runs)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 6 * size


def test_files_that_are_none_of_ours_are_never_touched(tmp_path):
    runs = SavedRuns(tmp_path, Space(total_bytes=1))
    keep(runs)
    for name in ("README", "a.jsonl", "a" * 22, "a" * 22 + ".jsonl.gz", "é" * 22 + ".jsonl"):
        (tmp_path / name).write_text("mine")
        make_old(runs, name, 99)
    (tmp_path / "folder").mkdir()
    assert len(runs.sweep()) == 1
    assert len(list(tmp_path.iterdir())) == 6


def test_what_a_crash_left_half_written_is_swept(runs):
    recording = keep(runs)
    (runs.folder / f"{recording.run_id}.about.json.part").write_text("half")
    make_old(runs, recording.run_id, 31)
    run_id = recording.run_id
    del recording
    assert runs.sweep() == [run_id]
    assert names(runs) == []


def test_writing_a_step_takes_less_than_a_millisecond(runs):
    """Of a long run: what was written before costs nothing any more."""
    trace = build_trace(LONE)
    recording = keep(runs, trace)
    steps = []
    for step in range(3, 300):
        trace.append(CacheReset(step, ok=False))
        began = time.perf_counter()
        recording.keep(about)
        steps.append(time.perf_counter() - began)
    assert sorted(steps)[len(steps) // 2] < 0.001
