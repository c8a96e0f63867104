"""One manager per attention type: which blocks a prefix hits, and which have left the window.

vLLM 0.17.1: v1/core/single_type_kv_cache_manager.py
"""

from collections.abc import Mapping, Sequence

from engine.core.block import NULL_BLOCK_ID
from engine.core.block_hash import merge_hashes
from engine.core.block_pool import BlockPool, FullBlocks
from engine.core.kv_cache_spec import (
    ChunkedLocalAttentionSpec,
    CrossAttentionSpec,
    FullAttentionSpec,
    KVCacheSpec,
    MambaSpec,
    MLAAttentionSpec,
    SinkFullAttentionSpec,
    SlidingWindowSpec,
    cdiv,
)
from engine.core.prefix_query import PrefixQuery
from engine.core.request import Request
from engine.errors import ConfigError
from engine.trace.events import HolesMade


class SingleTypeManager:
    """The block tables of one KV-cache group. Base: full attention, where nothing is skipped.

    Invariant: the first `num_cached_blocks[id]` blocks of a table are in the prefix cache (or
    null), so caching goes on from there.

    vLLM 0.17.1: SingleTypeKVCacheManager, FullAttentionManager
    """

    has_common_prefix = True

    def __init__(
        self, spec: KVCacheSpec, group_id: int, pool: BlockPool, hash_block_size: int
    ) -> None:
        self.spec = spec
        self.block_size = spec.block_size
        self.group_id = group_id
        self.pool = pool
        self.hash_factor = spec.block_size // hash_block_size
        self.block_tables: dict[str, list[int]] = {}
        self.num_cached_blocks: dict[str, int] = {}

    # Lookup -----------------------------------------------------------------------------------

    @classmethod
    def find_longest_cache_hit(
        cls, spec: KVCacheSpec, pool: BlockPool, query: PrefixQuery
    ) -> list[list[int]]:
        """Hit block ids per group of the query: the chain from the left up to the first miss."""
        columns = []
        for block_hash in query.block_hashes[: query.max_length // spec.block_size]:
            found = pool.get_cached_block(block_hash, query.group_ids)
            if found is None:
                break
            columns.append(found)
        if query.drops_last_block and columns:
            columns.pop()
        while len(columns) * spec.block_size % query.alignment:
            columns.pop()
        return _rows(columns, query.group_ids)

    # Allocation -------------------------------------------------------------------------------

    def get_num_skipped_tokens(self, num_computed_tokens: int) -> int:
        """Tokens at the start that no later token attends to."""
        return 0

    def get_num_blocks_to_allocate(
        self, request_id: str, num_tokens: int, hit_block_ids: Sequence[int], num_computed: int
    ) -> int:
        """Blocks that leave the free queue: new ones, and hits that lie in it (SEMANTICS 6)."""
        num_held = len(self.block_tables.get(request_id, ()))
        num_skipped = self.get_num_skipped_tokens(num_computed) // self.block_size
        num_present = max(num_skipped, num_held + len(hit_block_ids))
        num_new = max(cdiv(num_tokens, self.block_size) - num_present, 0)
        if not hit_block_ids:
            return num_new
        blocks = self.pool.blocks
        return num_new + sum(
            id_ != NULL_BLOCK_ID and blocks[id_].ref_cnt == 0
            for id_ in hit_block_ids[max(0, num_skipped - num_held) :]
        )

    def add_hit_blocks(
        self, request_id: str, hit_block_ids: Sequence[int], num_computed: int
    ) -> None:
        """Begin the table of an admitted request with its hits; those out of reach stay null."""
        num_skipped = self.get_num_skipped_tokens(num_computed) // self.block_size
        in_reach = hit_block_ids[num_skipped:]
        block_ids = [NULL_BLOCK_ID] * num_skipped + list(in_reach)
        if block_ids:
            self.pool.touch(request_id, self.group_id, block_ids)
            self.block_tables[request_id] = block_ids
        self.num_cached_blocks[request_id] = len(block_ids)

    def allocate_new_blocks(self, request_id: str, num_tokens: int) -> list[int]:
        """Take what the table lacks to hold `num_tokens` tokens. The new ids."""
        table = self.block_tables.setdefault(request_id, [])
        count = cdiv(num_tokens, self.block_size) - len(table)
        if count <= 0:
            return []
        new_ids = self.pool.take(request_id, self.group_id, count)
        table.extend(new_ids)
        return new_ids

    def cache_blocks(self, request: Request, num_tokens: int) -> None:
        """Enter the blocks that are full at `num_tokens` tokens into the prefix cache."""
        num_full = num_tokens // self.block_size
        first = self.num_cached_blocks.get(request.request_id, 0)
        if first >= num_full:
            return
        hashes = merge_hashes(request.block_hashes, self.hash_factor)
        full = FullBlocks(
            self.group_id,
            self.block_size,
            first,
            self.block_tables[request.request_id][first:num_full],
            hashes[first:num_full],
            hashes[first - 1] if first else None,
        )
        self.pool.cache_full_blocks(request, full)
        self.num_cached_blocks[request.request_id] = num_full

    def get_num_quiet_tokens(self, request_id: str, num_lookahead_tokens: int) -> int:
        """Up to how many tokens the request needs no block, fills none and leaves none behind."""
        num_held = len(self.block_tables.get(request_id, ()))
        num_cached = self.num_cached_blocks.get(request_id, 0)
        room = num_held * self.block_size - num_lookahead_tokens
        return min(room, (num_cached + 1) * self.block_size - 1)

    # Release ----------------------------------------------------------------------------------

    def remove_skipped_blocks(self, request_id: str, num_computed_tokens: int) -> None:
        """Replace blocks that have left the window by the null block, from right to left."""
        table = self.block_tables.get(request_id, [])
        num_skipped = self.get_num_skipped_tokens(num_computed_tokens) // self.block_size
        indices, freed = [], []
        for index in range(min(num_skipped, len(table)) - 1, -1, -1):
            if table[index] == NULL_BLOCK_ID:
                break
            indices.append(index)
            freed.append(table[index])
            table[index] = NULL_BLOCK_ID
        if freed:
            to_head = self.pool.release(freed)
            self.pool.emit(
                HolesMade(request_id, self.group_id, tuple(indices), tuple(freed), to_head)
            )

    def pop_table(self, request_id: str) -> list[int]:
        """Forget the request's table and return it; its blocks are still referenced."""
        self.num_cached_blocks.pop(request_id, None)
        return self.block_tables.pop(request_id, [])

    def get_num_common_prefix_blocks(self, request_id: str) -> int:
        """Leading blocks that every request with blocks in this group shares (SEMANTICS 8)."""
        if not self.has_common_prefix:
            return 0
        num_common, num_tables = 0, len(self.block_tables)
        for block_id in self.block_tables.get(request_id, ()):
            if self.pool.blocks[block_id].ref_cnt != num_tables:
                break
            num_common += 1
        return num_common


class SlidingWindowManager(SingleTypeManager):
    """Only the blocks under the window before the next token must be cached.

        . . . . . [w w w w] t      a hit needs the w blocks; those in front may be gone

    vLLM 0.17.1: SlidingWindowManager
    """

    has_common_prefix = False

    def get_num_quiet_tokens(self, request_id: str, num_lookahead_tokens: int) -> int:
        return 0  # a block may leave the window at any step

    def get_num_skipped_tokens(self, num_computed_tokens: int) -> int:
        assert isinstance(self.spec, SlidingWindowSpec)
        return max(0, num_computed_tokens - self.spec.window + 1)

    @classmethod
    def find_longest_cache_hit(
        cls, spec: KVCacheSpec, pool: BlockPool, query: PrefixQuery
    ) -> list[list[int]]:
        """Scan from the right for a run long enough; else the run at block 0, however short."""
        assert isinstance(spec, SlidingWindowSpec)
        size = spec.block_size
        wanted = cdiv(spec.window - 1, size) + query.drops_last_block
        nulls = [NULL_BLOCK_ID] * len(query.group_ids)
        columns = [nulls] * (query.max_length // size)
        run = 0
        for index in range(len(columns) - 1, -1, -1):
            found = pool.get_cached_block(query.block_hashes[index], query.group_ids)
            if found is None:
                run = 0
                continue
            if run == 0 and (index + 1) * size % query.alignment:
                continue
            columns[index] = found
            run += 1
            if run >= wanted:
                del columns[index + run :]
                break
        else:
            del columns[run:]
            while len(columns) * size % query.alignment:
                columns.pop()
        if query.drops_last_block and columns:
            query.check_drop(size)
            columns.pop()
        return _rows(columns, query.group_ids)


class ChunkedLocalAttentionManager(SingleTypeManager):
    """Everything before the current chunk counts as a hit, cached or not: it is never read.

    vLLM 0.17.1: ChunkedLocalAttentionManager
    """

    has_common_prefix = False

    def get_num_quiet_tokens(self, request_id: str, num_lookahead_tokens: int) -> int:
        return 0  # a block may leave the chunk at any step

    def get_num_skipped_tokens(self, num_computed_tokens: int) -> int:
        assert isinstance(self.spec, ChunkedLocalAttentionSpec)
        return num_computed_tokens // self.spec.chunk * self.spec.chunk

    @classmethod
    def find_longest_cache_hit(
        cls, spec: KVCacheSpec, pool: BlockPool, query: PrefixQuery
    ) -> list[list[int]]:
        assert isinstance(spec, ChunkedLocalAttentionSpec)
        size = spec.block_size
        first = query.max_length // spec.chunk * spec.chunk // size
        columns = [[NULL_BLOCK_ID] * len(query.group_ids)] * first
        for block_hash in query.block_hashes[first : query.max_length // size]:
            found = pool.get_cached_block(block_hash, query.group_ids)
            if found is None:
                break
            columns.append(found)
        while len(columns) * size % query.alignment:
            columns.pop()
        return _rows(columns, query.group_ids)


def _rows(columns: list[list[int]], group_ids: Sequence[int]) -> list[list[int]]:
    """One list per logical block -> one list per group."""
    if len(group_ids) == 1:
        return [[column[0] for column in columns]]
    return [[column[i] for column in columns] for i in range(len(group_ids))]


# What is missing names the behaviour that is not known exactly enough to be run.
SPEC_TO_MANAGER: Mapping[type[KVCacheSpec], type[SingleTypeManager] | str] = {
    FullAttentionSpec: SingleTypeManager,
    SinkFullAttentionSpec: "how the sink blocks in front of every request are taken and kept",
    MLAAttentionSpec: SingleTypeManager,  # vLLM: FullAttentionManager, only the page differs
    SlidingWindowSpec: SlidingWindowManager,
    ChunkedLocalAttentionSpec: ChunkedLocalAttentionManager,
    MambaSpec: "when its state blocks are taken, kept and shared",
    CrossAttentionSpec: "how the encoder's blocks are taken and freed",
}


def build_manager(
    spec: KVCacheSpec, group_id: int, pool: BlockPool, hash_block_size: int
) -> SingleTypeManager:
    """The manager of a group; ConfigError where its rules are not implemented."""
    manager = SPEC_TO_MANAGER[type(spec)]
    if isinstance(manager, str):
        raise ConfigError(
            f"KV-cache group {group_id}: {type(spec).__name__} can be sized but not run, "
            f"because it is missing {manager}: use full, sliding, chunked_local or mla groups"
        )
    return manager(spec, group_id, pool, hash_block_size)
