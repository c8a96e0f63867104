"""Hands the same workloads to vLLM in an environment of its own and reads back what it measured."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).with_name("vllm_reference.py")
TIMEOUT_S = 1800


def run_vllm(python: str, work: dict[str, Any]) -> dict[str, Any]:
    """The last line that `vllm_reference.py` prints under that interpreter."""
    threads = str(work["num_threads"])
    done = subprocess.run(
        [python, str(SCRIPT)],
        input=json.dumps(work),
        stdout=subprocess.PIPE,
        text=True,
        timeout=TIMEOUT_S,
        env={**os.environ, "OMP_NUM_THREADS": threads},
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found
