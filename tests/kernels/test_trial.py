"""Kernels that fail at their trial cost a GPU no more than a sentence, whatever Triton raises."""

import subprocess

import pytest
import torch

from engine.runner.attention import triton_backend
from tests.kernels.gate import DEVICE

pytestmark = pytest.mark.kernels

ON = torch.device(DEVICE)
NO_DRIVER = "libcuda.so cannot found!\nPlease make sure GPU is set up and then run /sbin/ldconfig"


def test_kernels_that_work_have_nothing_to_explain():
    assert triton_backend.why_kernels_fail(ON) is None


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (AssertionError(NO_DRIVER), "libcuda.so cannot found"),
        (ImportError("cuda_utils.so: failed to map segment"), "failed to map segment"),
        (ValueError("type fp8e4nv not supported in this architecture."), "this architecture)"),
        (RuntimeError("CUDA error: no kernel image\nCompile with TORCH_USE_CUDA_DSA"), "no kernel"),
        (subprocess.CalledProcessError(1, ["gcc"]), "'gcc'"),
        (AssertionError(), "(AssertionError)"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_any_error_of_the_trial_is_told_in_one_line(error, cause, monkeypatch):
    def fail(*args, **options):
        raise error

    monkeypatch.setattr(triton_backend, "write_kv", fail)
    reason = triton_backend.why_kernels_fail(ON)
    assert reason is not None
    assert reason.startswith("a trial of the Triton kernels failed (")
    assert cause in reason
    assert len(reason.splitlines()) == 1


def test_other_numbers_than_torchs_are_a_failure_too(monkeypatch):
    real = triton_backend.paged_attention
    monkeypatch.setattr(
        triton_backend, "paged_attention", lambda *args, **options: real(*args, **options) + 0.1
    )
    assert triton_backend.why_kernels_fail(ON) == (
        "a trial of the Triton kernels gave other numbers than torch"
    )
