"""Reading: which hashes a lookup asks for, and which blocks a request's attention reads."""

from collections.abc import Sequence
from typing import cast

from engine.core.block_pool import BlockPool
from engine.questions.lookup import AskedCache
from engine.trace.trace import Trace
from lessons.facts.tables import cdiv, state_at, table_at
from lessons.happenings import nth_lookup, scheduled


class _CountingPool:
    """A pool that is asked for hashes, and how often it was."""

    def __init__(self, pool: BlockPool) -> None:
        self._pool, self.num_asked = pool, 0

    def get_cached_block(self, block_hash: bytes, group_ids: Sequence[int]) -> list[int] | None:
        self.num_asked += 1
        return self._pool.get_cached_block(block_hash, group_ids)


def num_hashes_asked_for(trace: Trace, *, request: str, nth: int = 1) -> int:
    """How many hashes the request's nth (1 = first) lookup asked the cache for: the engine's own
    find_longest_cache_hit is run once more on the moment before, and its questions are counted."""
    happening, _ = nth_lookup(trace, request, nth)
    before = trace.at(trace.cursor_at(happening.position - 1))
    asked = AskedCache(before)
    counting = _CountingPool(asked.coordinator.pool)
    asked.coordinator.pool = cast(BlockPool, counting)
    waiting = before.requests[request]
    asked.longest_hit(waiting.block_hashes, waiting.num_tokens - 1)
    return counting.num_asked


def blocks_read(trace: Trace, *, request: str, step: int) -> tuple[int, ...]:
    """The blocks from which full attention reads for the request in a step, in logical order: those
    of its own table, up to the last token that it computes."""
    event = scheduled(trace, request, step)
    at = f"after_schedule of step {step}"
    num_tokens = event.num_computed_tokens + event.num_scheduled_tokens
    table = table_at(trace, request, at=at, group=0)
    return tuple(table[: cdiv(num_tokens, state_at(trace, at).block_size)])
