"""vLLM 0.17.1's own recorded runs match step for step, field by field."""

import gzip
import json
from pathlib import Path

import pytest

from engine.conformance import main
from engine.errors import SourceError
from engine.recorded_run import first_difference, read_recorded_run, recorded_run
from engine.sources.recorded import open_recorded
from engine.workload import read_workload

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
WORKLOADS = sorted((GOLDEN / "workloads").glob("*.json"))


def test_all_recorded_runs_are_here():
    assert len(WORKLOADS) == 59


@pytest.mark.parametrize("path", WORKLOADS, ids=lambda path: path.stem)
def test_a_recorded_run_matches_field_by_field(path):
    theirs = read_recorded_run(GOLDEN / "traces" / f"{path.stem}.jsonl.gz")
    assert first_difference(recorded_run(read_workload(path)), theirs) is None


def test_the_command_names_the_first_difference_and_exits_with_1(tmp_path, capsys):
    workload = GOLDEN / "workloads" / "doc_example.json"
    recorded = (GOLDEN / "traces" / "doc_example.jsonl.gz").read_bytes()
    lines = gzip.decompress(recorded).decode().splitlines()
    step = json.loads(lines[4])
    step["after_schedule"]["free_queue"]["ids"][0] = 99
    lines[4] = json.dumps(step)
    with gzip.open(tmp_path / "doc_example.jsonl.gz", "wt") as file:
        file.write("\n".join(lines))
    assert main([str(workload), "--against", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "doc_example: step 3: after_schedule.free_queue.ids[0]: ours 8, theirs 99" in said


def test_what_out_writes_is_equal_to_the_recorded_run(tmp_path):
    workload = str(GOLDEN / "workloads" / "abort_mix.json")
    assert main([workload, "--out", str(tmp_path)]) == 0
    ours = read_recorded_run(tmp_path / "abort_mix.jsonl.gz")
    theirs = read_recorded_run(GOLDEN / "traces" / "abort_mix.jsonl.gz")
    for mine, yours in zip(ours, theirs, strict=True):
        mine.pop("python", None)
        yours.pop("python", None)
        assert mine == yours


def test_what_trace_writes_opens_as_a_trace_and_what_out_writes_says_that_it_is_none(tmp_path):
    workload = str(GOLDEN / "workloads" / "doc_example.json")
    assert main([workload, "--trace", str(tmp_path), "--out", str(tmp_path)]) == 0
    opened = open_recorded(tmp_path / "doc_example.trace.jsonl.gz")
    assert opened.trace.num_steps == 8
    assert opened.trace.header.title == "doc_example"
    assert opened.trace.at(opened.trace.last).requests["request2"].is_finished
    with pytest.raises(SourceError, match=r"snapshots.*--trace DIR writes one that can"):
        open_recorded(tmp_path / "doc_example.jsonl.gz")


@pytest.mark.parametrize("flags", [["--time"], ["--time", "--recording"]])
def test_time_prints_one_json_line(flags, capsys):
    assert main([*flags, str(GOLDEN / "workloads" / "doc_example.json")]) == 0
    timed = json.loads(capsys.readouterr().out)
    assert timed["workload"] == "doc_example"
    assert timed["steps"] == 8
    assert timed["seconds"] > 0


def test_a_wrong_workload_file_gets_a_sentence(tmp_path, capsys):
    (tmp_path / "w.json").write_text('{"name": "w", "requests": [], "colour": 1}')
    assert main([str(tmp_path / "w.json"), str(tmp_path / "none.json")]) == 1
    said = capsys.readouterr().err
    assert "colour" in said
    assert "none.json" in said
    assert "Traceback" not in said
