"""The pool: the free queue, references, usage, and which block dies next."""

import itertools

from engine.trace.events import AllocationFailed, BlocksFreed, BlocksTaken
from engine.trace.trace import Trace
from lessons.errors import FactError
from lessons.facts.tables import state_at
from lessons.happenings import events_of


def free_queue(trace: Trace, *, at: str) -> tuple[int, ...]:
    """All free block ids from head (handed out next) to tail."""
    return tuple(state_at(trace, at).free_queue())


def free_queue_head(trace: Trace, *, at: str) -> int:
    """The block that would be handed out next."""
    head = next(state_at(trace, at).free_queue(), None)
    if head is None:
        raise _empty(at)
    return head


def free_queue_tail(trace: Trace, *, at: str) -> int:
    """The block that became free last."""
    _, tail = state_at(trace, at).free_queue_ends(0, 1)
    if not tail:
        raise _empty(at)
    return tail[0]


def _empty(at: str) -> FactError:
    return FactError.of("fact.empty_queue", "the free queue is empty at {at}", at=at)


def next_blocks(trace: Trace, *, at: str, count: int) -> tuple[int, ...]:
    """The next blocks to be handed out, as they stand at the head of the queue."""
    return tuple(itertools.islice(state_at(trace, at).free_queue(), count))


def num_free_blocks(trace: Trace, *, at: str) -> int:
    """Length of the free queue."""
    return state_at(trace, at).num_free_blocks


def num_used_blocks(trace: Trace, *, at: str) -> int:
    """Blocks with a reference, without the null block."""
    return state_at(trace, at).num_used_blocks


def usage(trace: Trace, *, at: str) -> float:
    """kv_cache_usage as vLLM reports it, from 0 to 1: 1 - free / (num_blocks - 1)."""
    return state_at(trace, at).usage


def used_share_of_all_blocks(trace: Trace, *, at: str) -> float:
    """The usage as one would have it with the null block in the denominator, 0 to 1."""
    state = state_at(trace, at)
    return state.num_used_blocks / state.num_blocks


def ref_cnt(trace: Trace, *, block: int, at: str) -> int:
    """How many tables hold the block."""
    found = state_at(trace, at).blocks.get(block)
    return found.ref_cnt if found else 0


def ref_cnts(trace: Trace, *, blocks: tuple[int, ...], at: str) -> tuple[int, ...]:
    """How many tables hold each of the blocks."""
    return tuple(ref_cnt(trace, block=block, at=at) for block in blocks)


def blocks_freed(trace: Trace, *, request: str, nth: int = 1) -> tuple[int, ...]:
    """The blocks that the request gave up at its nth (1 = first) freeing, first to go first."""
    freed = [event.block_ids for _, event in events_of(trace, BlocksFreed, request)]
    if nth > len(freed):
        raise FactError.of(
            "fact.few_freed",
            "{request} frees its blocks {n} times in this run",
            request=request,
            n=len(freed),
        )
    return freed[nth - 1]


def blocks_returned(trace: Trace, *, request: str, nth: int = 1) -> tuple[int, ...]:
    """Those of blocks_freed that nobody else held: what joined the free queue, in this order."""
    found = [h for h, _ in events_of(trace, BlocksFreed, request)]
    freed = blocks_freed(trace, request=request, nth=nth)
    after = trace.at(trace.cursor_at(found[nth - 1].position))
    return tuple(id_ for id_ in freed if after.is_free(id_))


def blocks_evicted(
    trace: Trace, *, request: str | None = None, step: int | None = None
) -> tuple[int, ...]:
    """Cached blocks that lost their hash because somebody (or this request) took them."""
    return tuple(
        id_
        for _, event in events_of(trace, BlocksTaken, request, step)
        for id_ in event.evicted_block_ids
    )


def nth_block_evicted(trace: Trace, *, nth: int, request: str | None = None) -> int:
    """The first (nth = 1), second, .. cached block that lost its hash to a new owner."""
    evicted = blocks_evicted(trace, request=request)
    if nth > len(evicted):
        raise FactError.of(
            "fact.few_evicted", "{n} cached blocks are taken in this run", n=len(evicted)
        )
    return evicted[nth - 1]


def num_evictions(trace: Trace) -> int:
    """How many cached blocks lost their hash to a new owner in the whole run."""
    return len(blocks_evicted(trace))


def num_blocks_needed(trace: Trace, *, request: str, nth: int = 1) -> int:
    """What allocate_slots asked for when it failed for the request for the nth time."""
    failed = [event for _, event in events_of(trace, AllocationFailed, request)]
    if nth > len(failed):
        raise FactError.of(
            "fact.few_failed",
            "allocation fails {n} times for {request} in this run",
            n=len(failed),
            request=request,
        )
    return failed[nth - 1].num_blocks_needed


def num_remembered_blocks(trace: Trace, *, at: str) -> int:
    """Free blocks that still carry a hash: evictable, and hits until then."""
    state = state_at(trace, at)
    return sum(
        block.ref_cnt == 0 and block.block_hash is not None for block in state.blocks.values()
    )
