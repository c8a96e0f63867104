"""Whether Triton's kernels can run in this process, and on which device.

Triton decides when it is imported whether its kernels are compiled or interpreted, and torch and
transformers import it. So these tests need a process of their own, with TRITON_INTERPRET=1 set
before it starts (`make test` does that), or a GPU (`make test-gpu`).
"""

import importlib.util
import os

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def why_not() -> str | None:
    if importlib.util.find_spec("triton") is None:
        return "triton is not installed: there are builds for Linux on x86_64 alone"
    if DEVICE == "cpu" and os.environ.get("TRITON_INTERPRET") != "1":
        return "no GPU: set TRITON_INTERPRET=1 and run tests/kernels in a process of its own"
    return None
