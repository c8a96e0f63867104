"""What the GPU's benchmark does around its kernels: it needs no GPU to be tested."""

import json
import subprocess
import sys

from bench.gpu_report import Report
from tests.source_tree import ROOT


def test_what_was_measured_survives_the_failure_of_a_later_part():
    report = Report()
    rows = report.rows("decode_step")
    for batch in (1, 8, 32):
        with report.attempt(f"decode_step {batch}"):
            assert batch != 8, "logits are off\nby far"
            rows.append({"batch": batch})
    assert json.loads(json.dumps(report.found)) == {
        "errors": [{"part": "decode_step 8", "error": "AssertionError: logits are off"}],
        "decode_step": [{"batch": 1}, {"batch": 32}],
    }


STOPPED = """
import os, signal, sys
import bench.gpu as gpu
def measure(options, report):
    report.rows("prefill_step").append({"ms": 3.0})
    os.kill(os.getpid(), signal.SIGTERM)
gpu.measure, gpu.why_not = measure, lambda dry: None
sys.argv = ["bench.gpu"]
sys.exit(gpu.main())
"""


def test_a_run_that_is_stopped_says_what_it_had():
    done = subprocess.run([sys.executable, "-c", STOPPED], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["prefill_step"] == [{"ms": 3.0}]
    assert found["errors"] == [{"part": "all", "error": "stopped before its end"}]
