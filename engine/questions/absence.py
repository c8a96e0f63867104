"""Why the cache does not hold one block: it never did, does not yet, or no longer does."""

from collections.abc import Sequence

from engine.core.block_hash import merge_hashes
from engine.questions.cache_log import CacheLog, Entry
from engine.questions.lookup import Query
from engine.questions.parting import Partings, requests_before
from engine.questions.reasons import (
    Diverges,
    Evicted,
    NeverCached,
    NoSharedPrefix,
    NotCachedYet,
    NothingCached,
    OtherKeys,
    OtherParent,
    PartialBlock,
    Reason,
    Reset,
)
from engine.trace.entries import RequestState
from engine.trace.state import State

NOT_ADMITTED = ("WAITING", "PREEMPTED")
MAX_BLOCKS_ASKED = 512  # whose words are looked for behind other starts


class Absence:
    """The blocks of one query that are not there, at one moment."""

    def __init__(
        self, state: State, log: CacheLog, position: int, query: Query, *, partings: Partings
    ) -> None:
        self.state, self.log, self.position, self.query = state, log, position, query
        self.partings = partings
        self.size = state.block_size
        self.num_tokens = len(query.token_ids)

    def hashes(self, group_id: int) -> list[str]:
        """Of the group's own blocks, which may be several of the request's (SEMANTICS 3)."""
        return self._merged(self.query.block_hashes, group_id)

    def _merged(self, block_hashes: Sequence[str], group_id: int) -> list[str]:
        hashes = [block_hash.encode() for block_hash in block_hashes]
        factor = self.state.group_block_sizes[group_id] // self.size
        return [block_hash.decode() for block_hash in merge_hashes(hashes, factor)]

    def reasons(self, group_id: int, index: int) -> list[Reason]:
        """Why the cache does not hold block `index` of this group: mostly one. That somebody else
        waits as well comes after those who did cache the same tokens, with other keys."""
        size = self.state.group_block_sizes[group_id]
        start = index * size
        block_hash = self.hashes(group_id)[index]
        not_yet = self._not_yet(block_hash, group_id, start)
        other_keys = self._other_keys(start + size)
        first = self._lost(block_hash, group_id, start) or self._nothing()
        waits = not_yet if not_yet is not None and not_yet.why == "waiting" else None
        if not first and waits and other_keys and self._has_cached(other_keys, group_id, index):
            return [other_keys, waits]
        return [
            first
            or not_yet
            or other_keys
            or self._other_parent(group_id, start, block_hash)
            or self._parted(size, start)
            or self._alone(start)
        ]

    def _has_cached(self, other: OtherKeys, group_id: int, index: int) -> bool:
        hashes = self._merged(self.state.requests[other.request_id].block_hashes, group_id)
        return self.log.latest(hashes[index], group_id, self.position) is not None

    def _lost(self, block_hash: str, group_id: int, start: int) -> Reason | None:
        entry = self.log.latest(block_hash, group_id, self.position)
        loss = entry.loss_by(self.position) if entry else None
        if entry is None or loss is None:
            return None
        step, position, by = loss
        index = start // self.size
        if by is None:
            return Reset(entry.block_id, index, block_hash, step, position)
        return Evicted(entry.block_id, index, block_hash, entry.step, step, position, by)

    def _nothing(self) -> Reason | None:
        return None if self.state.cached else NothingCached(self._num_others())

    def _num_others(self) -> int:
        return sum(1 for _ in requests_before(self.state, self.query))

    def _not_yet(self, block_hash: str, group_id: int, start: int) -> NotCachedYet | None:
        """Somebody has the same tokens with the same keys, but did not get to cache them."""
        same, index = self.partings.same_keys, start // self.size
        if self.log.was_hole(block_hash, group_id, self.position):
            return NotCachedYet(same.request_id if same else "", index, "window")
        own = self.state.requests.get(self.query.request_id or "")
        if own is not None and own.num_preemptions:
            return NotCachedYet(own.request_id, index, "preempted")
        stop = start + self.state.group_block_sizes[group_id]
        if same is None or same.num_shared_tokens < stop:
            return None
        why = _why_not_yet(self.state.requests[same.request_id], stop)
        return NotCachedYet(same.request_id, index, why)

    def _other_keys(self, stop: int) -> OtherKeys | None:
        other = self.partings.other_keys
        if other is None or other.num_shared_tokens < stop:
            return None
        added = self.state.requests[other.request_id].added
        return OtherKeys(
            other.request_id,
            other.num_shared_tokens,
            self.query.lora_name,
            added.lora_name,
            self.query.cache_salt,
            added.cache_salt,
        )

    def _other_parent(self, group_id: int, start: int, block_hash: str) -> OtherParent | None:
        """Another entry that held the tokens of this block, behind other tokens."""
        size = self.state.group_block_sizes[group_id]
        tokens = tuple(self.query.token_ids[start : start + size])
        for entry in self.log.with_tokens(tokens, group_id, self.position):
            if entry.block_hash == block_hash or self._has_same_start(entry, start, size):
                continue
            return OtherParent(
                self.partings.same_keys,
                start // self.size,
                entry.request_id,
                entry.logical_index * size // self.size,
                entry.block_id,
            )
        return None

    def _has_same_start(self, entry: Entry, start: int, size: int) -> bool:
        """Whether only salt or adapter make the entry another one."""
        other = self.partings.other_keys
        if other is None or other.num_shared_tokens < start or entry.logical_index * size != start:
            return False
        holder = self.state.requests[entry.request_id]
        return holder.tokens_between(0, start) == list(self.query.token_ids[:start])

    def num_same_words(self, num_hit_tokens: int) -> int:
        """Blocks behind the hit whose tokens were cached behind other tokens."""
        size, hashes = self.state.group_block_sizes[0], self.hashes(0)
        first = num_hit_tokens // size
        return sum(
            self._other_parent(0, index * size, hashes[index]) is not None
            for index in range(first, min(len(hashes), first + MAX_BLOCKS_ASKED))
        )

    def _parted(self, size: int, start: int) -> Reason | None:
        parting = self.partings.longest
        if parting is None or parting.num_shared_tokens < max(start, 1):
            return None
        shared, index = parting.num_shared_tokens, start // self.size
        if parting.other_token_id is None and shared % size:
            return PartialBlock(parting, index, shared - start, size, False)
        return Diverges(parting, index, *divmod(self.num_tokens - start, size))

    def _alone(self, start: int) -> Reason:
        if start:
            return NeverCached(start // self.size)
        return NoSharedPrefix(self._num_others())


def _why_not_yet(other: RequestState, stop: int) -> str:
    if other.status in NOT_ADMITTED:
        return "waiting"
    if other.is_finished:
        return "never"
    return "prefill" if stop <= other.num_prompt_tokens else "unfilled"
