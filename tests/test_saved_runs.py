"""Runs as files: written as they grow, found by their id alone, and swept when there are too many."""

import os
import subprocess
import sys

import msgspec
import pytest

from engine.config import EngineConfig
from engine.sources import recording as on_disk
from engine.sources.resume import Rest
from engine.sources.saved import ID, About, RunNotFoundError, SavedRuns
from engine.trace.codec import encode_header, encode_lines, encode_trace, read_trace
from engine.trace.events import CacheReset, RequestAdded, StepEnded
from engine.trace.seal import seal
from engine.trace.trace import Trace
from engine.workload import ScriptedRun, read_workload
from tests.source_tree import ROOT
from tests.trace.stories import LONE, build_header, build_trace
from tests.views.runs import WORKLOADS

ABOUT = About(example="own", typed={"A": {"text": "Hello", "mode": "raw", "seed": "007"}})


@pytest.fixture
def runs(tmp_path):
    return SavedRuns(tmp_path / "runs")


def about():
    return ABOUT


def never():
    raise AssertionError("the record is asked for only when it may have changed")


def lone():
    return build_trace(LONE)


def keep(runs, trace=None):
    recording = runs.record(lone() if trace is None else trace)
    recording.keep(about)
    return recording


def size_of(trace):
    """Of both files of a run, in bytes."""
    return len(growing(trace)) + len(seal([msgspec.json.encode(ABOUT)], 1))


def growing(trace):
    return encode_header(trace.header) + encode_lines(trace.events_from(0), 0)


def names(runs):
    return sorted(path.name for path in runs.folder.iterdir())


# Writing -----------------------------------------------------------------------------------------


def test_a_run_is_written_as_it_grows_and_every_time_it_can_be_opened(runs):
    trace = build_trace([])
    recording = runs.record(trace)
    recording.keep(about)
    assert not runs.folder.exists(), "nothing has happened"
    for event in LONE:
        trace.append(event)
        if isinstance(event, StepEnded):
            recording.keep(about)
            back = runs.open(recording.run_id)
            assert back.trace.events_from(0) == trace.events_from(0)
            assert (back.about, back.problem) == (ABOUT, None)
    assert runs.path(recording.run_id).read_bytes() == growing(trace)
    assert names(runs) == [f"{recording.run_id}.about.json", f"{recording.run_id}.jsonl"]


def test_only_what_is_new_is_written(runs, monkeypatch):
    written = []
    encode = on_disk.encode_lines
    monkeypatch.setattr(
        on_disk,
        "encode_lines",
        lambda events, place: written.append(events) or encode(events, place),
    )
    trace = build_trace(LONE[:12])
    recording = keep(runs, trace)
    trace.extend(LONE[12:15])
    recording.keep(never)
    recording.keep(never)
    trace.extend(LONE[15:])
    recording.keep(never)
    assert written == [LONE[:12], LONE[12:15], LONE[15:]]


def test_the_record_is_written_anew_with_an_input(runs):
    trace = build_trace(LONE)
    recording = keep(runs, trace)
    trace.append(CacheReset(3, ok=True))
    later = About(example="other", rest=Rest(step=4, inputs=(CacheReset(4, ok=True),)))
    recording.keep(lambda: later)
    assert runs.open(recording.run_id).about == later


def test_every_field_of_the_record_survives(runs):
    told = About(
        example="shared_prompt",
        typed={"r0": {"text": "שלום {x} \x00\n", "allow_special": True}},
        origin={"number": 2, "step": 5, "settings": {"block_size": 8}, "redone": True},
        rest=Rest(step=5, inputs=(LONE[0], CacheReset(7, ok=False)), tokens={"A": (1, 2)}),
    )
    recording = runs.record(lone())
    recording.keep(lambda: told)
    assert runs.open(recording.run_id).about == told


def test_a_server_that_is_killed_loses_nothing_of_what_was_kept(tmp_path):
    """A real process, killed by the signal that nobody can catch, in the middle of a step."""
    script = (
        "import os, pathlib, signal, sys\n"
        "from engine.sources.saved import About, SavedRuns\n"
        "from engine.trace.header import TraceHeader\n"
        "from engine.trace.trace import Trace\n"
        "from engine.workload import ScriptedRun, read_workload\n"
        "workload = read_workload(sys.argv[1])\n"
        "trace = Trace(TraceHeader(config=workload.config.to_mapping()))\n"
        "recording = SavedRuns(pathlib.Path(sys.argv[2])).record(trace)\n"
        "run = ScriptedRun(workload, emit=trace.append)\n"
        "for _ in range(4):\n"
        "    run.step()\n"
        "    recording.keep(lambda: About(example='doc_example'))\n"
        "run.before()\n"
        "run.engine.schedule()\n"
        "print(recording.run_id, flush=True)\n"
        "os.kill(os.getpid(), getattr(signal, 'SIGKILL', signal.SIGTERM))\n"
    )
    path = WORKLOADS / "doc_example.json"
    done = subprocess.run(
        [sys.executable, "-c", script, str(path), str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode != 0
    assert not done.stderr
    back = SavedRuns(tmp_path).open(done.stdout.strip())
    assert back.about.example == "doc_example"
    workload = read_workload(path)
    whole = Trace(back.trace.header)
    run = ScriptedRun(workload, emit=whole.append)
    for _ in range(4):
        run.step()
    assert [type(e) for e in back.trace.events_from(0)] == [type(e) for e in whole.events_from(0)]
    assert back.trace.num_steps == 4


def test_a_run_that_came_back_goes_on_in_files_of_its_own(runs):
    """Whoever else has the link finds the run as it was."""
    first = keep(runs, build_trace(LONE[:12]))
    back = runs.open(first.run_id)
    recording = runs.record(back.trace, num_known=back.trace.num_events)
    recording.keep(never)
    assert not recording.is_begun
    assert len(names(runs)) == 2
    back.trace.extend(LONE[12:])
    recording.keep(about)
    assert recording.is_begun
    assert recording.run_id != first.run_id
    assert runs.open(recording.run_id).trace.events_from(0) == LONE
    assert runs.open(first.run_id).trace.events_from(0) == LONE[:12]


def test_nobody_else_on_the_machine_can_read_a_saved_run(runs):
    keep(runs)
    if os.name == "posix":
        files = list(runs.folder.iterdir())
        assert sorted(file.suffix for file in files) == [".json", ".jsonl"]
        assert all(file.stat().st_mode & 0o077 == 0 for file in files)
        assert runs.folder.stat().st_mode & 0o077 == 0


# Ids ---------------------------------------------------------------------------------------------


def test_an_id_is_drawn_at_random_and_long(runs):
    ids = {runs.record(lone()).run_id for _ in range(200)}
    assert len(ids) == 200
    assert all(ID.fullmatch(run_id) for run_id in ids)


BAD_IDS = {
    "empty": "",
    "short": "a" * 21,
    "long": "a" * 23,
    "10 kB": "a" * 10_000,
    "parent": "../" + "a" * 19,
    "up": "..",
    "absolute": "/etc/passwd",
    "backslash": "..\\" + "a" * 19,
    "drive": "C:" + "a" * 20,
    "end of line": "a" * 22 + "\n",
    "inner end of line": "a" * 10 + "\n" + "a" * 11,
    "zero byte": "a" * 21 + "\0",
    "dot": "a" * 21 + ".",
    "unicode letters": "é" * 22,
    "unicode digits": "٣" * 22,
    "full width": "ａ" * 22,
    "bytes": b"a" * 22,
    "none": None,
    "list": ["a" * 22],
    "number": 10**21,
}


@pytest.mark.parametrize("run_id", BAD_IDS.values(), ids=BAD_IDS.keys())
def test_what_is_no_id_never_becomes_a_path(runs, run_id, monkeypatch):
    keep(runs)
    monkeypatch.setattr("pathlib.Path.read_bytes", never)
    with pytest.raises(RunNotFoundError, match="cut off or mistyped") as refused:
        runs.open(run_id)
    assert len(str(refused.value)) < 100, "what was given is not said again"


def test_an_id_that_nobody_has_finds_nothing(runs):
    keep(runs)
    with pytest.raises(RunNotFoundError, match="no run is saved under this link any more"):
        runs.open("a" * 22)
    with pytest.raises(RunNotFoundError):
        SavedRuns(runs.folder / "missing").open("a" * 22)


def test_the_stories_are_what_these_tests_take_them_for():
    assert isinstance(LONE[0], RequestAdded)
    assert [i for i, e in enumerate(LONE) if isinstance(e, StepEnded)] == [11, 18, 27]
    assert read_trace(encode_trace(lone())).problem is None
    assert EngineConfig.from_mapping(build_header().config)
