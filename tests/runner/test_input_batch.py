"""From what the scheduler says to positions, slots and rows."""

import torch

from engine.config import SamplingParams
from engine.core.output import ScheduledRequest, SchedulerOutput
from engine.core.request import Request
from engine.runner.input_batch import build_input_batch, slots_of


def share(request_id: str, num_tokens: int, num_computed: int, num_new: int) -> ScheduledRequest:
    token_ids = [100 * (ord(request_id) - 96) + position for position in range(num_tokens)]
    request = Request(request_id, token_ids, sampling=SamplingParams(), arrival_time=0.0)
    return ScheduledRequest(request, "running", num_new, num_computed, None)


def output(*shares: ScheduledRequest) -> SchedulerOutput:
    total = sum(one.num_scheduled_tokens for one in shares)
    return SchedulerOutput(list(shares), [], (0,), total)


def test_prefill_chunks_and_decodes_are_packed_each_with_its_own_positions():
    tables = {"a": [[3, 1]], "b": [[2, 5, 4]], "c": [[6]]}
    step = output(share("a", 7, 4, 3), share("b", 10, 9, 1), share("c", 6, 0, 2))
    batch = build_input_batch(step, tables.__getitem__, [4], torch.device("cpu"))
    assert batch.input_ids.tolist() == [[104, 105, 106, 209, 300, 301]]
    assert batch.positions.tolist() == [[4, 5, 6, 9, 0, 1]]
    (group,) = batch.groups
    assert group.slot_mapping.tolist() == [4, 5, 6, 17, 24, 25]
    assert list(group.query_start) == [0, 3, 4, 6]
    assert list(group.seq_lens) == [7, 10, 2]
    assert batch.sample_rows.tolist() == [2, 3]  # c's prompt goes on
    assert [one.request.request_id for one in batch.sampling] == ["a", "b"]


def test_every_group_has_its_own_slots():
    tables = {"a": [[3, 1], [0, 7]]}  # group 1 is a sliding window: block 0 left it
    step = output(share("a", 6, 5, 1))
    batch = build_input_batch(step, tables.__getitem__, [4, 4], torch.device("cpu"))
    assert [group.slot_mapping.tolist() for group in batch.groups] == [[5], [29]]
    assert [list(group.block_tables) for group in batch.groups] == [[[3, 1]], [[0, 7]]]


def test_a_step_that_samples_nothing_has_no_sample_rows():
    step = output(share("a", 9, 0, 4))
    batch = build_input_batch(step, {"a": [[1]]}.__getitem__, [4], torch.device("cpu"))
    assert batch.sample_rows.shape == (0,)
    assert batch.sample_rows.dtype == torch.int64


def test_slots_at_the_edges_of_blocks():
    table = [[9, 2, 5]]
    for start, num_new, expected in (
        (0, 1, [27]),
        (1, 1, [28]),
        (2, 1, [29]),
        (3, 1, [6]),
        (2, 3, [29, 6, 7]),
        (0, 9, [27, 28, 29, 6, 7, 8, 15, 16, 17]),
    ):
        assert slots_of([share("a", 9, start, num_new)], table, 3) == expected
    assert slots_of([share("a", 3, 0, 3)], [[4, 8, 6]], 1) == [4, 8, 6]
