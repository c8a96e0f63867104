"""Hands the same workloads to another program in an environment of its own and reads its figures."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

VLLM = Path(__file__).with_name("vllm_reference.py")
LLAMA = Path(__file__).with_name("llama_reference.py")
TIMEOUT_S = 1800


def run_apart(python: str, script: Path, work: dict[str, Any]) -> dict[str, Any]:
    """The last line that `script` prints under that interpreter, a JSON object.

    It gets `work` as JSON on its standard input, and `work["num_threads"]` threads.
    """
    threads = str(work["num_threads"])
    done = subprocess.run(
        [python, str(script)],
        input=json.dumps(work),
        stdout=subprocess.PIPE,
        text=True,
        timeout=TIMEOUT_S,
        env={**os.environ, "OMP_NUM_THREADS": threads},
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found
