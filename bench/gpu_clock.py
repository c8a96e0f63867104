"""How a time on a GPU is taken, and what the card can do at best."""

import functools
import math
import statistics
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch

Call = Callable[[], object]


class Size(NamedTuple):
    """How much is measured."""

    batches: tuple[int, ...]
    contexts: tuple[int, ...]  # tokens in the cache
    block_sizes: tuple[int, ...]
    prompts: tuple[tuple[int, int], ...]  # batch and tokens
    max_model_len: int  # what the engine captures its steps for, whatever a request has
    num_layers: int
    vocab_size: int
    copied_bytes: int
    matrix: int  # rows and columns
    new_tokens: int
    engine_context: int  # tokens of a prompt


FULL = Size(
    batches=(1, 8, 32, 128),
    contexts=(128, 1024, 8192),
    block_sizes=(1, 4, 16, 64, 256),
    prompts=((1, 512), (1, 2048), (1, 8192), (8, 2048)),
    max_model_len=8192,
    num_layers=30,
    vocab_size=49_152,
    copied_bytes=2**32,
    matrix=8192,
    new_tokens=64,
    engine_context=1024,
)
DRY = Size(
    batches=(2,),
    contexts=(20,),
    block_sizes=(1, 16),
    prompts=((1, 20),),
    max_model_len=64,
    num_layers=1,
    vocab_size=300,
    copied_bytes=2**20,
    matrix=64,
    new_tokens=2,
    engine_context=20,
)
MAX_CACHED_TOKENS = 300_000  # of one batch: more than a card should be asked for
COLD_BYTES = 300_000_000  # more than twice the L2 cache of any GPU yet
DRY_SETS = 2
SLEEP_CYCLES = 1_000_000  # about half a millisecond
SLEEP_CYCLES_PER_CALL = 2_000


class Clock:
    """Times work on a GPU; on a CPU it runs everything once, to show that it runs."""

    def __init__(self, *, dry: bool) -> None:
        self.dry = dry
        self.size = DRY if dry else FULL
        self.device = torch.device("cpu" if dry else "cuda")
        self.dtype = torch.float32 if dry else torch.bfloat16
        self.bytes_s = math.nan  # what a copy reaches, read and written; see measure_ceilings

    def sync(self) -> None:
        if not self.dry:
            torch.cuda.synchronize()

    @functools.cached_property
    def side(self) -> torch.cuda.Stream:
        """Where everything is warmed up and captured: cuBLAS keeps memory for each stream it saw."""
        return torch.cuda.Stream()  # type: ignore[no-untyped-call]

    def num_sets(self, num_bytes: int) -> int:
        """So many copies of the data to take turns with that the L2 cache has lost one by the time
        it comes again, however small it is."""
        return DRY_SETS if self.dry else max(2, -(-COLD_BYTES // num_bytes))

    def kernel_s(self, calls: Sequence[Call], *, turns: int = 20, rounds: int = 7) -> float:
        """Median seconds of one call. `calls` are the same on different data, taken in turn, each
        as often as the others and `turns` of them at least. They are captured as one graph, so that
        neither Python nor a launch is in the time."""
        if self.dry:
            return self.wall_s(lambda: [call() for call in calls]) / len(calls)
        order = [*calls] * -(-turns // len(calls))
        self.sync()
        with torch.cuda.stream(self.side):
            for call in calls[:2]:
                call()
        self.sync()
        graph = self._capture(order)
        graph.replay()
        cycles = SLEEP_CYCLES + SLEEP_CYCLES_PER_CALL * len(order)
        return statistics.median(self._replay_s(graph, cycles) for _ in range(rounds)) / len(order)

    def _capture(self, order: Sequence[Call]) -> torch.cuda.CUDAGraph:
        before = torch.cuda.current_stream()
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, stream=self.side):
                for call in order:
                    call()
        finally:  # torch stays on the stream of a capture that failed, and more is to be measured
            torch.cuda.set_stream(before)
        return graph

    def _replay_s(self, graph: torch.cuda.CUDAGraph, cycles: int) -> float:
        """Seconds between two marks on the device. It sleeps `cycles` before the first, and
        meanwhile marks and graph are queued behind it: it need not wait for them in between."""
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        self.sync()
        torch.cuda._sleep(cycles)  # type: ignore[no-untyped-call]
        begin.record()
        graph.replay()
        end.record()
        self.sync()
        return float(begin.elapsed_time(end)) / 1e3

    def wall_s(self, call: Call, *, rounds: int = 20) -> float:
        """Median seconds of one call and the wait for it: Python and launches count."""
        found = []
        for _ in range(1 if self.dry else rounds):
            self.sync()
            start_s = time.perf_counter()
            call()
            self.sync()
            found.append(time.perf_counter() - start_s)
        return statistics.median(found)

    def measure_ceilings(self) -> dict[str, float]:
        """Bytes a second of a large copy, and the rate of a large matrix product."""
        source = torch.zeros(self.size.copied_bytes, dtype=torch.uint8, device=self.device)
        goal = torch.empty_like(source)
        copy_s = self.kernel_s([lambda: goal.copy_(source)], turns=5)
        self.bytes_s = 2 * self.size.copied_bytes / copy_s
        rows = self.size.matrix
        a, b = (torch.randn(rows, rows, device=self.device, dtype=self.dtype) for _ in range(2))
        product_s = self.kernel_s([lambda: a @ b], turns=5)
        return {"copy_TB_s": self.bytes_s / 1e12, "product_TFLOP_s": 2 * rows**3 / product_s / 1e12}
