"""Several groups, one answer: the longest hit on which all KV-cache groups agree.

vLLM 0.17.1: v1/core/kv_cache_coordinator.py
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from engine.core.block_hash import merge_hashes
from engine.core.block_pool import BlockPool
from engine.core.kv_cache_spec import FullAttentionSpec, KVCacheSpec, MLAAttentionSpec
from engine.core.prefix_query import PrefixQuery
from engine.core.single_type_manager import SingleTypeManager, build_manager


class Hit(NamedTuple):
    """A cached prefix."""

    num_tokens: int
    block_ids: tuple[tuple[int, ...], ...]  # per group; null where nothing is needed


class _EqualGroups(NamedTuple):
    """Groups of one spec: they are looked up together."""

    spec: KVCacheSpec
    group_ids: tuple[int, ...]
    manager: type[SingleTypeManager]
    is_full: bool
    hash_factor: int


class Coordinator:
    """The managers of all groups behind one face.

    vLLM 0.17.1: KVCacheCoordinator, UnitaryKVCacheCoordinator, HybridKVCacheCoordinator
    """

    def __init__(
        self,
        specs: Sequence[KVCacheSpec],
        pool: BlockPool,
        *,
        hash_block_size: int,
        drops_last_hit_block: bool = False,
    ) -> None:
        self.managers = [
            build_manager(spec, group_id, pool, hash_block_size)
            for group_id, spec in enumerate(specs)
        ]
        self.pool = pool
        self.hash_block_size = hash_block_size
        self.drops_last_hit_block = drops_last_hit_block
        self.kinds = self._equal_groups(specs)
        self.alignment = math.lcm(*(kind.spec.block_size for kind in self.kinds))
        # One full kind and one other: a second pass cannot change anything any more.
        self.one_pass = len(self.kinds) == 2 and self.kinds[0].is_full

    def _equal_groups(self, specs: Sequence[KVCacheSpec]) -> list[_EqualGroups]:
        """Groups of equal spec together; full attention first, whatever its group id."""
        ids_by_spec: dict[KVCacheSpec, list[int]] = {}
        for group_id, spec in enumerate(specs):
            ids_by_spec.setdefault(spec, []).append(group_id)
        kinds = [
            _EqualGroups(
                spec,
                tuple(ids),
                type(self.managers[ids[0]]),
                isinstance(spec, FullAttentionSpec | MLAAttentionSpec),
                self.managers[ids[0]].hash_factor,
            )
            for spec, ids in ids_by_spec.items()
        ]
        return sorted(kinds, key=lambda kind: not kind.is_full)

    def find_longest_cache_hit(
        self, block_hashes: Sequence[bytes], max_length: int, *, keeps_last_block: bool = False
    ) -> Hit:
        """The longest prefix of at most `max_length` tokens that every group still holds.

        With `keeps_last_block` as if EAGLE did not drop the last one.

        Each kind searches within the length that the kinds before it found, until nothing
        shrinks any more (SEMANTICS 11).
        """
        found: dict[int, list[int]] = {}
        length = max_length
        while True:
            shorter = length
            for kind in self.kinds:
                shorter = self._hit_of_kind(
                    kind, block_hashes, shorter, found, keeps_last_block=keeps_last_block
                )
            unchanged = shorter >= length
            length = shorter
            if unchanged or self.one_pass or len(self.kinds) == 1:
                break
        for kind in self.kinds[:1]:
            if kind.is_full:
                for group_id in kind.group_ids:
                    del found[group_id][length // kind.spec.block_size :]
        return Hit(length, tuple(tuple(found[i]) for i in range(len(self.managers))))

    def stop_reason(self, block_hashes: Sequence[bytes], num_tokens: int, hit: Hit) -> str:
        """Why `hit` of a prompt of `num_tokens` is no longer (see events.PrefixLookedUp)."""
        next_block = hit.num_tokens // self.hash_block_size
        if next_block >= len(block_hashes):
            return "end"
        if next_block >= (num_tokens - 1) // self.hash_block_size:
            return "cap"
        if self.drops_last_hit_block and hit.num_tokens < (
            self.find_longest_cache_hit(
                block_hashes, num_tokens - 1, keeps_last_block=True
            ).num_tokens
        ):
            return "eagle"
        alone = [kind._replace(group_ids=(id_,)) for kind in self.kinds for id_ in kind.group_ids]
        if len(alone) > 1 and any(
            self._hit_of_kind(group, block_hashes, num_tokens - 1, {}, explains=True)
            > hit.num_tokens
            for group in alone
        ):
            return "groups"
        if not any(self._holds(group, block_hashes, hit.num_tokens) for group in alone):
            return "miss"
        return "groups"

    def _holds(self, kind: _EqualGroups, block_hashes: Sequence[bytes], start: int) -> bool:
        """Whether the block that begins at token `start` is cached in all of these groups."""
        hashes, index = merge_hashes(block_hashes, kind.hash_factor), start // kind.spec.block_size
        if index >= len(hashes):
            return False
        return self.pool.get_cached_block(hashes[index], kind.group_ids) is not None

    def _hit_of_kind(
        self,
        kind: _EqualGroups,
        block_hashes: Sequence[bytes],
        max_length: int,
        found: dict[int, list[int]],
        *,
        keeps_last_block: bool = False,
        explains: bool = False,
    ) -> int:
        """Look up one kind, note its blocks in `found`, and return its hit in tokens. `explains`:
        another lookup, which a request asked for."""
        size = kind.spec.block_size
        if kind.is_full and kind.group_ids[0] in found:
            return max_length // size * size  # a shorter prefix of a full hit is a hit
        hashes = merge_hashes(block_hashes, kind.hash_factor)
        drops = self.drops_last_hit_block and not keeps_last_block
        query = PrefixQuery(hashes, max_length, kind.group_ids, drops, self.alignment, not explains)
        rows = kind.manager.find_longest_cache_hit(kind.spec, self.pool, query)
        for group_id, row in zip(kind.group_ids, rows, strict=True):
            found[group_id] = row
        return len(rows[0]) * size

    def get_block_tables(self, request_id: str) -> tuple[list[int], ...]:
        return tuple(manager.block_tables.get(request_id, []) for manager in self.managers)

    def free(self, request_id: str) -> None:
        """Release all blocks of a request: group 0's table reversed, then group 1's, ..."""
        if not any(request_id in manager.block_tables for manager in self.managers):
            return
        # One list whose reverse is each group's table reversed, in group order.
        tables = [manager.pop_table(request_id) for manager in self.managers]
        self.pool.free(request_id, [id_ for table in reversed(tables) for id_ in table])
