"""The interpreter takes what the compiler refuses, so the kernels are compiled for real as well."""

import json
import os
import subprocess
import sys

import pytest

from tests.source_tree import ROOT

pytestmark = pytest.mark.kernels

MAX_SHARED_BYTES = 99 * 1024  # what every GPU from sm_80 on can give to one program


@pytest.mark.parametrize("capability", [80, 90])
def test_every_kernel_compiles_without_a_gpu(capability, tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.kernels.compiled", str(capability)],
        cwd=ROOT,
        env={**environment, "TRITON_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert {row["kernel"] for row in rows} == {
        "attention_kernel",
        "combine_kernel",
        "write_kernel",
        "add_norm_kernel",
        "turn_and_write_kernel",
        "silu_mul_kernel",
    }
    for row in rows:
        assert row["is_elf"], row
        assert row["ptx_target"].startswith(f".target sm_{capability}"), row
        assert row["shared_bytes"] <= MAX_SHARED_BYTES, row
        assert row["tensor_cores"] == (row["kernel"] == "attention_kernel"), row
