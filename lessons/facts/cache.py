"""The prefix cache: hits, hashes, what two requests share, and the numbers of the dashboard."""

from collections.abc import Callable

from engine.core.block_hash import extra_keys, hash_block, none_hash
from engine.trace.entries import RequestState
from engine.trace.events import BlocksTouched, CacheReset, PrefixLookedUp, StepEnded
from engine.trace.trace import Trace
from lessons.errors import FactError
from lessons.facts.tables import block_table_entry, request_at, state_at
from lessons.happenings import events_of, nth_lookup

NUM_DISPLAYED_REQUESTS = 1000  # vLLM 0.17.1: the hit rate on display is of the latest 1000


def cached_tokens(trace: Trace, *, request: str) -> int:
    """num_cached_tokens: the prefix hit at the request's first admission."""
    found = request_at(trace, request, "end").num_cached_tokens
    if found is None:
        raise FactError.of(
            "fact.not_admitted", "{request} is never admitted in this run", request=request
        )
    return found


def hit_tokens(trace: Trace, *, request: str, nth: int = 1) -> int:
    """What the request's nth (1 = first) lookup found, whether it was then admitted or not."""
    return nth_lookup(trace, request, nth)[1].num_hit_tokens


def stop_reason(trace: Trace, *, request: str, nth: int = 1) -> str:
    """Why the nth lookup ended: miss, end, cap, groups, eagle or skipped."""
    return nth_lookup(trace, request, nth)[1].stop_reason


def num_lookups(trace: Trace, *, request: str) -> int:
    """How often the cache was asked for the request."""
    return sum(1 for _ in events_of(trace, PrefixLookedUp, request))


def tokens_to_compute(trace: Trace, *, request: str) -> int:
    """Prompt tokens that the first hit left to the model."""
    return request_at(trace, request, "end").num_prompt_tokens - cached_tokens(
        trace, request=request
    )


def blocks_touched(trace: Trace, *, request: str, nth: int = 1) -> tuple[int, ...]:
    """The blocks of the request's nth (1 = first) hit, in table order."""
    touched = [event.block_ids for _, event in events_of(trace, BlocksTouched, request)]
    if nth > len(touched):
        raise FactError.of(
            "fact.few_touched",
            "{request} touches blocks {n} times in this run",
            request=request,
            n=len(touched),
        )
    return touched[nth - 1]


def shared_tokens(trace: Trace, *, request: str, other: str) -> int:
    """Tokens with which both prompts begin, whatever the block size."""
    one, two = (request_at(trace, id_, "end").added.prompt_token_ids for id_ in (request, other))
    pairs = zip(one, two, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(two)))


def shared_whole_blocks(trace: Trace, *, request: str, other: str) -> int:
    """Tokens of the whole blocks with which both prompts begin."""
    size = state_at(trace, "start").block_size
    return shared_tokens(trace, request=request, other=other) // size * size


# Hashes ----------------------------------------------------------------------------------------


def num_cached_blocks(trace: Trace, *, at: str) -> int:
    """Blocks that carry a hash, in use or free."""
    return len(cached_blocks(trace, at=at))


def cached_blocks(trace: Trace, *, at: str) -> tuple[int, ...]:
    """The ids of the blocks that carry a hash, ascending."""
    state = state_at(trace, at)
    return tuple(sorted(id_ for id_ in state.blocks if state.is_cached(id_)))


def num_block_hashes(trace: Trace, *, request: str, at: str) -> int:
    """Length of the request's chain: its full blocks, cached or not."""
    return request_at(trace, request, at).num_block_hashes


def block_hash(trace: Trace, *, request: str, index: int) -> str:
    """The hash of the request's block at a logical index (from 0), in hexadecimal."""
    chain = _chain(trace, request)
    if index >= len(chain):
        raise FactError.of(
            "fact.short_chain",
            "{request} fills {n} blocks in this run, and none at index {index}",
            request=request,
            n=len(chain),
            index=index,
        )
    return chain[index]


def _chain(trace: Trace, request: str) -> list[str]:
    return request_at(trace, request, "end").block_hashes


def recomputed_hash(trace: Trace, *, request: str, index: int) -> str:
    """The same hash made by hand: H((parent hash, token ids, extra keys)), in hexadecimal."""
    state, found = state_at(trace, "end"), request_at(trace, request, "end")
    seed, algorithm = state.config["hash_seed"], state.config["hash_algo"]
    parent = block_hash(trace, request=request, index=index - 1) if index else None
    first = none_hash(algorithm, seed)
    size = state.block_size
    tokens = found.tokens_between(index * size, (index + 1) * size)
    keys = extra_keys(index, lora_name=found.added.lora_name, cache_salt=found.added.cache_salt)
    return hash_block(algorithm, bytes.fromhex(parent) if parent else first, tokens, keys).hex()


def extra_keys_of_block(trace: Trace, *, request: str, index: int) -> tuple[str, ...]:
    """What besides tokens goes into the hash of the request's block `index`; () for nothing."""
    added = request_at(trace, request, "end").added
    return extra_keys(index, lora_name=added.lora_name, cache_salt=added.cache_salt) or ()


def none_hash_of_run(trace: Trace) -> str:
    """NONE_HASH, the parent of every first block, in hexadecimal."""
    config = state_at(trace, "start").config
    return none_hash(config["hash_algo"], config["hash_seed"]).hex()


def is_hash_reproduced(trace: Trace, *, request: str, index: int) -> bool:
    """Whether the hash made by hand is the engine's, bit for bit."""
    made = recomputed_hash(trace, request=request, index=index)
    return made == block_hash(trace, request=request, index=index)


def parent_block(trace: Trace, *, block: int, at: str) -> int:
    """The block that carries the hash from which this block's hash was made; the oldest of several."""
    state = state_at(trace, at)
    found = state.blocks.get(block)
    parent = found.parent_block_hash if found else None
    carriers = (
        id_ for key, ids in state.cached.items() if parent and key.startswith(parent) for id_ in ids
    )
    carrier = next(carriers, None)
    if carrier is None:
        raise FactError.of(
            "fact.no_parent", "block {block} has no parent at {at}", block=block, at=at
        )
    return carrier


def parent_in_table(trace: Trace, *, request: str, index: int, at: str) -> int:
    """The block whose hash is the parent of the one at a logical index (from 0) of the request's table."""
    block = block_table_entry(trace, request=request, index=index, at=at)
    return parent_block(trace, block=block, at=at)


def changed_hashes(trace: Trace, *, request: str, other: str) -> tuple[int, ...]:
    """The logical blocks (from 0) whose hashes differ between two requests."""
    pairs = zip(_chain(trace, request), _chain(trace, other), strict=False)
    return tuple(index for index, (one, two) in enumerate(pairs) if one != two)


def num_changed_hashes(trace: Trace, *, request: str, other: str) -> int:
    """How many blocks of two requests have different hashes at the same logical index."""
    return len(changed_hashes(trace, request=request, other=other))


def copies(trace: Trace, *, request: str, index: int, at: str) -> tuple[int, ...]:
    """All blocks that carry the hash of the request's block `index`, oldest first."""
    state = state_at(trace, at)
    wanted = block_hash(trace, request=request, index=index)
    return tuple(id_ for key, ids in state.cached.items() if key.startswith(wanted) for id_ in ids)


# Resets and statistics -------------------------------------------------------------------------


def reset_succeeded(trace: Trace, *, nth: int) -> bool:
    """What the nth (1 = first) reset_prefix_cache returned."""
    resets = [event.ok for _, event in events_of(trace, CacheReset)]
    if nth > len(resets):
        raise FactError.of(
            "fact.few_resets", "the cache is reset {n} times in this run", n=len(resets)
        )
    return resets[nth - 1]


def queries(trace: Trace, *, at: str) -> int:
    """Tokens looked up so far, as the statistics count them: per attempt, preempted ones apart."""
    return state_at(trace, at).stats.queries


def hits(trace: Trace, *, at: str) -> int:
    """Tokens found so far, as the statistics count them."""
    return state_at(trace, at).stats.hits


def preempted_queries(trace: Trace, *, at: str) -> int:
    """Tokens looked up so far for requests that had been preempted."""
    return state_at(trace, at).stats.preempted_queries


def preempted_hits(trace: Trace, *, at: str) -> int:
    """Tokens found so far for requests that had been preempted."""
    return state_at(trace, at).stats.preempted_hits


def hit_rate(trace: Trace) -> float:
    """The rate on vLLM's dashboard at the end: hits / queries of the latest 1000 lookups, 0 to 1."""
    window: list[StepEnded] = []
    for _, event in events_of(trace, StepEnded):
        if event.reset:
            window.clear()
        if event.requests:
            window.append(event)
        while len(window) > 1 and sum(e.requests for e in window) > NUM_DISPLAYED_REQUESTS:
            window.pop(0)
    asked = sum(event.queries for event in window)
    return sum(event.hits for event in window) / asked if asked else 0.0


def honest_hit_rate(trace: Trace) -> float:
    """Cached prompt tokens / prompt tokens, each admitted request counted once, 0 to 1."""
    admitted = [
        request
        for request in state_at(trace, "end").requests.values()
        if request.num_cached_tokens is not None
    ]
    return _share(admitted, lambda r: r.num_cached_tokens or 0, lambda r: r.num_prompt_tokens)


def _share(
    requests: list[RequestState],
    part: Callable[[RequestState], int],
    whole: Callable[[RequestState], int],
) -> float:
    total = sum(map(whole, requests))
    return sum(map(part, requests)) / total if total else 0.0
