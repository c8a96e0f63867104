"""Decode steps as captured CUDA graphs: what Python and the launches cost, paid once.

A decode step of a small model starts hundreds of kernels that each run for a few microseconds, less
than Python takes to start one. Captured, they are started by one call. A graph repeats the very
same work on the very same addresses, so:

    number of rows      one graph per bucket (1, 2, 4, 8, 16 ..); a step takes the next larger one,
                        and its spare rows have length 0 and slot -1: they see and write nothing
    inputs              lie in one buffer that never moves; a step fills its twin on the host and
                        copies it over, once
    outputs             are overwritten by the next step: read them before

vLLM 0.17.1: v1/cudagraph_dispatcher.py CudagraphDispatcher, compilation/cuda_graph.py
"""

import threading
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

BUCKETS = (1, 2, 4, 8, *range(16, 65, 8), *range(80, 257, 16))
NO_SLOT = -1
WARM_UPS = 2  # compile the kernels, let cuBLAS take its workspace

_capturing = threading.Lock()


class DecodeRow(NamedTuple):
    """One request's share of a decode step."""

    token_id: int
    position: int
    block_tables: Sequence[Sequence[int]]  # by KV-cache group


@dataclass(slots=True, frozen=True)
class DecodeInputs:
    """What a step reads, as views of the buffer of one bucket; all int32, on the device."""

    input_ids: Tensor  # [num_rows]
    positions: Tensor  # [num_rows]
    seq_lens: Tensor  # [num_rows]; the step's own token included, 0 for a spare row
    query_start: Tensor  # [num_rows + 1]: 0, 1, 2 ..
    slot_mappings: tuple[Tensor, ...]  # by group: [num_rows], NO_SLOT for a spare row
    block_tables: tuple[Tensor, ...]  # by group: [num_rows, most blocks]


class Recording(Protocol):
    """Work that can be done again, with whatever its inputs hold by then."""

    output: Tensor

    def replay(self) -> None: ...


Recorder = Callable[[Callable[[], Tensor]], Recording]


class CudaRecorder:
    """Captures CUDA graphs that share one memory pool."""

    def __init__(self) -> None:
        self.pool: Any = None  # torch's handle of it

    def __call__(self, work: Callable[[], Tensor]) -> Recording:
        with _capturing:  # one thread at a time; others may go on computing meanwhile
            side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(WARM_UPS):
                    work()
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self.pool, capture_error_mode="thread_local"):
                output = work()
            self.pool = self.pool or graph.pool()
        return CudaRecording(graph, output)


@dataclass(slots=True)
class CudaRecording:
    graph: torch.cuda.CUDAGraph
    output: Tensor

    def replay(self) -> None:
        self.graph.replay()


class StepBuffer:
    """The inputs of one bucket: a buffer on the device, and its twin on the host.

    ids | positions | lengths | slots of group 0 | .. | block table of group 0 | ..
    """

    def __init__(
        self,
        num_rows: int,
        *,
        block_sizes: Sequence[int],
        most_blocks: Sequence[int],
        device: torch.device,
    ) -> None:
        self.num_rows, self.block_sizes, self.most_blocks = num_rows, block_sizes, most_blocks
        num_groups = len(block_sizes)
        sizes = [num_rows] * (3 + num_groups) + [num_rows * most for most in most_blocks]
        self.starts = [sum(sizes[:index]) for index in range(len(sizes))]
        self.host = torch.zeros(sum(sizes), dtype=torch.int32, pin_memory=device.type == "cuda")
        self.numbers = memoryview(self.host.numpy())  # type: ignore[arg-type]
        self.device = torch.zeros(sum(sizes), dtype=torch.int32, device=device)
        parts = torch.split_with_sizes(self.device, sizes)
        tables = zip(parts[3 + num_groups :], most_blocks)
        self.inputs = DecodeInputs(
            input_ids=parts[0],
            positions=parts[1],
            seq_lens=parts[2],
            query_start=torch.arange(num_rows + 1, dtype=torch.int32, device=device),
            slot_mappings=tuple(parts[3 : 3 + num_groups]),
            block_tables=tuple(table.view(num_rows, most) for table, most in tables),
        )

    def fill(self, rows: Sequence[DecodeRow]) -> None:
        """Put the step's rows first, make the others spare, and copy it all to the device.

        The copy is not waited for: the twin must not be filled again before the step's output has
        been read.
        """
        spare = self.num_rows - len(rows)
        nothing = [0] * spare
        self._put(0, [row.token_id for row in rows] + nothing)
        self._put(1, [row.position for row in rows] + nothing)
        self._put(2, [row.position + 1 for row in rows] + nothing)
        num_groups = len(self.block_sizes)
        for group, (size, most) in enumerate(zip(self.block_sizes, self.most_blocks)):
            tables = [row.block_tables[group] for row in rows]
            slots = [
                table[row.position // size] * size + row.position % size
                for row, table in zip(rows, tables)
            ]
            self._put(3 + group, slots + [NO_SLOT] * spare)
            for index, table in enumerate(tables):
                self._put(3 + num_groups + group, table[:most], offset=index * most)
        self.device.copy_(self.host, non_blocking=True)

    def _put(self, part: int, numbers: Sequence[int], offset: int = 0) -> None:
        start = self.starts[part] + offset
        self.numbers[start : start + len(numbers)] = array("i", numbers)


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
        self.block_sizes, self.most_blocks = tuple(block_sizes), tuple(most_blocks)
        self.device = device
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
            buffer = StepBuffer(
                bucket,
                block_sizes=self.block_sizes,
                most_blocks=self.most_blocks,
                device=self.device,
            )
            buffer.fill(())
            recording = self.recorder(lambda: self.step(buffer.inputs))
            self.captured[bucket] = (buffer, recording)
        return self.captured[bucket]
