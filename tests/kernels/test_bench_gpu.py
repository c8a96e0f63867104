"""The GPU benchmark runs through on the CPU, and refuses where it would measure nothing."""

import json
import os
import subprocess
import sys

import pytest

from tests.kernels.gate import DEVICE
from tests.source_tree import ROOT

pytestmark = pytest.mark.kernels


def bench_gpu(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    return subprocess.run(
        [sys.executable, "-m", "bench.gpu", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )


@pytest.mark.skipif(DEVICE == "cuda", reason="interprets, and here is a GPU")
def test_a_dry_run_goes_through_the_parts_and_ends_with_one_json_object():
    done = bench_gpu("--dry", "--only", "attention", "prefill", "model")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["dry"] is True
    assert [row["block_size"] for row in found["decode_attention"]] == [1, 16]
    assert [row["block_size"] for row in found["prefill_attention"]] == [1, 16]
    (step,) = found["decode_step"]
    assert (step["batch"], step["context"]) == (2, 20)
    assert {"floor", "stock", "graph", "fused", "fused_served"} <= set(step)
    assert found["largest_relative_error"] < 1e-5
    assert 0 < step["stock_off_by"] < 1e-5, "plain torch and the kernels round differently"
    assert 0 < step["fused_off_by"] < 1e-5
    assert found["errors"] == []
    assert found["generate"][0]["ms_per_step"] > 0
    assert found["prefill_step"][0]["tokens"] == 20


@pytest.mark.skipif(DEVICE == "cuda", reason="here is a GPU")
def test_without_a_gpu_it_refuses_with_one_sentence():
    for arguments in ([], ["--check"]):
        done = bench_gpu(*arguments)
        assert done.returncode == 1
        assert done.stdout == ""
        assert "sees no NVIDIA GPU: name another Python with PYTHON=..." in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
