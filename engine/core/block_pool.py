"""All blocks of one cache: allocate, touch, cache, evict, free."""

from collections.abc import Sequence
from typing import NamedTuple

from engine.core.block import NULL_BLOCK_ID, Block, FreeBlockQueue
from engine.core.block_hash import cache_key, extra_keys
from engine.core.kv_events import AllBlocksCleared, BlockRemoved, BlockStored, KVCacheEvent
from engine.core.request import Request
from engine.trace.events import BlocksCached, BlocksFreed, BlocksTaken, BlocksTouched, Emit, ignore

_KEY_SUFFIX_BYTES = 4  # the group id behind the hash


class FullBlocks(NamedTuple):
    """A range of a request's table whose blocks have just become full."""

    group_id: int
    block_size: int  # tokens
    first: int  # logical index
    block_ids: Sequence[int]
    block_hashes: Sequence[bytes]  # one per block id
    parent_block_hash: bytes | None


class BlockPool:
    """All blocks of one cache, and the queue of those that nobody references.

    Invariant: a block other than the null block is in `free_queue` exactly when its ref_cnt is 0.
    A freed block keeps its hash, so the queue is also the order in which the prefix cache forgets.

    vLLM 0.17.1: v1/core/block_pool.py BlockPool
    """

    def __init__(
        self, num_blocks: int, *, emit: Emit = ignore, reuse_unhashed_first: bool = False
    ) -> None:
        self.num_blocks = num_blocks
        self.reuse_unhashed_first = reuse_unhashed_first
        self.blocks = [Block() for _ in range(num_blocks)]
        self.free_queue = FreeBlockQueue(num_blocks)
        self.free_queue.remove(NULL_BLOCK_ID)
        self.cached: dict[bytes, list[int]] = {}  # key -> equal blocks, the oldest first
        self.unwritten: dict[int, str] = {}  # cached in this step -> who will compute its K and V
        self.kv_events: list[KVCacheEvent] = []
        self.emit = emit

    @property
    def num_free_blocks(self) -> int:
        return self.free_queue.num_free_blocks

    @property
    def usage(self) -> float:
        """Share of usable blocks in use, in exactly vLLM's form (0.19999999999999996, not 0.2)."""
        return 1.0 - self.num_free_blocks / (self.num_blocks - 1)

    def get_cached_block(self, block_hash: bytes, group_ids: Sequence[int]) -> list[int] | None:
        """The oldest block with this hash in each of the groups; None if one of them has none."""
        found = []
        for group_id in group_ids:
            block_ids = self.cached.get(cache_key(block_hash, group_id))
            if block_ids is None:
                return None
            found.append(block_ids[0])
        return found

    def take(self, request_id: str, group_id: int, count: int) -> list[int]:
        """Take `count` blocks from the head of the queue; what they had cached is forgotten."""
        block_ids = self.free_queue.pop_left(count)
        evicted = [id_ for id_ in block_ids if self.blocks[id_].cache_key is not None]
        evicted_hashes = tuple(self._forget(block_id).hex() for block_id in evicted)
        for block_id in block_ids:
            self.blocks[block_id].ref_cnt = 1
        self.emit(
            BlocksTaken(request_id, group_id, tuple(block_ids), tuple(evicted), evicted_hashes)
        )
        return block_ids

    def _forget(self, block_id: int) -> bytes:
        """Remove the block from the prefix cache; its equals stay. Returns its hash."""
        block = self.blocks[block_id]
        key = block.cache_key
        assert key is not None, f"block {block_id} is not cached"
        equal_ids = self.cached[key]
        equal_ids.remove(block_id)
        if not equal_ids:
            del self.cached[key]
        block.cache_key, block.kv_valid = None, False
        self.unwritten.pop(block_id, None)
        block_hash = key[:-_KEY_SUFFIX_BYTES]
        self.kv_events.append(BlockRemoved((block_hash,)))
        return block_hash

    def touch(self, request_id: str, group_id: int, block_ids: Sequence[int]) -> None:
        """Add a reference to hit blocks; a free one leaves the middle of the queue."""
        for block_id in block_ids:
            if block_id == NULL_BLOCK_ID:
                continue
            block = self.blocks[block_id]
            if block.ref_cnt == 0:
                self.free_queue.remove(block_id)
            block.ref_cnt += 1
        self.emit(BlocksTouched(request_id, group_id, tuple(block_ids)))

    def cache_full_blocks(self, request: Request, full: FullBlocks) -> None:
        """Enter full blocks into the prefix cache, before the model has computed them."""
        for block_id, block_hash in zip(full.block_ids, full.block_hashes, strict=True):
            if block_id == NULL_BLOCK_ID:
                continue
            block = self.blocks[block_id]
            assert block.cache_key is None, f"block {block_id} is cached already"
            block.cache_key = key = cache_key(block_hash, full.group_id)
            self.cached.setdefault(key, []).append(block_id)
            self.unwritten[block_id] = request.request_id
        self._announce(request, full)

    def _announce(self, request: Request, full: FullBlocks) -> None:
        start = full.first * full.block_size
        token_ids = tuple(request.token_ids[start : start + len(full.block_ids) * full.block_size])
        stored = [i for i, id_ in enumerate(full.block_ids) if id_ != NULL_BLOCK_ID]
        lora, salt = request.lora_name, request.cache_salt
        keys = [extra_keys(full.first + i, lora_name=lora, cache_salt=salt) for i in stored]
        hashes = tuple(full.block_hashes[i] for i in stored)
        parent = full.parent_block_hash
        self.kv_events.append(
            BlockStored(hashes, parent, token_ids, full.block_size, lora, tuple(keys))
        )
        self.emit(
            BlocksCached(
                request.request_id,
                full.group_id,
                full.first,
                tuple(full.block_ids),
                tuple(block_hash.hex() for block_hash in full.block_hashes),
                None if parent is None else parent.hex(),
                token_ids,
            )
        )

    def free(self, request_id: str, block_table: Sequence[int]) -> None:
        """Release a request's blocks, tail first, so that a prefix outlives what follows it."""
        block_ids = tuple(id_ for id_ in reversed(block_table) if id_ != NULL_BLOCK_ID)
        to_head = self.release(block_ids)
        self.emit(BlocksFreed(request_id, block_ids, to_head))

    def release(self, block_ids: Sequence[int]) -> tuple[int, ...]:
        """Give up one reference to each, in this order; those without any join the queue.

        They join its tail. With `reuse_unhashed_first` those without a hash join its head, since
        nobody can hit them: vLLM does so since PR 42656 (2026-05). The ids of these.
        """
        blocks, unreferenced = self.blocks, []
        for block_id in block_ids:
            block = blocks[block_id]
            block.ref_cnt -= 1
            assert block.ref_cnt >= 0, f"block {block_id} was freed more often than taken"
            if block.ref_cnt == 0:
                unreferenced.append(block_id)
        to_head: tuple[int, ...] = ()
        if self.reuse_unhashed_first:
            to_head = tuple(id_ for id_ in unreferenced if blocks[id_].cache_key is None)
            unreferenced = [id_ for id_ in unreferenced if blocks[id_].cache_key is not None]
            self.free_queue.prepend(to_head)
        self.free_queue.append(unreferenced)
        return to_head

    def mark_written(self) -> tuple[int, ...]:
        """The model ran: the K and V of the blocks cached in this step are there. Their ids."""
        written = tuple(self.unwritten)
        for block_id in written:
            self.blocks[block_id].kv_valid = True
        self.unwritten.clear()
        return written

    def cancel_writes(self, request_id: str) -> None:
        """The request will not run in this step after all; what it had cached stays invalid."""
        for block_id in [id_ for id_, writer in self.unwritten.items() if writer == request_id]:
            del self.unwritten[block_id]

    def is_trustworthy(self, block_id: int) -> bool:
        """Whether the block's K and V are computed, or will be before anybody reads them."""
        return self.blocks[block_id].kv_valid or block_id in self.unwritten

    def reset_prefix_cache(self) -> bool:
        """Forget every hash if no block is in use; the queue keeps its order."""
        if self.num_free_blocks != self.num_blocks - 1:
            return False
        for block_ids in self.cached.values():
            for block_id in block_ids:
                self.blocks[block_id].cache_key = None
                self.blocks[block_id].kv_valid = False
        self.cached.clear()
        self.unwritten.clear()
        self.kv_events.append(AllBlocksCleared())
        return True

    def take_events(self) -> list[KVCacheEvent]:
        """The KV-cache events since the last call."""
        events, self.kv_events = self.kv_events, []
        return events
