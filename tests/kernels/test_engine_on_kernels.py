"""The whole engine with the kernels under it: what a request says does not depend on the path."""

from typing import Any

import pytest
import torch

from engine.runner.attention.choice import ATTENTION_VARIABLE
from tests.kernels.gate import DEVICE
from tests.kernels.models import Repeated
from tests.kernels.served import expected, serve_on
from tests.runner.builders import build_loaded, build_stock

pytestmark = pytest.mark.kernels


class Broken:
    """A recorder on which no capture succeeds."""

    def __init__(self, error: type[RuntimeError] = RuntimeError) -> None:
        self.error, self.num_tries = error, 0

    def __call__(self, work: Any) -> Any:
        self.num_tries += 1
        raise self.error("operation not permitted when stream is capturing\nmore about it")


@pytest.fixture(autouse=True)
def _on_kernels(monkeypatch) -> None:
    monkeypatch.setenv(ATTENTION_VARIABLE, "triton")


def serve(recorder: Any, architecture: str = "Llama", **config: Any) -> tuple[Any, list[list[int]]]:
    """The runner, and what it said to PROMPTS."""
    return serve_on(build_loaded(build_stock(architecture, **config).to(DEVICE)), recorder)


def test_prefill_and_decode_say_what_generate_says():
    runner, tokens = serve(recorder=None)
    assert tokens == expected()
    if DEVICE == "cpu":
        assert runner.decode_path is None  # graphs are CUDA's


@pytest.mark.parametrize(
    ("architecture", "config"),
    [
        ("Llama", {}),
        ("Qwen2", {"use_sliding_window": True, "sliding_window": 6, "max_window_layers": 1}),
    ],
)
def test_decode_steps_replay_a_graph_and_others_do_not(architecture, config):
    runner, tokens = serve(Repeated, architecture, **config)
    assert tokens == expected(architecture, **config)
    assert list(runner.decode_path.graphs.captured) == [4]  # three requests; prefill took none
    assert runner.header_fields()["kernel_path"].startswith("triton+")
    assert runner.header_fields()["kernel_path"].endswith(
        "+graph-" + runner.decode_path.graphs.step.name
    )


def test_a_graph_that_cannot_be_captured_costs_nothing_but_a_sentence():
    runner, tokens = serve(Broken())
    assert tokens == expected()
    assert runner.decode_path.reason == (
        "Decode steps run without CUDA graphs: operation not permitted when stream is capturing."
    )


def test_the_next_engine_on_that_model_does_not_try_again_and_says_why():
    loaded = build_loaded(build_stock().to(DEVICE))
    first, second = Broken(), Broken()
    runner, _ = serve_on(loaded, first)
    other, tokens = serve_on(loaded, second)
    assert (first.num_tries, second.num_tries) == (1, 0)
    assert tokens == expected()
    assert other.path_reason == runner.decode_path.reason


def test_memory_that_was_short_is_asked_for_again_by_the_next_engine():
    loaded = build_loaded(build_stock().to(DEVICE))
    short = Broken(torch.cuda.OutOfMemoryError)
    assert serve_on(loaded, short)[0].decode_path.reason is not None
    runner, _ = serve_on(loaded, Repeated)
    assert runner.decode_path.reason is None
    assert list(runner.decode_path.graphs.captured) == [4]
