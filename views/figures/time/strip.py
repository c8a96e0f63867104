"""A whole run as a picture of a few hundred columns: a row for each block, a column for each moment.

    positions  0 1 2 3 4 5 6 7        a column shows how things stood when its last position was
    stride 2   [0  ][1  ][2  ][3  ]   reached, and whether an eviction happened anywhere in it

A cell is one hexadecimal digit, so that what the browser gets is at most 30 kB, however long the run
and however large the pool. It is small enough to go with each step: a part that Streamlit mounts
anew then needs nothing that it was sent before.
"""

import base64
import threading
from bisect import bisect_right
from typing import NamedTuple

from engine.trace.block_log import BLOCK_STATES
from engine.trace.history import History, history_of
from engine.trace.per_trace import OnePerTrace
from engine.trace.trace import Trace

MAX_COLUMNS = 350
MAX_ROWS = 128
MAX_TAKER_RUNS = 1_500  # beyond them a picture does not say who took a block
EVICTED = 8  # added to the code of the state

Runs = list[int]  # column, value, column, value, ..
_HEX = bytes(b"0123456789abcdef"[value & 15] for value in range(256))


class Cut(NamedTuple):
    """How a run and a pool are cut into columns and rows."""

    first: int  # position
    stride: int  # positions in a column
    num_columns: int
    blocks_per_row: int

    def column(self, position: int) -> int:
        return (position - self.first) // self.stride

    def row(self, block_id: int) -> int:
        return (block_id - 1) // self.blocks_per_row

    def last_positions(self, last: int) -> list[int]:
        """Of each column: where a click on it goes."""
        ends = (self.first + self.stride * (column + 1) - 1 for column in range(self.num_columns))
        return [min(end, last) for end in ends]


class Strip:
    """The picture. It follows the history: each change of a block is looked at once.

    A row that stands for several blocks shows what most of them are; of two states that are
    equally frequent the busier one. `takers` is None where there are too many to tell.
    """

    def __init__(self, history: History, cut: Cut) -> None:
        self.cut = cut
        self.rows: list[bytearray] = []  # cells up to the last change; the rest is like the last
        self.takers: list[Runs] | None = [] if cut.blocks_per_row == 1 else None
        self._num_taker_runs = 0
        self._history = history
        self._picture = history.blocks.at(cut.first)
        self._change = history.blocks.num_changes_until(cut.first)
        self._eviction = bisect_right(history.evictions[0], cut.first)
        self._counts: list[list[int]] = []
        self._begin()

    def _begin(self) -> None:
        codes, takers = self._picture
        size = self.cut.blocks_per_row
        self._grow(self.cut.row(len(codes) - 1) + 1 if len(codes) > 1 else 0)
        for row in range(len(self.rows)):
            held = codes[row * size + 1 : (row + 1) * size + 1]
            counts = [held.count(code) for code in range(len(BLOCK_STATES))]
            counts[0] += size - len(held)
            self._counts[row] = counts
            self._show(row, 0, _dominant(counts))
            self._tell(row, 0, takers[row * size + 1])

    def _grow(self, num_rows: int) -> None:
        while len(self.rows) < num_rows:
            self.rows.append(bytearray())
            self._counts.append([self.cut.blocks_per_row, *[0] * (len(BLOCK_STATES) - 1)])
            if self.takers is not None:
                self.takers.append([])

    def sweep(self, until: int) -> None:
        """Follow the history up to a position."""
        log, cut, codes = self._history.blocks, self.cut, self._picture.codes
        stop = log.num_changes_until(until)
        codes.extend(bytes(max(0, log.num_used_blocks + 1 - len(codes))))
        for change in range(self._change, stop):
            block_id, code = log.block_ids[change], log.codes[change]
            row, column = cut.row(block_id), cut.column(log.positions[change])
            self._grow(row + 1)
            counts = self._counts[row]
            counts[codes[block_id]] -= 1
            counts[code] += 1
            codes[block_id] = code
            self._show(row, column, code if cut.blocks_per_row == 1 else _dominant(counts))
            self._tell(row, column, log.takers[change])
        self._change = stop
        self._mark(until)

    def _show(self, row: int, column: int, code: int) -> None:
        """From this column on; what comes last in a column is what it shows."""
        cells = self._cells_until(row, column)
        cells[column] = cells[column] & EVICTED | code

    def _cells_until(self, row: int, column: int) -> bytearray:
        cells = self.rows[row]
        if len(cells) <= column:
            last = cells[-1] & ~EVICTED if cells else 0
            cells.extend(bytes((last,)) * (column + 1 - len(cells)))
        return cells

    def _tell(self, row: int, column: int, taker: int) -> None:
        if self.takers is None:
            return
        runs = self.takers[row]
        if runs and runs[-1] == taker:
            return
        if runs and runs[-2] == column:
            runs[-1] = taker
            return
        runs += (column, taker)
        self._num_taker_runs += 1
        if self._num_taker_runs > MAX_TAKER_RUNS:
            self.takers = None

    def _mark(self, until: int) -> None:
        positions, block_ids = self._history.evictions
        while self._eviction < len(positions) and positions[self._eviction] <= until:
            column = self.cut.column(positions[self._eviction])
            cells = self._cells_until(self.cut.row(block_ids[self._eviction]), column)
            cells[column] |= EVICTED
            self._eviction += 1

    def packed(self) -> str:
        """Two cells a byte, row after row, in base64; a half byte at the end is 0."""
        width = self.cut.num_columns
        whole = b"".join(_padded(cells, width) for cells in self.rows)
        return _packed(whole)


def _padded(cells: bytearray, width: int) -> bytearray:
    return cells.ljust(width, bytes((cells[-1] & ~EVICTED,)) if cells else b"\0")


def _packed(cells: bytes) -> str:
    digits = cells.translate(_HEX).decode() + "0" * (len(cells) % 2)
    return base64.b64encode(bytes.fromhex(digits)).decode()


def _dominant(counts: list[int]) -> int:
    most = max(counts)
    return max(code for code, count in enumerate(counts) if count == most)


def packed_block(history: History, block_id: int, cut: Cut) -> str:
    """One block by itself, where its row stands for many."""
    cells = bytearray()
    for position, state in history.spans(block_id):
        column = max(0, cut.column(position))
        if column >= cut.num_columns:
            break
        cells = _padded(cells, column)[:column]
        cells.append(BLOCK_STATES.index(state))
    return _packed(bytes(_padded(cells, cut.num_columns)))


def window_strip(history: History, first: int, until: int) -> Strip:
    """A part of the run."""
    strip = Strip(history, _cut(history, first, until))
    strip.sweep(until)
    return strip


def run_strip(trace: Trace) -> Strip:
    """The whole run."""
    return _RUN_STRIPS.of(trace).latest(history_of(trace))


class _RunStrip:
    """The picture of a whole run is kept, and goes on where it was as long as its cut fits."""

    def __init__(self) -> None:
        self._strip: Strip | None = None
        self._lock = threading.Lock()

    def latest(self, history: History) -> Strip:
        until = history.last_position
        with self._lock:
            cut, strip = _cut(history, 0, until), self._strip
            if strip is None or strip.cut._replace(num_columns=cut.num_columns) != cut:
                strip = self._strip = Strip(history, cut)
            strip.cut = cut
            strip.sweep(until)
        return strip


def _cut(history: History, first: int, until: int) -> Cut:
    """The finest one that fits; powers of two, so that most steps keep theirs."""
    stride = per_row = 1
    while (until - first) // stride + 1 > MAX_COLUMNS:
        stride *= 2
    while -(-history.blocks.num_used_blocks // per_row) > MAX_ROWS:
        per_row *= 2
    return Cut(first, stride, (until - first) // stride + 1, per_row)


_RUN_STRIPS = OnePerTrace(lambda _: _RunStrip())
