"""The allocators before paging, and paging beside them, under the same requests.

Memory is a row of `capacity` slots, one token's K and V each. What a request holds is made of
regions: one, of a length fixed when it comes (reserved); one that grows and moves (growing); many of
one size, wherever there is room (paged). Nothing here is shared between requests.

    reserved  AAAA......BB........        a region is as long as the request could become
    growing   AAAABBB..CCCCCC.....        as long as it is; whoever stands in the way makes it move
    paged     AAAABB..AA..CCCCBBBB        blocks of 4: only a last block has empty slots
"""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from engine.checks import whole_number


class Life(NamedTuple):
    """What one request asks for: `lengths[k]` tokens in its k-th step since it was placed."""

    request_id: str
    arrival_step: int
    lengths: tuple[int, ...]  # never falling
    most_tokens: int  # what it might have come to, as far as anybody could know on its arrival
    is_finished: bool = True  # False: it still holds its last length where the record ends


class Region(NamedTuple):
    """Slots `start` to `start + size - 1`, of which the first `num_tokens` hold a token."""

    start: int
    size: int
    num_tokens: int
    request_id: str

    @property
    def stop(self) -> int:
        return self.start + self.size


class Usage(NamedTuple):
    """Where all slots are: the four add up to the capacity."""

    used: int  # hold a token
    internal: int  # held by a request, empty
    external: int  # free, in holes shorter than the piece that is asked for next
    free: int  # free, in holes that are long enough

    @property
    def held(self) -> int:
        return self.used + self.internal

    @property
    def taken(self) -> int:
        """Slots that nobody else can get."""
        return self.used + self.internal + self.external


class Allocator:
    """A row of slots in regions that never overlap. `changed` is what differs since it was taken."""

    def __init__(self, capacity: int) -> None:
        self.capacity = whole_number("capacity", capacity, 1)
        self.regions: dict[int, Region] = {}  # start -> region
        self.num_tokens_copied = 0
        self.num_compactions = 0
        self._changed: dict[int, Region | None] = {}
        self._num_used = self._num_held = 0

    def can_ever_hold(self, life: Life) -> bool:
        """Whether the request fits an empty memory, now and for as long as it lives."""
        raise NotImplementedError

    def piece(self, life: Life, num_tokens: int) -> int:
        """How many slots in a row a request that comes with `num_tokens` asks for at once."""
        raise NotImplementedError

    def place(self, life: Life, num_tokens: int) -> bool:
        """Give a new request room for its first tokens; False where there is none."""
        raise NotImplementedError

    def grow(self, request_id: str, num_tokens: int) -> bool:
        """Make room until the request holds `num_tokens`; False, and no change, where there is none."""
        raise NotImplementedError

    def free(self, request_id: str) -> None:
        raise NotImplementedError

    def num_unusable(self, piece: int | None) -> int:
        """Free slots in holes shorter than `piece`; None: nobody will ask for one."""
        raise NotImplementedError

    def usage(self, piece: int | None) -> Usage:
        external = self.num_unusable(piece)
        free = self.capacity - self._num_held - external
        return Usage(self._num_used, self._num_held - self._num_used, external, free)

    @property
    def num_free(self) -> int:
        """Free slots, wherever they are."""
        return self.capacity - self._num_held

    def take_changes(self) -> dict[int, Region | None]:
        """Start -> the region that begins there now, or None, since this was last asked."""
        taken, self._changed = self._changed, {}
        return taken

    def _put(self, region: Region) -> None:
        """A new region, or one that changes where it stands."""
        if region.start in self.regions:
            self._drop(region.start)
        self.regions[region.start] = self._changed[region.start] = region
        self._num_used += region.num_tokens
        self._num_held += region.size

    def _drop(self, start: int) -> Region:
        region = self.regions.pop(start)
        self._changed[start] = None
        self._num_used -= region.num_tokens
        self._num_held -= region.size
        return region


class ContiguousAllocator(Allocator):
    """One region a request."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self._starts: dict[str, int] = {}

    def free(self, request_id: str) -> None:
        self._drop(self._starts.pop(request_id))

    def region_of(self, request_id: str) -> Region:
        return self.regions[self._starts[request_id]]

    def num_unusable(self, piece: int | None) -> int:
        return sum(size for _, size in self.holes() if piece is not None and size < piece)

    def holes(self) -> Iterator[tuple[int, int]]:
        """Start and size of each gap between regions, from the front."""
        end = 0
        for region in sorted(self.regions.values()):
            if region.start > end:
                yield end, region.start - end
            end = region.stop
        if end < self.capacity:
            yield end, self.capacity - end

    def _settle(self, start: int, size: int, num_tokens: int, request_id: str) -> None:
        self._starts[request_id] = start
        self._put(Region(start, size, num_tokens, request_id))


class ReservedAllocator(ContiguousAllocator):
    """A region of the greatest length that the request could reach, in the first hole that fits."""

    def can_ever_hold(self, life: Life) -> bool:
        return life.most_tokens <= self.capacity

    def piece(self, life: Life, _: int) -> int:
        return life.most_tokens

    def place(self, life: Life, num_tokens: int) -> bool:
        assert num_tokens <= life.most_tokens, (life, num_tokens)
        start = next((start for start, size in self.holes() if size >= life.most_tokens), None)
        if start is None:
            return False
        self._settle(start, life.most_tokens, num_tokens, life.request_id)
        return True

    def grow(self, request_id: str, num_tokens: int) -> bool:
        region = self.region_of(request_id)
        assert region.num_tokens <= num_tokens <= region.size, (region, num_tokens)
        self._put(region._replace(num_tokens=num_tokens))
        return True


class GrowingAllocator(ContiguousAllocator):
    """A region as long as its tokens. What cannot grow where it stands is copied to the first hole that
    fits; where no hole is long enough, but all of them are, the regions are pushed together.
    """

    def can_ever_hold(self, life: Life) -> bool:
        return life.lengths[-1] <= self.capacity

    def piece(self, _: Life, num_tokens: int) -> int:
        return num_tokens

    def place(self, life: Life, num_tokens: int) -> bool:
        if self.num_free < num_tokens:
            return False
        self._settle(self._room_for(num_tokens), num_tokens, num_tokens, life.request_id)
        return True

    def grow(self, request_id: str, num_tokens: int) -> bool:
        region = self.region_of(request_id)
        assert region.num_tokens <= num_tokens, (region, num_tokens)
        num_new = num_tokens - region.size
        if self._num_free_behind(region) >= num_new:
            self._put(region._replace(size=num_tokens, num_tokens=num_tokens))
            return True
        if self.num_free < num_new:
            return False
        self._drop(region.start)
        start = self._room_for(num_tokens)
        self.num_tokens_copied += region.num_tokens if start != region.start else 0
        self._settle(start, num_tokens, num_tokens, request_id)
        return True

    def compact(self) -> None:
        """Push all regions to the front, in their order: every one that moves is copied whole."""
        self.num_compactions += 1
        end = 0
        for region in sorted(self.regions.values()):
            if region.start != end:
                self._drop(region.start)
                self._settle(end, region.size, region.num_tokens, region.request_id)
                self.num_tokens_copied += region.num_tokens
            end += region.size

    def _room_for(self, size: int) -> int:
        """Where a hole of this size starts, or is made; that many slots are free."""
        found = next((start for start, hole in self.holes() if hole >= size), None)
        if found is not None:
            return found
        self.compact()
        return self.capacity - self.num_free

    def _num_free_behind(self, region: Region) -> int:
        behind = (other.start for other in self.regions.values() if other.start >= region.stop)
        return min(behind, default=self.capacity) - region.stop


class PagedAllocator(Allocator):
    """Blocks of `block_size` slots, the longest free one first; slots that make no block are lost.

    vLLM 0.17.1: v1/core/block_pool.py BlockPool, without its cache and its null block
    """

    def __init__(self, capacity: int, block_size: int) -> None:
        super().__init__(capacity)
        self.block_size = whole_number("block_size", block_size, 1)
        self.num_blocks = capacity // block_size
        self.block_tables: dict[str, list[int]] = {}
        self._lengths: dict[str, int] = {}
        self._next_unused = 0
        self._freed: deque[int] = deque()

    @property
    def num_free_blocks(self) -> int:
        return self.num_blocks - self._next_unused + len(self._freed)

    def can_ever_hold(self, life: Life) -> bool:
        return -(-life.lengths[-1] // self.block_size) <= self.num_blocks

    def piece(self, _: Life, __: int) -> int:
        return self.block_size

    def place(self, life: Life, num_tokens: int) -> bool:
        self.block_tables[life.request_id], self._lengths[life.request_id] = [], 0
        if self.grow(life.request_id, num_tokens):
            return True
        self.free(life.request_id)
        return False

    def grow(self, request_id: str, num_tokens: int) -> bool:
        table, size, before = (
            self.block_tables[request_id],
            self.block_size,
            self._lengths[request_id],
        )
        assert before <= num_tokens, (request_id, before, num_tokens)
        num_new = -(-num_tokens // size) - len(table)
        if num_new > self.num_free_blocks:
            return False
        table.extend(self._take_block() for _ in range(num_new))
        for index in range(before // size, len(table)):
            in_block = min(size, num_tokens - index * size)
            self._put(Region(table[index] * size, size, in_block, request_id))
        self._lengths[request_id] = num_tokens
        return True

    def free(self, request_id: str) -> None:
        del self._lengths[request_id]
        for block_id in reversed(self.block_tables.pop(request_id)):
            self._drop(block_id * self.block_size)
            self._freed.append(block_id)

    def num_unusable(self, _: int | None) -> int:
        """Every free block serves whoever asks; the slots behind the last block serve nobody."""
        return self.capacity % self.block_size

    def _take_block(self) -> int:
        if self._next_unused == self.num_blocks:
            return self._freed.popleft()
        self._next_unused += 1
        return self._next_unused - 1
