"""Decode steps as captured CUDA graphs: what Python and the launches cost, paid once.

A decode step of a small model starts hundreds of kernels that each run for a few microseconds, less
than Python takes to start one. Captured, they are started by one call. A graph repeats the very
same work on the very same addresses, so:

    number of rows      one graph per bucket (1, 2, 4, 8, 16 ..); a step takes the next larger one,
                        and its spare rows have length 0 and slot -1: they see and write nothing
    inputs              lie in memory that never moves: step_buffer.py
    outputs             are overwritten by the next step: read them before

vLLM 0.17.1: v1/cudagraph_dispatcher.py CudagraphDispatcher, compilation/cuda_graph.py
"""

import functools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from engine.runner.step_buffer import DecodeInputs, DecodeRow, StepBuffer, TableBuffer

BUCKETS = (1, 2, 4, 8, *range(16, 65, 8), *range(80, 257, 16))
WARM_UPS = 2  # compile the kernels, let cuBLAS take its workspace

_capturing = threading.Lock()


class Recording(Protocol):
    """Work that can be done again, with whatever its inputs hold by then."""

    output: Tensor

    def replay(self) -> None: ...


Recorder = Callable[[Callable[[], Tensor]], Recording]


@functools.cache
def side_stream() -> torch.cuda.Stream:
    """The one stream of this process for captures: cuBLAS keeps a workspace for each that it saw."""
    return torch.cuda.Stream()  # type: ignore[no-untyped-call]


class CudaRecorder:
    """Captures CUDA graphs that share one memory pool."""

    def __init__(self) -> None:
        self.pool: Any = None  # torch's handle of it

    def __call__(self, work: Callable[[], Tensor]) -> Recording:
        with _capturing:  # one thread at a time; others may go on computing meanwhile
            before, side = torch.cuda.current_stream(), side_stream()
            side.wait_stream(before)
            with torch.cuda.stream(side):
                for _ in range(WARM_UPS):
                    work()
            before.wait_stream(side)
            try:
                return self._capture(work, side)
            finally:
                torch.cuda.set_stream(before)  # torch stays on `side` if the capture's end fails

    def _capture(self, work: Callable[[], Tensor], side: torch.cuda.Stream) -> Recording:
        """Raises what `work` raised, and not what its capture had to say at its end about that."""
        graph, cause = torch.cuda.CUDAGraph(), None
        try:
            with torch.cuda.graph(
                graph, pool=self.pool, stream=side, capture_error_mode="thread_local"
            ):
                try:
                    output = work()
                except RuntimeError as error:
                    cause = error
                    raise
        except RuntimeError as error:
            raise (cause or error) from None
        self.pool = self.pool or graph.pool()
        return CudaRecording(graph, output)


@dataclass(slots=True)
class CudaRecording:
    graph: torch.cuda.CUDAGraph
    output: Tensor

    def replay(self) -> None:
        self.graph.replay()


class DecodeGraphs:
    """Runs decode steps of one engine; captures the graph of a bucket when it is first wanted."""

    def __init__(
        self,
        step: Callable[[DecodeInputs], Tensor],
        *,
        block_sizes: Sequence[int],
        most_blocks: Sequence[int],
        device: torch.device,
        recorder: Recorder,
        buckets: Sequence[int] = BUCKETS,
    ) -> None:
        """`step` gives the logits [num_rows, vocab_size] of the inputs; it must launch the same
        kernels each time and never wait for the device. `block_sizes` and `most_blocks` (of one
        request) are by KV-cache group."""
        assert list(buckets) == sorted(set(buckets)), buckets
        self.step, self.recorder = step, recorder
        self.buckets = tuple(buckets)
        self.device = device
        self.tables = TableBuffer(
            self.max_rows, block_sizes=block_sizes, most_blocks=most_blocks, device=device
        )
        self.captured: dict[int, tuple[StepBuffer, Recording]] = {}

    @property
    def max_rows(self) -> int:
        return self.buckets[-1]

    def bucket_of(self, num_rows: int) -> int:
        """The smallest bucket that holds so many rows."""
        return next(bucket for bucket in self.buckets if bucket >= num_rows)

    @torch.inference_mode()
    def run(self, rows: Sequence[DecodeRow]) -> Tensor:
        """[len(rows), vocab_size], valid until the next step."""
        assert 0 < len(rows) <= self.max_rows, len(rows)
        buffer, recording = self._capture(self.bucket_of(len(rows)))
        buffer.fill(rows)
        recording.replay()
        return recording.output[: len(rows)]

    def _capture(self, bucket: int) -> tuple[StepBuffer, Recording]:
        """The bucket's buffer and graph. Captured on spare rows alone, so the cache stays as it is."""
        if bucket not in self.captured:
            buffer = StepBuffer(bucket, self.tables, self.device)
            buffer.fill(())

            def work() -> Tensor:
                buffer.put_blocks()
                return self.step(buffer.inputs)

            self.captured[bucket] = (buffer, self.recorder(work))
        return self.captured[bucket]
