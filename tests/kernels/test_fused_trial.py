"""A fused form that does not say what the stock model says is found at loading, and not used."""

from typing import Any

import pytest
import torch

from engine.runner import fused_model as fused_file
from engine.runner import model_loader
from engine.runner.attention.choice import ATTENTION_VARIABLE
from engine.runner.fused_model import fused_model
from engine.runner.packed_linear import TORCH
from tests.kernels.gate import DEVICE
from tests.kernels.models import Repeated
from tests.kernels.served import expected, serve_on
from tests.runner.builders import build_loaded, build_stock

pytestmark = pytest.mark.kernels

WINDOWED = {"use_sliding_window": True, "sliding_window": 3, "max_window_layers": 1}


@pytest.fixture(autouse=True)
def _as_on_a_gpu(monkeypatch) -> None:
    """The kernels, and linear layers that stay torch's own."""
    monkeypatch.setenv(ATTENTION_VARIABLE, "triton")
    monkeypatch.setattr(model_loader, "kernel_for", lambda model: TORCH)


def load(architecture: str = "Llama", **config: Any) -> Any:
    return build_loaded(build_stock(architecture, **config).to(DEVICE))


@pytest.mark.parametrize(("architecture", "config"), [("Llama", {}), ("Qwen2", WINDOWED)])
def test_a_form_that_says_the_same_is_used_and_has_nothing_to_explain(architecture, config):
    runner, tokens = serve_on(load(architecture, **config), Repeated)
    assert tokens == expected(architecture, **config)
    assert runner.decode_path.name == "graph-fused"
    assert runner.path_reason is None


def other_numbers(real: Any) -> Any:
    return lambda self, *args: real(self, *args) * torch.linspace(0.5, 1.5, 260, device=DEVICE)


def no_registers(real: Any) -> Any:
    def call(self: Any, *args: Any) -> Any:
        raise RuntimeError("out of resource: registers\nmore about it")

    return call


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (other_numbers, "the fused one gave other logits"),
        (no_registers, "a trial of the fused one failed (out of resource: registers)"),
    ],
)
def test_another_steps_the_stock_graph_and_says_why(broken, why, monkeypatch):
    real = fused_file.FusedModel.__call__
    monkeypatch.setattr(fused_file.FusedModel, "__call__", broken(real))
    loaded = load()
    assert fused_model(loaded.model) is None
    runner, tokens = serve_on(loaded, Repeated)
    assert tokens == expected()
    assert runner.decode_path.name == "graph-stock"
    assert list(runner.decode_path.graphs.captured) == [4]
    assert runner.path_reason == f"Decode steps replay the stock model: {why}."


def test_a_window_that_the_fused_form_forgot_is_noticed(monkeypatch):
    real = fused_file.FusedModel.__call__

    def forgetful(self: Any, input_ids: Any, positions: Any, caches: Any, plans: Any) -> Any:
        return real(self, input_ids, positions, caches, [plans[0]] * len(plans))

    monkeypatch.setattr(fused_file.FusedModel, "__call__", forgetful)
    assert fused_model(load("Qwen2", **WINDOWED).model) is None
