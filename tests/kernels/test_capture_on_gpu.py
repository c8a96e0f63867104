"""What only a GPU shows of a capture. Not marked `kernels`: those must run in CI, without a GPU."""

import pytest
import torch

from engine.runner.decode_graph import CudaRecorder, side_stream
from tests.kernels.gate import DEVICE

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(DEVICE != "cuda", reason="no GPU: graphs are CUDA's"),
]


def test_work_that_waits_for_the_device_is_refused_and_the_thread_goes_on_where_it_was():
    before, numbers = torch.cuda.current_stream(), torch.ones(4, device=DEVICE)
    recorder, num_calls = CudaRecorder(), 0

    def work() -> torch.Tensor:
        nonlocal num_calls
        num_calls += 1
        if num_calls > 2:  # not as it warms up
            numbers.sum().item()
        return numbers + 1

    with pytest.raises(RuntimeError, match="captur"):
        recorder(work)
    assert torch.cuda.current_stream() == before
    assert (numbers + 1).tolist() == [2.0] * 4
    recording = recorder(lambda: numbers * 3)
    numbers.fill_(5)
    recording.replay()
    assert recording.output.tolist() == [15.0] * 4


def test_recorders_share_the_stream():
    CudaRecorder()(lambda: torch.ones(1, device=DEVICE))
    assert side_stream() is side_stream()
    assert torch.cuda.current_stream() != side_stream()
