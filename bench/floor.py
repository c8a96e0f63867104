"""The floor of a decode step: the bytes of its weights over the memory's read bandwidth.

Every weight is read once a step, and with one row nothing else takes long, so no step can be faster
than reading them. A cache that holds a part of the weights from step to step may beat it a little.
"""

import time
from typing import NamedTuple

import torch

from engine.runner.huge_pages import huge_pages_for_new_memory

READ_BYTES = 512 << 20  # far more than any cache
READING_S = 2.0  # long enough to find the machine undisturbed for one read


class Floor(NamedTuple):
    """Of one token at batch 1."""

    weight_mb: float
    bandwidth_gb_s: float

    @property
    def tok_s(self) -> float:
        return self.bandwidth_gb_s * 1e3 / self.weight_mb


def read_bandwidth_gb_s() -> float:
    """The fastest of several sums over a large tensor, with torch's threads, in huge pages as the
    weights are; 10**9 bytes a second."""
    with huge_pages_for_new_memory():
        numbers = torch.ones(READ_BYTES // 4)
    best_s, end_s = float("inf"), time.perf_counter() + READING_S
    while time.perf_counter() < end_s:
        start_s = time.perf_counter()
        numbers.sum()
        best_s = min(best_s, time.perf_counter() - start_s)
    return READ_BYTES / best_s / 1e9
