"""Whose tokens go with these the longest, and where they part."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from engine.questions.lookup import Query
from engine.questions.reasons import Parting
from engine.trace.entries import RequestState
from engine.trace.state import State

CHUNK = 256  # tokens compared at once


class Partings(NamedTuple):
    """Among requests with the same salt and adapter, and among those with another; the earliest
    request where several go equally far."""

    same_keys: Parting | None
    other_keys: Parting | None

    @property
    def longest(self) -> Parting | None:
        found = [parting for parting in self if parting is not None]
        return max(found, key=lambda parting: parting.num_shared_tokens, default=None)


def requests_before(state: State, query: Query) -> Iterator[RequestState]:
    """All other requests, but for those that wait behind it: they could not have cached anything."""
    line, own = state.waiting, query.request_id
    behind = set(line[line.index(own) + 1 :] if own in line else ())
    for request in state.requests.values():
        is_behind = request.request_id in behind and request.status == "WAITING"
        if request.request_id != own and not is_behind:
            yield request


def best_partings(state: State, query: Query) -> Partings:
    """Among the requests before it, as far as their tokens are known at this moment."""
    best: dict[bool, tuple[int, RequestState]] = {}
    for request in requests_before(state, query):
        added = request.added
        is_same = (added.lora_name or None, added.cache_salt or None) == (
            query.lora_name or None,
            query.cache_salt or None,
        )
        start = _num_equal_hashes(query, request) * state.block_size if is_same else 0
        num_shared = _common_prefix(query.token_ids, request, start)
        if is_same not in best or num_shared > best[is_same][0]:
            best[is_same] = num_shared, request
    return Partings(*(_parting(query, best.get(is_same)) for is_same in (True, False)))


def _parting(query: Query, found: tuple[int, RequestState] | None) -> Parting | None:
    if found is None:
        return None
    at, other = found
    own_token = query.token_ids[at] if at < len(query.token_ids) else None
    other_token = other.token_log[at] if at < other.num_tokens else None
    return Parting(other.request_id, at, own_token, other_token)


def _num_equal_hashes(query: Query, request: RequestState) -> int:
    """Chains that are equal at one link are equal in front of it, so halving finds the end."""
    own, other = query.block_hashes, request.hash_log
    low, high = 0, min(len(own), request.num_block_hashes)
    while low < high:
        middle = (low + high + 1) // 2
        if own[middle - 1] == other[middle - 1]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_prefix(token_ids: Sequence[int], request: RequestState, start: int) -> int:
    """How many tokens are equal from the first on; `start` of them are known to be."""
    other, stop = request.token_log, min(len(token_ids), request.num_tokens)
    own = token_ids if isinstance(token_ids, list) else list(token_ids)
    while start + CHUNK <= stop and own[start : start + CHUNK] == other[start : start + CHUNK]:
        start += CHUNK
    while start < stop and own[start] == other[start]:
        start += 1
    return start
