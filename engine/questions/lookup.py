"""What the prefix cache would give these tokens now, asked of a State without running anything.

The rules are the engine's own: its Coordinator looks up, with a State in the pool's place. So a
hybrid cache, a window and EAGLE answer as they do in a run (SEMANTICS 5, 6, 11).
"""

from collections.abc import Sequence
from typing import NamedTuple, cast

from engine.config import EngineConfig
from engine.core.block_hash import BlockHasher
from engine.core.block_pool import BlockPool
from engine.core.coordinator import Coordinator, Hit
from engine.core.kv_cache_spec import spec_of
from engine.trace.entries import Lookup, RequestState
from engine.trace.state import NULL_BLOCK_ID, State, cache_key


class Query(NamedTuple):
    """Tokens to look for, as a request has them or as somebody has just typed them."""

    token_ids: Sequence[int]
    block_hashes: Sequence[str]  # hexadecimal, one per full block of config.block_size
    lora_name: str | None = None
    cache_salt: str | None = None
    reads_cache: bool = True
    request_id: str | None = None  # None: no request has them yet


class WouldHit(NamedTuple):
    """The answer, in the words of events.PrefixLookedUp, and what it would take to go on."""

    num_tokens: int
    num_hit_tokens: int
    hit_block_ids: tuple[tuple[int, ...], ...]  # per group, in table order; 0 is the null block
    stop_reason: str
    missed_hash: str | None
    cut_before_block: int | None  # recompute_invalid_hits: nobody computed this block
    num_new_blocks: int  # to be taken for the rest of the tokens, over all groups
    num_queued_hits: int  # hit blocks in the free queue: they leave it as well
    num_free_blocks: int

    @property
    def num_blocks_needed(self) -> int:
        return self.num_new_blocks + self.num_queued_hits


def would_hit(
    state: State,
    token_ids: Sequence[int],
    *,
    lora_name: str | None = None,
    cache_salt: str | None = None,
    none_hash: str | None = None,
) -> WouldHit | None:
    """What a request with these tokens would hit at this moment; None where that is not known.

    `none_hash` is the trace header's. Without it the run's hash_seed decides; a run seeded at
    random that did not write its NONE_HASH down cannot be asked.
    """
    query = query_of_tokens(
        state, token_ids, lora_name=lora_name, cache_salt=cache_salt, none_hash=none_hash
    )
    return None if query is None else look_up(state, query)


def query_of_request(request: RequestState) -> Query:
    added = request.added
    return Query(
        request.token_ids,
        request.block_hashes,
        added.lora_name,
        added.cache_salt,
        not added.skip_reading_prefix_cache,
        request.request_id,
    )


def query_of_tokens(
    state: State,
    token_ids: Sequence[int],
    *,
    lora_name: str | None = None,
    cache_salt: str | None = None,
    none_hash: str | None = None,
) -> Query | None:
    """Tokens with the hashes that a request would get in this run; see `would_hit` for None."""
    config = EngineConfig.from_mapping(state.config)
    if config.hash_seed is None and none_hash is None:
        return None
    first_parent = bytes.fromhex(none_hash) if none_hash else None
    hashes: list[bytes] = []
    if config.enable_prefix_caching:
        hasher = BlockHasher(config.hash_algo, config.hash_seed, config.block_size, first_parent)
        hasher.extend(hashes, token_ids, lora_name=lora_name, cache_salt=cache_salt)
    return Query(token_ids, [hash_.hex() for hash_ in hashes], lora_name, cache_salt)


def look_up(state: State, query: Query) -> WouldHit:
    """The longest hit that leaves one token to compute. vLLM 0.17.1: get_computed_blocks"""
    asked = AskedCache(state)
    num_tokens, missed, cut = len(query.token_ids), None, None
    if not asked.config.enable_prefix_caching or not query.reads_cache:
        found, reason = asked.no_hit, "skipped"
    else:
        found = asked.longest_hit(query.block_hashes, num_tokens - 1)
        reason = asked.stop_reason(query, found)
        if reason == "miss":
            missed = query.block_hashes[found.num_tokens // state.block_size]
        found, cut = asked.cut_before_invalid(query.block_hashes, found)
    num_new, num_queued = asked.blocks_needed(num_tokens - found.num_tokens, found)
    return WouldHit(
        num_tokens,
        found.num_tokens,
        found.block_ids,
        reason,
        missed,
        cut,
        num_new,
        num_queued,
        state.num_free_blocks,
    )


def lookup_in_hand(state: State, request: RequestState) -> Lookup | None:
    """Of one that waits: the lookup by which this very schedule() decides about it.

    From there on the cache may hold blocks that its own admission has registered.
    """
    lookup, is_deciding = request.lookup, state.in_step and not state.is_scheduled
    if lookup is None or not is_deciding or lookup.step != state.step:
        return None
    return lookup if request.request_id in state.waiting else None


class _PictureOfPool:
    """As much of a BlockPool as one needs who only asks: the rest would change something."""

    def __init__(self, state: State) -> None:
        self.blocks = state.blocks
        self._cached = state.cached

    def get_cached_block(self, block_hash: bytes, group_ids: Sequence[int]) -> list[int] | None:
        """Hashes are the bytes of their hexadecimal text, which concatenates as they do."""
        found = []
        for group_id in group_ids:
            block_ids = self._cached.get(cache_key(block_hash.decode(), group_id))
            if block_ids is None:
                return None
            found.append(block_ids[0])
        return found


class AskedCache:
    """The engine's lookup rules over the blocks of a State."""

    def __init__(self, state: State, *, group_id: int | None = None, drops: bool = True) -> None:
        """`group_id`: as if there were only this group. `drops`: EAGLE drops its last block."""
        self.state = state
        self.config = EngineConfig.from_mapping(state.config)
        self.specs = [spec_of(group, self.config.block_size) for group in self.config.groups]
        spec = self.config.spec
        self.drops_last_hit_block = drops and spec is not None and spec.drops_last_hit_block
        picture = _PictureOfPool(state) if group_id is None else _PictureOfGroup(state, group_id)
        self.coordinator = Coordinator(
            self.specs if group_id is None else [self.specs[group_id]],
            cast(BlockPool, picture),
            hash_block_size=self.config.block_size,
            drops_last_hit_block=self.drops_last_hit_block,
        )
        self.managers = self.coordinator.managers
        self.no_hit = Hit(0, tuple(() for _ in self.managers))

    def longest_hit(self, block_hashes: Sequence[str], max_length: int) -> Hit:
        hashes = [block_hash.encode() for block_hash in block_hashes]
        return self.coordinator.find_longest_cache_hit(hashes, max_length)

    def is_cached(self, block_hash: str, group_id: int = 0) -> bool:
        return cache_key(block_hash, group_id) in self.state.cached

    def stop_reason(self, query: Query, found: Hit) -> str:
        """As KVCacheManager says it (see events.PrefixLookedUp)."""
        hashes = [block_hash.encode() for block_hash in query.block_hashes]
        return self.coordinator.stop_reason(hashes, len(query.token_ids), found)

    def cut_before_invalid(self, block_hashes: Sequence[str], found: Hit) -> tuple[Hit, int | None]:
        """The hit up to the first block that nobody computes, and that block (SEMANTICS 13)."""
        cut = None
        while self.config.recompute_invalid_hits and (end := self._first_invalid(found)):
            length, cut = end
            found = self.longest_hit(block_hashes, length)
        return found, cut

    def _first_invalid(self, found: Hit) -> tuple[int, int] | None:
        """Tokens in front of the leftmost hit block that must not be trusted, and its id."""
        places = [
            (index * manager.block_size, manager.group_id, block_id)
            for manager, block_ids in zip(self.managers, found.block_ids, strict=True)
            for index, block_id in enumerate(block_ids)
            if block_id != NULL_BLOCK_ID and not _is_trustworthy(self.state, block_id)
        ]
        if not places:
            return None
        length, _, block_id = min(places)
        return length, block_id

    def blocks_needed(self, num_new_tokens: int, found: Hit) -> tuple[int, int]:
        """What a waiting request takes from the free queue: new blocks, and hits that lie in it.

        vLLM 0.17.1: SingleTypeKVCacheManager.get_num_blocks_to_allocate
        """
        most = self.config.max_model_len
        computed = min(found.num_tokens, most)
        num_slots = min(computed + num_new_tokens, most)
        needed = queued = 0
        for manager, block_ids in zip(self.managers, found.block_ids, strict=True):
            needed += manager.get_num_blocks_to_allocate("", num_slots, block_ids, computed)
            in_reach = manager.get_num_skipped_tokens(computed) // manager.block_size
            queued += sum(
                id_ != NULL_BLOCK_ID and self.state.blocks[id_].ref_cnt == 0
                for id_ in block_ids[in_reach:]
            )
        return needed - queued, queued


class _PictureOfGroup(_PictureOfPool):
    """One group of several, looked up as if it were the only one."""

    def __init__(self, state: State, group_id: int) -> None:
        super().__init__(state)
        self._group_id = group_id

    def get_cached_block(self, block_hash: bytes, group_ids: Sequence[int]) -> list[int] | None:
        return super().get_cached_block(block_hash, (self._group_id,))


def _is_trustworthy(state: State, block_id: int) -> bool:
    """K and V are there, or come in this step: whoever took the block still holds it at its place.
    A victim that lost its tokens again has given its blocks back."""
    block = state.blocks[block_id]
    if block.kv_valid:
        return True
    taker = state.requests.get(block.request_id or "")
    table = taker.block_tables[block.group_id] if taker else []
    return block.logical_index < len(table) and table[block.logical_index] == block_id
