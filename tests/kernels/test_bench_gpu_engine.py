"""The GPU benchmark's part about the engine, on a tiny model and without a GPU."""

from typing import Any

import pytest

from bench import gpu_engine
from bench.gpu_clock import Clock
from bench.gpu_report import Report
from engine.runner.attention.choice import ATTENTION_VARIABLE
from engine.runner.step_buffer import StepBuffer
from tests.kernels.gate import DEVICE
from tests.runner.builders import build_loaded, build_stock, random_prompt

pytestmark = [
    pytest.mark.kernels,
    pytest.mark.skipif(DEVICE == "cuda", reason="interprets, and here is a GPU"),
]


@pytest.fixture
def clock(monkeypatch) -> Clock:
    monkeypatch.setenv(ATTENTION_VARIABLE, "triton")
    monkeypatch.setattr(gpu_engine, "load_model", lambda **_: build_loaded(build_stock("Llama")))
    monkeypatch.setattr(gpu_engine, "random_prompt", random_prompt)
    return Clock(dry=True)


def measured(clock: Clock) -> tuple[dict[str, Any], Report]:
    report = Report()
    gpu_engine.measure_steps(clock, report)
    (row,) = report.found["engine_step"]
    return row, report


def test_a_step_is_told_apart_into_what_it_consists_of(clock):
    row, report = measured(clock)
    assert report.errors == []
    assert (row["batch"], row["path"].split("+")[-1]) == (2, "graph-stock")
    assert list(row)[2:] == [
        "step", "fill", "forward", "sampling", "text", "rest", "rest_of_step",
    ]  # fmt: skip
    assert min(row[name] for name in list(row)[2:]) > 0
    assert row["forward"] > 10 * row["fill"], "the interpreter is slow, and filling is not"


def test_the_parts_of_a_step_add_up_to_it(clock):
    watch = gpu_engine.Watch(clock)
    watch.seconds |= {"execute": 8.0, "logits_of": 5.0, "fill": 1.0, "sample": 2.0}
    assert watch.parts(9.0) == {
        "fill": 1.0, "forward": 4.0, "sampling": 2.0, "text": 1.0, "rest": 1.0,
    }  # fmt: skip


def test_what_is_watched_is_left_as_it_was(clock):
    before = [getattr(owner, name) for owner, name in gpu_engine.WATCHED]
    with gpu_engine.Watch(clock).watching():
        assert getattr(*gpu_engine.WATCHED[0]) is not before[0]
    assert [getattr(owner, name) for owner, name in gpu_engine.WATCHED] == before


def test_an_engine_without_graphs_is_measured_and_the_reason_reported(clock, monkeypatch):
    def refuse(*_: Any) -> None:
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(StepBuffer, "fill", refuse)
    row, report = measured(clock)
    assert row["forward"] > 0
    assert report.errors == [
        {
            "part": "engine_step 2",
            "error": "Decode steps run without CUDA graphs: operation not permitted when stream is "
            "capturing.",
        }
    ]
