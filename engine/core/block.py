"""A block, and the doubly linked queue of the blocks that nobody references."""

from array import array
from collections.abc import Iterator, Sequence

import msgspec

NULL_BLOCK_ID = 0


class Block(msgspec.Struct, gc=False, eq=False):
    """The bookkeeping of one block; its K and V lie in the cache tensors at the same id.

    vLLM 0.17.1: v1/core/kv_cache_utils.py KVCacheBlock
    """

    ref_cnt: int = 0
    cache_key: bytes | None = None  # hash and group; survives freeing, until eviction
    kv_valid: bool = False  # it has a hash, and all of its K and V were computed


class FreeBlockQueue:
    """Ids of free blocks in eviction order: taken at the head, appended at the tail. Since
    vllm#42656 some are put at the head instead (`prepend`).

        head -> 5 <-> 8 <-> 2 -> tail

    Two arrays of links (`_next`, `_previous`) with one sentinel make every operation O(1), also
    the removal from the middle that a prefix hit needs. A block that is not in the queue has no
    links (`_next[id] == _ABSENT`).

    vLLM 0.17.1: v1/core/kv_cache_utils.py FreeKVCacheBlockQueue
    """

    _ABSENT = -1

    def __init__(self, num_blocks: int) -> None:
        self._sentinel = num_blocks
        self._next = array("q", range(1, num_blocks + 2))
        self._next[num_blocks] = 0
        self._previous = array("q", range(-1, num_blocks))
        self._previous[0] = num_blocks
        self.num_free_blocks = num_blocks

    def __len__(self) -> int:
        return self.num_free_blocks

    def __contains__(self, block_id: int) -> bool:
        return self._next[block_id] != self._ABSENT

    def __iter__(self) -> Iterator[int]:
        block_id = self._next[self._sentinel]
        while block_id != self._sentinel:
            yield block_id
            block_id = self._next[block_id]

    def __reversed__(self) -> Iterator[int]:
        block_id = self._previous[self._sentinel]
        while block_id != self._sentinel:
            yield block_id
            block_id = self._previous[block_id]

    def pop_left(self, count: int) -> list[int]:
        """Take `count` ids from the head; there must be as many."""
        assert count <= self.num_free_blocks, f"{count} wanted, {self.num_free_blocks} free"
        following, taken = self._next, []
        block_id = following[self._sentinel]
        for _ in range(count):
            taken.append(block_id)
            after = following[block_id]
            following[block_id] = self._ABSENT
            block_id = after
        following[self._sentinel] = block_id
        self._previous[block_id] = self._sentinel
        self.num_free_blocks -= count
        return taken

    def remove(self, block_id: int) -> None:
        """Take one id out of wherever it stands."""
        assert self._next[block_id] != self._ABSENT, f"block {block_id} is not free"
        before, after = self._previous[block_id], self._next[block_id]
        self._next[before], self._previous[after] = after, before
        self._next[block_id] = self._ABSENT
        self.num_free_blocks -= 1

    def append(self, block_ids: Sequence[int]) -> None:
        """Put ids at the tail, in this order."""
        following, previous = self._next, self._previous
        last = previous[self._sentinel]
        for block_id in block_ids:
            assert following[block_id] == self._ABSENT, f"block {block_id} is free already"
            following[last], previous[block_id] = block_id, last
            last = block_id
        following[last], previous[self._sentinel] = self._sentinel, last
        self.num_free_blocks += len(block_ids)

    def prepend(self, block_ids: Sequence[int]) -> None:
        """Put ids in front of all others: the first of them is taken next."""
        following, previous = self._next, self._previous
        head = following[self._sentinel]
        for block_id in reversed(block_ids):
            assert following[block_id] == self._ABSENT, f"block {block_id} is free already"
            following[block_id], previous[head] = head, block_id
            head = block_id
        following[self._sentinel], previous[head] = head, self._sentinel
        self.num_free_blocks += len(block_ids)
