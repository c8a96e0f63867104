"""What a captured decode step reads: memory that never moves, written anew only where it changed.

A block table is long and changes seldom: in most steps a request gets no block, in some it gets one.
So the tables stay on the device, and a step brings along the one block of each row that it writes
to. All else lies in one buffer, and one copy brings it over:

    places | ids | positions | lengths | slots of group 0 | .. | blocks of group 0 | ..
    the step's first work: tables[places] = blocks

Rows that the tables do not know yet (a request joined, left, or came back with other blocks) are
copied over as a whole, in a second copy of just the part that changed.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

NO_SLOT = -1
ALIGNED = 4  # numbers: for addresses that 16 bytes divide, kernels are compiled apart


class DecodeRow(NamedTuple):
    """One request's share of a decode step.

    A table is the request's own list, the same object in every step. It may grow, and blocks that
    left a window may become null; a request that lost its blocks comes back with another list.
    """

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


class Twins:
    """Numbers on the device, and the same on the host, where Python writes them."""

    def __init__(self, size: int, device: torch.device) -> None:
        self.host = torch.zeros(size, dtype=torch.int32, pin_memory=device.type == "cuda")
        self.device = torch.zeros(size, dtype=torch.int32, device=device)
        self.numbers = memoryview(self.host.numpy())  # type: ignore[arg-type]

    def put(self, start: int, numbers: Sequence[int]) -> None:
        self.numbers[start : start + len(numbers)] = array("i", numbers)

    def copy(self) -> None:
        """To the device, without waiting: leave the host's alone until the step has been read."""
        self.device.copy_(self.host, non_blocking=True)

    def copy_part(self, start: int, end: int) -> None:
        self.device[start:end].copy_(self.host[start:end], non_blocking=True)


class TableBuffer:
    """The block tables of all rows, for the graphs of every bucket."""

    def __init__(
        self,
        num_rows: int,
        *,
        block_sizes: Sequence[int],  # by group, as all that follows
        most_blocks: Sequence[int],
        device: torch.device,
    ) -> None:
        self.block_sizes, self.most_blocks = tuple(block_sizes), tuple(most_blocks)
        ends = _ends([num_rows * most for most in most_blocks])
        self.starts, self.spare_place = ends[:-1], ends[-1]  # spare rows put their block there
        self.twins = Twins(self.spare_place + 1, device)
        nothing: Sequence[int] = ()
        self.known = [[nothing] * num_rows for _ in most_blocks]  # whose table a row holds
        self.lengths = [[0] * num_rows for _ in most_blocks]  # how much of it
        self.changed: list[tuple[int, int]] = []  # parts that only the host has

    def of_rows(self, num_rows: int) -> tuple[Tensor, ...]:
        """By group: [num_rows, most blocks]"""
        return tuple(
            self.twins.device[start : start + num_rows * most].view(num_rows, most)
            for start, most in zip(self.starts, self.most_blocks)
        )

    def enter(self, group: int, rows: Sequence[DecodeRow]) -> tuple[list[int], list[int]]:
        """The place of the block that each row writes to, and its id: what the device still lacks
        of tables that it knows. Of other tables it lacks more, which is noted in `changed`."""
        size, most, place = self.block_sizes[group], self.most_blocks[group], self.starts[group]
        known, lengths = self.known[group], self.lengths[group]
        places, block_ids = [], []
        for index, (_, position, tables) in enumerate(rows):
            table, column = tables[group], position // size
            assert column < most, (position, size, most)
            if table is not known[index] or len(table) != lengths[index]:
                self._write(group, index, table, column)
            places.append(place + column)
            block_ids.append(table[column])
            place += most
        return places, block_ids

    def _write(self, group: int, index: int, table: Sequence[int], column: int) -> None:
        """Bring the host's row up to date."""
        most, lengths = self.most_blocks[group], self.lengths[group]
        has_grown = table is self.known[group][index] and len(table) > lengths[index]
        first, last = lengths[index] if has_grown else 0, min(len(table), most)
        start = self.starts[group] + index * most
        self.twins.put(start + first, table[first:last])
        self.known[group][index], lengths[index] = table, len(table)
        if (first, last) != (column, column + 1):
            self.changed.append((start + first, start + last))

    def copy_changed(self) -> None:
        if self.changed:
            self.twins.copy_part(min(self.changed)[0], max(end for _, end in self.changed))
            self.changed.clear()


class StepBuffer:
    """The inputs of one bucket, and how the block tables get their new blocks."""

    def __init__(self, num_rows: int, tables: TableBuffer, device: torch.device) -> None:
        self.num_rows, self.tables = num_rows, tables
        num_groups = len(tables.block_sizes)
        num_places = num_rows * num_groups
        sizes = [_aligned(2 * num_places), *[_aligned(num_rows)] * (3 + num_groups), num_places]
        ends = _ends(sizes)
        self.twins = Twins(ends[-1], device)
        numbers = self.twins.numbers[: 2 * num_places]
        self.places = numbers.cast("B").cast("q")  # int64, as scatter_ asks
        self.starts = ends[1:-1]  # of ids, positions, lengths, slots by group, blocks
        parts = [self.twins.device[start : start + num_rows] for start in self.starts[:-1]]
        self.inputs = DecodeInputs(
            input_ids=parts[0],
            positions=parts[1],
            seq_lens=parts[2],
            query_start=torch.arange(num_rows + 1, dtype=torch.int32, device=device),
            slot_mappings=tuple(parts[3:]),
            block_tables=tables.of_rows(num_rows),
        )
        self.new_places = self.twins.device[: 2 * num_places].view(torch.int64)
        self.new_blocks = self.twins.device[self.starts[-1] :]

    def fill(self, rows: Sequence[DecodeRow]) -> None:
        """Put the step's rows first, make the others spare, and copy what changed to the device.

        The copies are not waited for: nothing must be filled again before the step's output has
        been read. The tables are whole once `put_blocks` has been done.
        """
        spare = self.num_rows - len(rows)
        nothing, tables = [0] * spare, self.tables
        positions = [row.position for row in rows]
        self.twins.put(self.starts[0], [row.token_id for row in rows] + nothing)
        self.twins.put(self.starts[1], positions + nothing)
        self.twins.put(self.starts[2], [position + 1 for position in positions] + nothing)
        all_places, all_blocks = [], []
        for group, size in enumerate(tables.block_sizes):
            places, blocks = tables.enter(group, rows)
            slots = [block * size + p % size for block, p in zip(blocks, positions)]
            self.twins.put(self.starts[3 + group], slots + [NO_SLOT] * spare)
            all_places += places + [tables.spare_place] * spare
            all_blocks += blocks + nothing
        self.places[:] = array("q", all_places)
        self.twins.put(self.starts[-1], all_blocks)
        tables.copy_changed()
        self.twins.copy()

    def put_blocks(self) -> None:
        """A step's first work on the device, of one launch."""
        self.tables.twins.device.scatter_(0, self.new_places, self.new_blocks)


def _aligned(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED


def _ends(sizes: Sequence[int]) -> list[int]:
    """0, and where each part ends if they lie one behind the other."""
    ends = [0]
    for size in sizes:
        ends.append(ends[-1] + size)
    return ends
