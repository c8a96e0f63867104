"""Captures that fail, with a stand-in for CUDA that is left half in its capture as torch is."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from engine.runner import decode_graph
from engine.runner.decode_graph import WARM_UPS, CudaRecorder, side_stream


class Stream:
    def wait_stream(self, other: "Stream") -> None: ...


class Graph:
    def pool(self) -> str:
        return "the pool"

    def replay(self) -> None: ...


class StandIn:
    """What a recorder asks of torch.cuda."""

    CUDAGraph, Stream = Graph, Stream

    def __init__(self, *, end_fails: bool) -> None:
        self.end_fails = end_fails
        self.own = Stream()
        self.current = self.own
        self.captures: list[tuple[Any, Any]] = []  # pool and stream of each

    def current_stream(self) -> Stream:
        return self.current

    def set_stream(self, stream: Stream) -> None:
        self.current = stream

    @contextmanager
    def stream(self, stream: Stream) -> Iterator[None]:
        before, self.current = self.current, stream
        try:
            yield
        finally:
            self.current = before

    @contextmanager
    def graph(self, graph: Graph, *, pool: Any, stream: Any, **options: Any) -> Iterator[None]:
        """As torch does it: where the capture's end fails, the stream stays."""
        before, self.current = self.current, stream
        self.captures.append((pool, stream))
        try:
            yield
        finally:
            if self.end_fails:
                raise RuntimeError("operation failed due to a previous error during capture")
            self.current = before


@pytest.fixture
def stand_in(monkeypatch) -> Iterator[Any]:
    side_stream.cache_clear()

    def put(**options: Any) -> StandIn:
        cuda = StandIn(**options)
        for name in ("CUDAGraph", "Stream", "current_stream", "set_stream", "stream", "graph"):
            monkeypatch.setattr(decode_graph.torch.cuda, name, getattr(cuda, name))
        return cuda

    yield put
    side_stream.cache_clear()


class Work:
    def __init__(self, cuda: StandIn, fails_at: int | None = None) -> None:
        self.cuda, self.fails_at = cuda, fails_at
        self.streams: list[Stream] = []

    def __call__(self) -> torch.Tensor:
        self.streams.append(self.cuda.current)
        if len(self.streams) - 1 == self.fails_at:
            raise RuntimeError("the device was waited for")
        return torch.zeros(1)


def test_work_warms_up_and_is_captured_on_the_one_side_stream_of_the_process(stand_in):
    cuda = stand_in(end_fails=False)
    one, two, work = CudaRecorder(), CudaRecorder(), Work(cuda)
    for recorder in (one, one, two):
        recorder(work)
    assert set(work.streams) == {side_stream()}
    assert len(work.streams) == 3 * (WARM_UPS + 1)
    assert cuda.captures == [
        (None, side_stream()),
        ("the pool", side_stream()),
        (None, side_stream()),
    ]
    assert cuda.current is cuda.own


@pytest.mark.parametrize("end_fails", [True, False])
def test_a_capture_that_fails_says_its_cause_and_leaves_the_thread_on_its_own_stream(
    stand_in, end_fails
):
    cuda = stand_in(end_fails=end_fails)
    with pytest.raises(RuntimeError, match="the device was waited for"):
        CudaRecorder()(Work(cuda, fails_at=WARM_UPS))
    assert cuda.current is cuda.own


def test_a_capture_of_which_only_the_end_fails_says_so(stand_in):
    cuda = stand_in(end_fails=True)
    with pytest.raises(RuntimeError, match="due to a previous error"):
        CudaRecorder()(Work(cuda))
    assert cuda.current is cuda.own


def test_work_that_fails_as_it_warms_up_is_not_captured(stand_in):
    cuda = stand_in(end_fails=True)
    with pytest.raises(RuntimeError, match="the device was waited for"):
        CudaRecorder()(Work(cuda, fails_at=0))
    assert (cuda.captures, cuda.current) == ([], cuda.own)
