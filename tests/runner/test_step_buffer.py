"""Tables that are written only where they changed are those that were written anew each step."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from engine.runner.decode_graph import DecodeGraphs
from engine.runner.step_buffer import DecodeInputs, DecodeRow, StepBuffer, TableBuffer

CPU = torch.device("cpu")
SIZES = (4, 1)  # of a full group and of one with a window
WINDOW = 3
LONGEST = 16  # tokens of a request
NULL = 0


class Again:
    """A recording as a graph makes it: same work, same output tensor."""

    def __init__(self, work: Any) -> None:
        self.work, self.output = work, work()

    def replay(self) -> None:
        self.output.copy_(self.work())


class Server:
    """Requests that decode, with tables as the engine keeps them, and graphs that read them."""

    def __init__(self, num_ahead: int) -> None:
        self.next_block, self.num_ahead = 1, num_ahead
        self.requests: list[tuple[list[int], tuple[list[int], ...]]] = []  # [position], tables
        self.seen: list[Any] = []
        self.graphs = DecodeGraphs(
            self._note,
            block_sizes=SIZES,
            most_blocks=[LONGEST // size for size in SIZES],
            device=CPU,
            recorder=Again,
            buckets=(1, 2, 4),
        )

    def _note(self, inputs: DecodeInputs) -> Tensor:
        tables = [table.tolist() for table in inputs.block_tables]
        slots = [slots.tolist() for slots in inputs.slot_mappings]
        self.seen = [inputs.seq_lens.tolist(), slots, tables]
        return inputs.input_ids[:, None]

    def join(self, num_tokens: int) -> None:
        tables: tuple[list[int], ...] = tuple([] for _ in SIZES)
        self.requests.append(([num_tokens], tables))
        self._allocate(self.requests[-1])

    def _allocate(self, request: Any) -> None:
        """Blocks for the request's next token and for those ahead; what left the window is null."""
        (position,), tables = request
        for table, size in zip(tables, SIZES):
            while len(table) * size <= position + self.num_ahead:
                table.append(self.next_block)
                self.next_block += 1
        for index in range(max(0, position - WINDOW + 1)):
            tables[1][index] = NULL

    def advance(self) -> None:
        """A step that no graph takes: a prefill was in it."""
        for request in self.requests:
            request[0][0] += 1
        self.requests = [request for request in self.requests if request[0][0] < LONGEST]
        for request in self.requests:
            self._allocate(request)

    def decode(self) -> None:
        """A step of a graph, held to the tables as they are."""
        if not self.requests:
            return
        self.graphs.run([DecodeRow(7, at[0], tables) for at, tables in self.requests])
        lengths, slots, tables = self.seen
        spare = len(lengths) - len(self.requests)
        assert lengths == [at[0] + 1 for at, _ in self.requests] + [0] * spare
        for group, size in enumerate(SIZES):
            assert slots[group][len(self.requests) :] == [-1] * spare
            for row, ((position,), own) in enumerate(self.requests):
                table = own[group]
                assert slots[group][row] == table[position // size] * size + position % size
                known = [index for index, id_ in enumerate(table[: LONGEST // size]) if id_ != NULL]
                shown = [tables[group][row][index] for index in known]
                assert shown == [table[index] for index in known]
        self.advance()


ACTS = st.one_of(
    st.tuples(st.just("decode")),
    st.tuples(st.just("advance")),
    st.tuples(st.just("join"), st.integers(0, LONGEST - 1)),
    st.tuples(st.just("leave"), st.integers(0, 3)),
    st.tuples(st.just("return"), st.integers(0, 3), st.integers(0, LONGEST - 1)),
    st.tuples(st.just("swap"), st.integers(0, 3), st.integers(0, 3)),
)


@given(st.lists(ACTS, max_size=40), st.integers(0, 2))
@settings(deadline=None, max_examples=150)
def test_a_step_reads_the_tables_as_they_are_whatever_happened_before(acts, num_ahead):
    """Requests join and leave, are preempted and come back with other blocks, change places, and
    buckets grow and shrink with them; some steps no graph takes."""
    server = Server(num_ahead)
    for name, *numbers in acts:
        here = len(server.requests)
        if name == "join" and here < 4:
            server.join(*numbers)
        elif name == "leave" and numbers[0] < here:
            del server.requests[numbers[0]]
        elif name == "return" and numbers[0] < here:
            del server.requests[numbers[0]]
            server.join(numbers[1])
        elif name == "swap" and max(numbers) < here:
            one, two = numbers
            rows = server.requests
            rows[one], rows[two] = rows[two], rows[one]
        elif name == "advance":
            server.advance()
        server.decode()


def buffers(most_blocks: int, num_rows: int) -> tuple[TableBuffer, StepBuffer]:
    tables = TableBuffer(num_rows, block_sizes=(4,), most_blocks=(most_blocks,), device=CPU)
    return tables, StepBuffer(num_rows, tables, CPU)


def copied(tables: TableBuffer, monkeypatch) -> list[tuple[int, int]]:
    """The parts of the tables that are copied from now on."""
    found: list[tuple[int, int]] = []
    real = tables.twins.copy_part

    def copy(start: int, end: int) -> None:
        found.append((start, end))
        real(start, end)

    monkeypatch.setattr(tables.twins, "copy_part", copy)
    return found


def test_a_request_that_goes_on_copies_no_table_not_even_for_a_new_block(monkeypatch):
    tables, buffer = buffers(most_blocks=10, num_rows=2)
    one, two = [3, 8], [5]
    buffer.fill([DecodeRow(1, 6, [one]), DecodeRow(1, 2, [two])])
    parts = copied(tables, monkeypatch)
    for position in (7, 8, 9):
        if position == 8:
            one.append(9)
        buffer.fill([DecodeRow(1, position, [one]), DecodeRow(1, position - 4, [two])])
        two += [6] if position == 7 else []
        buffer.put_blocks()
    assert parts == []
    assert buffer.inputs.block_tables[0][:, :4].tolist() == [[3, 8, 9, 0], [5, 6, 0, 0]]


def test_a_request_that_joins_copies_its_own_row_alone(monkeypatch):
    tables, buffer = buffers(most_blocks=10, num_rows=4)
    first, last = [3, 8], [5]
    buffer.fill([DecodeRow(1, 6, [first]), DecodeRow(1, 2, [[4]]), DecodeRow(1, 0, [last])])
    parts = copied(tables, monkeypatch)
    buffer.fill([DecodeRow(1, 7, [first]), DecodeRow(1, 9, [[7, 6, 2]]), DecodeRow(1, 1, [last])])
    assert parts == [(10, 13)]


@pytest.mark.parametrize("num_rows", [1, 2, 8])
def test_kernels_get_addresses_that_16_bytes_divide_in_every_bucket(num_rows):
    """Or they would be compiled anew for some."""
    tables = TableBuffer(256, block_sizes=(4, 4), most_blocks=(3, 3), device=CPU)
    inputs = StepBuffer(num_rows, tables, CPU).inputs
    parts = [inputs.input_ids, inputs.positions, inputs.seq_lens, inputs.query_start]
    parts += [*inputs.slot_mappings, *inputs.block_tables]
    assert {part.data_ptr() % 16 for part in parts} == {0}


def test_a_place_behind_the_longest_request_is_no_place():
    _, buffer = buffers(most_blocks=2, num_rows=2)
    with pytest.raises(AssertionError, match=r"\(8, 4, 2\)"):  # it would be the next row's
        buffer.fill([DecodeRow(1, 8, [[3, 8, 1]])])
