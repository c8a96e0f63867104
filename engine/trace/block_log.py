"""What every block was doing at every position, change by change.

    position   3   3   3  11  11 ..
    block      1   2   3   1   2 ..     a change each; between two changes nothing is written down
    state      u   u   u   s   s ..

Whole pictures are left on the way, so that any position is near one. All of it grows with what
happened: a picture is as long as the highest block id that was used.
"""

from array import array
from bisect import bisect_right
from typing import NamedTuple

BLOCK_STATES = ("unused", "free", "remembered", "used", "shared")  # in the order of their codes
UNUSED, FREE, REMEMBERED, USED, SHARED = range(len(BLOCK_STATES))
MIN_FRAME_DISTANCE = 4_096  # changes


class BlockPicture(NamedTuple):
    """Code and latest taker of the blocks 0, 1, 2, ..; those beyond the end were never used."""

    codes: bytearray
    takers: "array[int]"  # numbers of requests, from 0

    def copy(self) -> "BlockPicture":
        return BlockPicture(bytearray(self.codes), array("i", self.takers))


class BlockLog:
    """Append-only, like the trace that it is made from."""

    def __init__(self) -> None:
        self.positions = array("q")  # rising; several changes may share one
        self.block_ids = array("i")
        self.codes = bytearray()
        self.takers = array("i")
        self.now = BlockPicture(bytearray(1), array("i", [0]))
        self._frame_places = array("q", [0])
        self._frames = [self.now.copy()]

    @property
    def num_changes(self) -> int:
        return len(self.positions)

    @property
    def num_used_blocks(self) -> int:
        """How many blocks were ever used: 1 to this number, because they are taken in order."""
        return len(self.now.codes) - 1

    def note(self, position: int, block_id: int, *, code: int, taker: int) -> None:
        """The block is so from `position` on; nothing happens if it was so before."""
        codes, takers = self.now
        if block_id >= len(codes):
            missing = block_id + 1 - len(codes)
            codes.extend(bytes(missing))
            takers.extend([0] * missing)
        elif codes[block_id] == code and takers[block_id] == taker:
            return
        codes[block_id], takers[block_id] = code, taker
        self.positions.append(position)
        self.block_ids.append(block_id)
        self.codes.append(code)
        self.takers.append(taker)
        if self.num_changes - self._frame_places[-1] >= max(MIN_FRAME_DISTANCE, len(codes) // 4):
            self._frame_places.append(self.num_changes)
            self._frames.append(self.now.copy())

    def num_changes_until(self, position: int) -> int:
        return bisect_right(self.positions, position)

    def at(self, position: int) -> BlockPicture:
        """A picture of one's own: everything that happened up to `position`."""
        place = self.num_changes_until(position)
        frame = bisect_right(self._frame_places, place) - 1
        codes, takers = picture = self._frames[frame].copy()
        missing = max(self.block_ids[self._frame_places[frame] : place], default=0) + 1 - len(codes)
        codes.extend(bytes(max(0, missing)))
        takers.extend([0] * max(0, missing))
        for change in range(self._frame_places[frame], place):
            block_id = self.block_ids[change]
            codes[block_id], takers[block_id] = self.codes[change], self.takers[change]
        return picture
