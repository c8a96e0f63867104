"""Why is nothing moving? Whoever stands at the head of the waiting queue holds up all behind them.

The head is asked for as schedule() would: looked up, cut to the budget, its blocks counted with the
hits that lie in the free queue (SEMANTICS 6, 7B). There is no watermark: what fits exactly fits.
"""

from typing import NamedTuple

from engine.core.admission import num_blocks_ever_held
from engine.core.coordinator import Hit
from engine.core.kv_cache_spec import cdiv
from engine.questions.lookup import AskedCache, look_up, lookup_in_hand, query_of_request
from engine.trace.entries import RequestState
from engine.trace.state import NULL_BLOCK_ID, State


class Holder(NamedTuple):
    """A running request and its blocks, all groups together."""

    request_id: str
    num_blocks: int
    num_own_blocks: int  # that nobody else holds: its end would free them


class Need(NamedTuple):
    """What a request holds at once by its end, at the most: it may end earlier by itself."""

    request_id: str
    num_tokens: int
    num_blocks: int


class Autopsy(NamedTuple):
    """The head of the waiting queue, and what it waits for.

    `cause`: "nothing" (the next schedule() admits it, or this one where `is_deciding`), "admitting"
    (this schedule() has looked it up and is giving it its blocks), "preempted" (nobody is admitted
    in a step that preempted somebody), "seqs" (max_num_seqs are running), "lora" (max_loras adapters are
    scheduled), "budget" (no tokens of the step are left), "uncut" (its prompt must not be cut and
    exceeds what is left), "blocks" (somebody must give up blocks), "oversized" (it needs more
    blocks than exist). `is_deadlock`: and nobody runs who could change that.

    `largest` says how many blocks let all finish: whoever runs first gets whatever the others hold,
    as they are preempted for it, so each that fits alone gets through (SEMANTICS 7).
    """

    request_id: str
    num_tokens: int
    num_hit_tokens: int
    num_scheduled_tokens: int  # that the step would give it
    num_behind: int
    cause: str
    is_deciding: bool  # schedule() of this step has begun and is not done
    is_deadlock: bool
    num_blocks_needed: int  # for these tokens
    num_queued_hits: int  # of them: hits that lie in the free queue
    to_finish: Need  # of the head, counted as when it is added
    largest: Need  # of all who are not finished
    num_free_blocks: int
    num_usable_blocks: int  # without the null block
    tokens_left: int  # of the step's budget
    holders: tuple[Holder, ...]  # most blocks first

    @property
    def num_blocks_missing(self) -> int:
        return max(0, self.num_blocks_needed - self.num_free_blocks)

    @property
    def outgrows_pool(self) -> bool:
        """It may stand still for ever, now or later: not even all blocks would let it finish."""
        return self.to_finish.num_blocks > self.num_usable_blocks

    @property
    def enough(self) -> Holder | None:
        """The smallest holder whose end alone would free what is missing."""
        found = [h for h in self.holders if h.num_own_blocks >= self.num_blocks_missing]
        return min(found, key=lambda holder: holder.num_own_blocks, default=None)


def why_stuck(state: State) -> Autopsy | None:
    """About the head of the waiting queue at this moment; None when nobody waits."""
    if not state.waiting:
        return None
    request = state.requests[state.waiting[0]]
    left, is_deciding = tokens_left(state), state.in_step and not state.is_scheduled
    if any(request.block_tables):
        return _admitted_now(state, request, left)
    asked, found = AskedCache(state), look_up(state, query_of_request(request))
    hit = Hit(found.num_hit_tokens, found.hit_block_ids)
    num_rest = request.num_tokens - hit.num_tokens
    count = _cut(state, num_rest, left)
    num_new, num_queued = asked.blocks_needed(count, hit)
    needed, usable = num_new + num_queued, state.num_blocks - 1
    cause = _gate(state, request) or _room(state, num_rest, left)
    if not cause and needed > state.num_free_blocks:
        cause = "oversized" if needed > usable else "blocks"
    if not cause and lookup_in_hand(state, request):
        cause = "admitting"
    return Autopsy(
        request.request_id,
        request.num_tokens,
        hit.num_tokens,
        count,
        len(state.waiting) - 1,
        cause or "nothing",
        is_deciding,
        cause in ("oversized", "blocks") and not state.running,
        needed,
        num_queued,
        _need(asked, request),
        _largest(asked),
        state.num_free_blocks,
        usable,
        left,
        _holders(state),
    )


def _admitted_now(state: State, request: RequestState, left: int) -> Autopsy:
    """In the middle of allocate_slots: it waits still, and holds blocks already. What it lacks is
    certain to be there, as allocate_slots has counted before it took the first."""
    asked, lookup = AskedCache(state), lookup_in_hand(state, request)
    num_hit = lookup.num_hit_tokens if lookup else 0
    count = _cut(state, request.num_tokens - num_hit, left)
    num_missing = sum(
        max(0, cdiv(num_hit + count, size) - len(table))
        for table, size in zip(request.block_tables, state.group_block_sizes, strict=True)
    )
    return Autopsy(
        request.request_id,
        request.num_tokens,
        num_hit,
        count,
        len(state.waiting) - 1,
        "admitting",
        True,
        False,
        num_missing,
        0,
        _need(asked, request),
        _largest(asked),
        state.num_free_blocks,
        state.num_blocks - 1,
        left,
        _holders(state),
    )


def _need(asked: AskedCache, request: RequestState) -> Need:
    """vLLM counts no end in advance; this is what our engine refuses a prompt by (core/admission.py)."""
    num_tokens = request.num_prompt_tokens + request.added.max_tokens
    num_blocks = num_blocks_ever_held(asked.config, asked.specs, num_tokens)
    return Need(request.request_id, min(num_tokens, asked.config.max_model_len), num_blocks)


def _largest(asked: AskedCache) -> Need:
    """The first of equals, in the order of the line: the head, if it is among them."""
    state = asked.state
    needs = [_need(asked, state.requests[id_]) for id_ in [*state.waiting, *state.running]]
    return max(needs, key=lambda need: need.num_blocks)


def tokens_left(state: State) -> int:
    """Of the budget: in a step what it has not given away, between two steps what the running
    requests will leave, as each may take at most what it has not computed."""
    if state.in_step and not state.is_scheduled:
        left: int = state.token_budget - sum(
            row.num_scheduled_tokens for row in state.scheduled.values()
        )
        rest = [id_ for id_ in state.running if id_ not in state.scheduled]
    else:
        left, rest = state.config["max_num_batched_tokens"], state.running
    for request_id in rest:
        request = state.requests[request_id]
        known = request.num_tokens + len(request.spec_token_ids)
        left -= _cut(state, max(0, known - request.num_computed_tokens), left)
    return left


def _cut(state: State, num_tokens: int, left: int) -> int:
    threshold = state.config.get("long_prefill_token_threshold") or 0
    if 0 < threshold < num_tokens:
        num_tokens = threshold
    return min(num_tokens, left)


def _gate(state: State, request: RequestState) -> str | None:
    """What keeps everybody out, whatever they need."""
    if state.in_step and state.preempted and not state.is_scheduled:
        return "preempted"
    if len(state.running) >= state.config.get("max_num_seqs", len(state.running) + 1):
        return "seqs"
    adapter, most = request.added.lora_name, state.config.get("max_loras")
    rows = state.scheduled if state.in_step and not state.is_scheduled else state.running
    adapters = {state.requests[id_].added.lora_name for id_ in rows} - {None, ""}
    is_new = adapter and adapter not in adapters
    return "lora" if most and is_new and len(adapters) >= most else None


def _room(state: State, num_tokens: int, left: int) -> str | None:
    """What the budget of the step forbids."""
    if left <= 0:
        return "budget"
    is_cut = state.config.get("enable_chunked_prefill", True)
    threshold = state.config.get("long_prefill_token_threshold") or 0
    if not is_cut and (min(num_tokens, threshold) if threshold else num_tokens) > left:
        return "uncut"
    return None


def _holders(state: State) -> tuple[Holder, ...]:
    holders = []
    for request_id in state.running:
        held = {
            id_
            for table in state.requests[request_id].block_tables
            for id_ in table
            if id_ != NULL_BLOCK_ID
        }
        num_own = sum(state.blocks[id_].ref_cnt == 1 for id_ in held)
        holders.append(Holder(request_id, len(held), num_own))
    return tuple(sorted(holders, key=lambda holder: -holder.num_blocks))
