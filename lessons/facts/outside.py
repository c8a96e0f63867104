"""Outside of the engine: what somebody who only hears its KV events can know."""

from collections import Counter

from engine.core.block_hash import event_hash
from engine.trace.events import BlocksCached, BlocksTaken, CacheReset
from engine.trace.state import NULL_BLOCK_ID
from engine.trace.trace import Trace
from lessons.facts.cache import block_hash
from lessons.facts.tables import request_at, state_at
from lessons.happenings import events_of, happenings
from lessons.places import find_place


def _published(trace: Trace, at: str) -> Counter[str]:
    """Hashes that were stored and not removed, by the events alone; each with its copies."""
    position, known = trace.position(find_place(trace, at)), Counter[str]()
    for happening in happenings(trace):
        event = happening.event
        if happening.position > position:
            break
        if isinstance(event, BlocksCached):
            pairs = zip(event.block_ids, event.block_hashes, strict=True)
            known.update(hash_ for id_, hash_ in pairs if id_ != NULL_BLOCK_ID)
        elif isinstance(event, BlocksTaken):
            known.subtract(event.evicted_hashes)
        elif isinstance(event, CacheReset) and event.ok:
            known.clear()
    return +known


def num_blocks_stored(trace: Trace, *, at: str) -> int:
    """Blocks announced by BlockStored so far, copies included."""
    return _count(trace, at)[0]


def num_blocks_stored_for(trace: Trace, *, request: str) -> int:
    """Blocks announced by BlockStored on behalf of the request, though the event does not say so."""
    return sum(len(event.block_ids) for _, event in events_of(trace, BlocksCached, request))


def num_blocks_removed(trace: Trace, *, at: str) -> int:
    """Blocks announced by BlockRemoved so far."""
    return _count(trace, at)[1]


def _count(trace: Trace, at: str) -> tuple[int, int]:
    position = trace.position(find_place(trace, at))
    past = [happening.event for happening in happenings(trace) if happening.position <= position]
    stored = sum(len(event.block_ids) for event in past if isinstance(event, BlocksCached))
    removed = sum(len(e.evicted_hashes) for e in past if isinstance(e, BlocksTaken))
    return stored, removed


def num_published_hashes(trace: Trace, *, at: str) -> int:
    """Different hashes that a listener has in its set."""
    return len(_published(trace, at))


def listener_is_right(trace: Trace, *, at: str) -> bool:
    """Whether the listener's set is exactly what the cache holds."""
    suffix = len(f"{0:08x}")
    held = {key[:-suffix] for key in state_at(trace, at).cached}
    return set(_published(trace, at)) == held


def router_match(trace: Trace, *, request: str, at: str) -> int:
    """Tokens of the request's prompt that a router would expect to hit here, by the events alone."""
    known, found = _published(trace, at), request_at(trace, request, "end")
    size, matched = state_at(trace, "start").block_size, 0
    for hash_ in found.block_hashes[: (found.num_prompt_tokens - 1) // size]:
        if hash_ not in known:
            break
        matched += size
    return matched


def published_hash(trace: Trace, *, request: str, index: int) -> int:
    """The hash as events carry it by default: the last 8 bytes as a whole number."""
    return event_hash(bytes.fromhex(block_hash(trace, request=request, index=index)))
