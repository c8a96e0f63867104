"""How a time on a GPU is taken, told to a stand-in for torch.cuda."""

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from bench.gpu_clock import Clock

pytestmark = pytest.mark.kernels


class FakeCuda:
    """Stands in for torch.cuda: notes what is asked of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: list[str] = []
        self.streams = 0
        self.current = "main stream"
        for name in (
            "Stream", "Event", "CUDAGraph", "stream", "graph", "_sleep", "synchronize",
            "current_stream", "set_stream",
        ):  # fmt: skip
            monkeypatch.setattr(torch.cuda, name, getattr(self, name))

    def Stream(self) -> str:  # noqa: N802
        self.streams += 1
        return f"stream {self.streams}"

    def Event(self, *, enable_timing: bool) -> Any:  # noqa: N802
        assert enable_timing
        return SimpleNamespace(
            record=lambda: self.seen.append("mark"), elapsed_time=lambda end: 60.0
        )

    def CUDAGraph(self) -> Any:  # noqa: N802
        return SimpleNamespace(replay=lambda: self.seen.append("replay"))

    @contextlib.contextmanager
    def stream(self, stream: str) -> Iterator[None]:
        self.seen.append(f"warm up on {stream}")
        yield

    @contextlib.contextmanager
    def graph(self, graph: Any, *, stream: str) -> Iterator[None]:
        self.seen.append(f"capture on {stream}")
        self.current = stream
        yield
        self.current = "main stream"  # and not if anything was raised

    def current_stream(self) -> str:
        return self.current

    def set_stream(self, stream: str) -> None:
        self.current = stream

    def _sleep(self, cycles: int) -> None:
        assert cycles > 0
        self.seen.append("sleep")

    def synchronize(self) -> None:
        self.seen.append("wait")


def test_the_device_sleeps_until_all_is_launched_and_only_then_does_its_time_begin(monkeypatch):
    cuda, called = FakeCuda(monkeypatch), []
    calls = [lambda: called.append("a"), lambda: called.append("b"), lambda: called.append("c")]
    seconds = Clock(dry=False).kernel_s(calls, turns=4, rounds=1)
    assert seconds == 0.060 / 6, "milliseconds of whole turns"
    assert "".join(called) == "ab" + "abcabc", "every set as often as any other"
    assert cuda.seen == [
        "wait", "warm up on stream 1", "wait", "capture on stream 1", "replay",
        "wait", "sleep", "mark", "replay", "mark", "wait",
    ]  # fmt: skip


def test_everything_is_captured_on_one_stream(monkeypatch):
    cuda, clock = FakeCuda(monkeypatch), Clock(dry=False)
    for _ in range(3):
        clock.kernel_s([lambda: None])
    assert cuda.streams == 1


@pytest.mark.parametrize("num_bytes", [98_304, 786_432, 100_000_000, 250_000_000])
def test_the_sets_that_take_turns_are_more_than_a_cache_holds_however_small_one_is(num_bytes):
    num_sets = Clock(dry=False).num_sets(num_bytes)
    assert num_sets >= 2
    assert 300_000_000 <= num_sets * num_bytes <= 600_000_000


def test_after_a_capture_that_failed_the_next_part_is_back_on_its_own_stream(monkeypatch):
    cuda = FakeCuda(monkeypatch)
    tries = iter([None, RuntimeError("not while capturing")])

    def call() -> None:
        error = next(tries)
        if error is not None:
            raise error

    with pytest.raises(RuntimeError, match="not while capturing"):
        Clock(dry=False).kernel_s([call])
    assert cuda.current == "main stream"
