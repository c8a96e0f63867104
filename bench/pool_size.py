"""Time and memory to build the block pool of a 24 GB cache: 131,928 blocks."""

import statistics
import time
import tracemalloc
from typing import Any

from bench.measure import print_table, rounded
from engine.core.block_pool import BlockPool

NUM_BLOCKS = 131_928


def build_ms() -> float:
    start_s = time.perf_counter()
    BlockPool(NUM_BLOCKS)
    return (time.perf_counter() - start_s) * 1e3


def size_mb() -> float:
    """What the Python objects of the pool take, in 10**6 bytes."""
    tracemalloc.start()
    pool = BlockPool(NUM_BLOCKS)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert pool.num_free_blocks == NUM_BLOCKS - 1
    return size / 1e6


def measure_pool(num_rounds: int) -> dict[str, Any]:
    milliseconds = statistics.median(build_ms() for _ in range(num_rounds))
    megabytes = size_mb()
    print_table(
        f"Pool of {NUM_BLOCKS:,} blocks",
        f"BlockPool(num_blocks): median of {num_rounds} builds; size by tracemalloc",
        ("build, ms", "size, MB"),
        [(rounded(milliseconds), rounded(megabytes))],
    )
    return {"pool_131928": {"ms": rounded(milliseconds), "mb": rounded(megabytes)}}
