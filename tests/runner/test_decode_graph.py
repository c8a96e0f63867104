"""The bookkeeping of captured graphs, with a stand-in that does the work again at every replay."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from engine.runner.decode_graph import DecodeGraphs
from engine.runner.step_buffer import DecodeInputs, DecodeRow

CPU = torch.device("cpu")


class Repeated:
    """A recording as a graph makes it: same work, same output tensor."""

    def __init__(self, work: Callable[[], Tensor]) -> None:
        self.work = work
        self.output = work()

    def replay(self) -> None:
        self.output.copy_(self.work())


class Step:
    """Notes what a step could read; its logits are the token id and the position of each row."""

    def __init__(self) -> None:
        self.seen: list[dict[str, list[int]]] = []
        self.addresses: set[tuple[int, int]] = set()

    def __call__(self, inputs: DecodeInputs) -> Tensor:
        self.seen.append(
            {
                "input_ids": inputs.input_ids.tolist(),
                "positions": inputs.positions.tolist(),
                "seq_lens": inputs.seq_lens.tolist(),
                "query_start": inputs.query_start.tolist(),
                "slots": [slots.tolist() for slots in inputs.slot_mappings],
                "tables": [table.tolist() for table in inputs.block_tables],
            }
        )
        self.addresses.add((len(inputs.input_ids), inputs.input_ids.data_ptr()))
        return torch.stack([inputs.input_ids, inputs.positions], 1)


def build(step: Step, **options) -> DecodeGraphs:
    settings = {"block_sizes": (4,), "most_blocks": (3,), "buckets": (1, 2, 4)} | options
    return DecodeGraphs(step, device=CPU, recorder=Repeated, **settings)


def row(token_id: int, position: int, *tables: list[int]) -> DecodeRow:
    return DecodeRow(token_id, position, tables)


def test_a_step_of_three_takes_the_graph_of_four_and_its_spare_row_sees_and_writes_nothing():
    step = Step()
    graphs = build(step)
    logits = graphs.run([row(11, 0, [5]), row(12, 7, [2, 9]), row(13, 8, [1, 3, 6])])
    assert logits.tolist() == [[11, 0], [12, 7], [13, 8]]
    assert step.seen[-1] == {
        "input_ids": [11, 12, 13, 0],
        "positions": [0, 7, 8, 0],
        "seq_lens": [1, 8, 9, 0],
        "query_start": [0, 1, 2, 3, 4],
        "slots": [[20, 39, 24, -1]],
        "tables": [[[5, 0, 0], [2, 9, 0], [1, 3, 6], [0, 0, 0]]],
    }


def test_a_graph_is_captured_on_spare_rows_alone_so_the_cache_stays_as_it_is():
    step = Step()
    build(step).run([row(11, 0, [5]), row(12, 7, [2, 9])])
    captured, replayed = step.seen
    assert captured["slots"] == [[-1, -1]]
    assert captured["seq_lens"] == [0, 0]
    assert replayed["slots"] == [[20, 39]]


def test_a_bucket_is_captured_once_and_its_inputs_never_move():
    step = Step()
    graphs = build(step)
    for position in range(5):
        graphs.run([row(1, position, [4, 2]), row(2, position, [1, 3])])
        graphs.run([row(1, position, [4, 2])])
    assert sorted(graphs.captured) == [1, 2]
    assert len(step.seen) == 2 + 10
    assert len(step.addresses) == 2


def test_rows_of_an_earlier_step_are_spare_in_a_smaller_one():
    step = Step()
    graphs = build(step, buckets=(4,))
    graphs.run([row(n, n, [n]) for n in (1, 2, 3)])
    graphs.run([row(9, 2, [7])])
    assert step.seen[-1]["slots"] == [[30, -1, -1, -1]]
    assert step.seen[-1]["seq_lens"] == [3, 0, 0, 0]


def test_every_group_has_slots_and_a_table_of_its_own():
    step = Step()
    graphs = build(step, block_sizes=(4, 4), most_blocks=(3, 2), buckets=(2,))
    graphs.run([row(5, 6, [3, 8], [0, 9])])
    assert step.seen[-1]["slots"] == [[34, -1], [38, -1]]
    assert step.seen[-1]["tables"] == [[[3, 8, 0], [0, 0, 0]], [[0, 9], [0, 0]]]


def test_a_table_longer_than_any_request_may_grow_is_cut():
    step = Step()
    build(step, buckets=(1,), most_blocks=(2,)).run([row(5, 6, [3, 8, 1])])
    assert step.seen[-1]["tables"] == [[[3, 8]]]


@pytest.mark.parametrize(("num_rows", "bucket"), [(1, 1), (2, 2), (3, 4), (4, 4)])
def test_the_smallest_bucket_that_holds_the_rows(num_rows, bucket):
    assert build(Step()).bucket_of(num_rows) == bucket


@pytest.mark.parametrize("num_rows", [0, 5])
def test_more_rows_than_the_largest_bucket_are_no_step_for_a_graph(num_rows):
    with pytest.raises(AssertionError):
        build(Step()).run([row(1, 0, [1])] * num_rows)
