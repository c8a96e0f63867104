"""The only cache class that the scheduler knows.

vLLM 0.17.1: v1/core/kv_cache_manager.py KVCacheManager
"""

from engine.config import EngineConfig
from engine.core.block import NULL_BLOCK_ID
from engine.core.block_pool import BlockPool
from engine.core.coordinator import Coordinator, Hit
from engine.core.kv_cache_spec import spec_of
from engine.core.kv_events import KVCacheEvent
from engine.core.request import Request
from engine.core.stats import PrefixCacheStats
from engine.trace.events import AllocationFailed, Emit, HitCut, PrefixLookedUp, ignore

Blocks = tuple[tuple[int, ...], ...]  # block ids per group


class KVCacheManager:
    """Answers two questions: what of this prompt is cached, and are there blocks for these tokens."""

    def __init__(self, config: EngineConfig, *, emit: Emit = ignore) -> None:
        self.config = config
        self.emit = emit
        self.max_model_len = config.max_model_len
        self.enable_caching = config.enable_prefix_caching
        self.pool = BlockPool(
            config.num_blocks, emit=emit, reuse_unhashed_first=config.reuse_unhashed_first
        )
        self.specs = [spec_of(group, config.block_size) for group in config.groups]
        self.coordinator = Coordinator(
            self.specs,
            self.pool,
            hash_block_size=config.block_size,
            drops_last_hit_block=config.spec is not None and config.spec.drops_last_hit_block,
        )
        self.managers = self.coordinator.managers
        self.num_lookahead_tokens = config.spec.num_lookahead_tokens if config.spec else 0
        self.no_hit = Hit(0, tuple(() for _ in self.managers))
        self.no_blocks: Blocks = tuple(() for _ in self.managers)
        self.stats = PrefixCacheStats()

    # Lookup -----------------------------------------------------------------------------------

    def get_computed_blocks(self, request: Request) -> Hit:
        """The longest cached prefix, at most num_tokens - 1 so that one token is left to compute.

        Changes nothing but the statistics, which count every attempt (SEMANTICS 5, 9); with
        `count_lookups_once` the one that succeeds, when it does.
        """
        if not self._can_hit(request):
            self._note_lookup(request, self.no_hit, "skipped")
            return self.no_hit
        max_length = request.num_tokens - 1
        hit = self.coordinator.find_longest_cache_hit(request.block_hashes, max_length)
        self._note_lookup(request, hit, "")
        if self.config.recompute_invalid_hits:
            hit = self._cut_before_invalid(request, hit)
        if not self.config.count_lookups_once:
            self._count_lookup(request, hit)
        return hit

    def _count_lookup(self, request: Request, hit: Hit) -> None:
        self.stats.record(request.num_tokens, hit.num_tokens, request.num_preemptions > 0)

    def _can_hit(self, request: Request) -> bool:
        """Whether the cache is asked at all: else there is no lookup to count."""
        return self.enable_caching and not request.skip_reading_prefix_cache

    def _note_lookup(self, request: Request, hit: Hit, reason: str) -> None:
        if self.emit is ignore:
            return  # why a hit is no longer takes lookups of its own
        missed = None
        size = self.config.block_size
        next_block = hit.num_tokens // size
        dropped = 0
        if not reason:
            reason = self.coordinator.stop_reason(request.block_hashes, request.num_tokens, hit)
            if reason == "eagle":
                dropped = 1
            if reason == "miss":
                missed = request.block_hashes[next_block].hex()
        self.emit(
            PrefixLookedUp(
                request.request_id,
                request.num_tokens,
                hit.num_tokens,
                hit.block_ids,
                reason,
                missed,
                dropped,
            )
        )

    def _cut_before_invalid(self, request: Request, hit: Hit) -> Hit:
        """Give up the part of a hit whose K and V nobody computed (SEMANTICS 13)."""
        while (place := self._first_invalid(hit)) is not None:
            group_id, index = place
            end = index * self.managers[group_id].block_size
            shorter = self.coordinator.find_longest_cache_hit(request.block_hashes, end)
            block_id = hit.block_ids[group_id][index]
            self.emit(
                HitCut(request.request_id, block_id, group_id, hit.num_tokens, shorter.num_tokens)
            )
            hit = shorter
        return hit

    def _first_invalid(self, hit: Hit) -> tuple[int, int] | None:
        """(group id, logical index) of the leftmost hit block that must not be trusted."""
        places = [
            (index * self.managers[group_id].block_size, group_id, index)
            for group_id, block_ids in enumerate(hit.block_ids)
            for index, block_id in enumerate(block_ids)
            if block_id != NULL_BLOCK_ID and not self.pool.is_trustworthy(block_id)
        ]
        return min(places)[1:] if places else None

    # Allocation -------------------------------------------------------------------------------

    def allocate_slots(
        self,
        request: Request,
        num_new_tokens: int,
        hit: Hit | None = None,
        num_lookahead_tokens: int = 0,
    ) -> Blocks | None:
        """Make room for `num_new_tokens` more tokens; the new block ids, or None without change.

            | computed | hit | new | lookahead |
                       touched  taken from the queue

        `hit` is given when a waiting request is admitted. Blocks that have left a window are
        released even if the allocation fails afterwards (SEMANTICS 6). It has nothing to do while
        a running request stays within its `num_quiet_tokens`; callers may skip it then.
        """
        num_computed = request.num_computed_tokens
        request_id = request.request_id
        if hit is not None:
            num_computed = min(num_computed + hit.num_tokens, self.max_model_len)
        num_tokens = num_computed + num_new_tokens
        num_slots = min(num_tokens + num_lookahead_tokens, self.max_model_len)
        for manager in self.managers:
            manager.remove_skipped_blocks(request_id, num_computed)

        hit_ids = self.no_blocks if hit is None else hit.block_ids
        num_needed = 0
        for manager, ids in zip(self.managers, hit_ids, strict=True):
            num_needed += manager.get_num_blocks_to_allocate(
                request_id, num_slots, ids, num_computed
            )
        if num_needed > self.pool.num_free_blocks:
            self.emit(AllocationFailed(request_id, num_needed, self.pool.num_free_blocks))
            return None

        if hit is not None:
            for manager, ids in zip(self.managers, hit_ids, strict=True):
                manager.add_hit_blocks(request_id, ids, num_computed)
            if self.config.count_lookups_once and self._can_hit(request):
                self._count_lookup(request, hit)
        if num_needed:
            new_ids = tuple(
                tuple(manager.allocate_new_blocks(request_id, num_slots))
                for manager in self.managers
            )
        else:
            new_ids = self.no_blocks
        if self.enable_caching:
            self.cache_blocks(request, min(num_tokens, request.num_tokens))
        request.num_quiet_tokens = min(
            manager.get_num_quiet_tokens(request_id, self.num_lookahead_tokens)
            for manager in self.managers
        )
        return new_ids

    def cache_blocks(self, request: Request, num_tokens: int) -> None:
        """Enter the request's blocks that are full at `num_tokens` tokens into the cache."""
        for manager in self.managers:
            manager.cache_blocks(request, num_tokens)

    def free(self, request: Request) -> None:
        """Release all blocks of the request; their hashes stay until they are taken again."""
        request.num_quiet_tokens = 0
        self.coordinator.free(request.request_id)

    # Whole cache ------------------------------------------------------------------------------

    def reset_prefix_cache(self) -> bool:
        """Forget every hash, if no block is in use; True if it was done."""
        done = self.pool.reset_prefix_cache()
        if done:
            self.stats.reset = True
        return done

    def get_num_common_prefix_blocks(self, request_id: str) -> tuple[int, ...]:
        """Per group, the leading blocks that all requests share (for cascade attention)."""
        if not self.enable_caching:
            return tuple(0 for _ in self.managers)
        return tuple(manager.get_num_common_prefix_blocks(request_id) for manager in self.managers)

    def get_block_tables(self, request_id: str) -> tuple[list[int], ...]:
        """The request's table per group: logical index -> block id."""
        return self.coordinator.get_block_tables(request_id)

    def take_stats(self) -> PrefixCacheStats:
        """The statistics since the last call."""
        stats, self.stats = self.stats, PrefixCacheStats()
        return stats

    def take_events(self) -> list[KVCacheEvent]:
        """The KV-cache events since the last call."""
        return self.pool.take_events()
