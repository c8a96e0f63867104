"""Why did this miss? Token-exact, for whoever was admitted and for whoever waits.

A lookup stops for one of a few reasons (reasons.py). Which one it was follows from three things:
what the cache holds (the State), what it held once (the CacheLog), and whose tokens go with these
the longest (all requests that are known). Nothing younger than the lookup is looked at.
"""

from typing import NamedTuple

from engine.core.coordinator import Hit
from engine.core.kv_cache_spec import SlidingWindowSpec, cdiv
from engine.questions.absence import NOT_ADMITTED, Absence
from engine.questions.cache_log import CacheLog, cache_log_of
from engine.questions.lookup import (
    AskedCache,
    Query,
    WouldHit,
    look_up,
    lookup_in_hand,
    query_of_request,
)
from engine.questions.parting import best_partings
from engine.questions.reasons import (
    Diverges,
    FullHit,
    GroupsDisagree,
    LastBlockDropped,
    LastTokenKept,
    NoSharedPrefix,
    NotComputed,
    OtherParent,
    PartialBlock,
    ReadingSkipped,
    Reason,
    ShorterThanBlock,
    WindowGap,
)
from engine.trace.per_trace import OnePerTrace
from engine.trace.state import NULL_BLOCK_ID, Cursor, State
from engine.trace.trace import Trace


class Miss(NamedTuple):
    """What a lookup found and why no more. The first reason is what stopped it; a second one says
    what stood behind that."""

    request_id: str | None
    position: int  # the lookup sees what had happened at this cursor
    is_forecast: bool  # of somebody who waits, or of typed text: as if asked now
    block_size: int
    found: WouldHit
    reasons: tuple[Reason, ...]
    num_same_words: int = 0  # blocks that missed though their tokens were cached behind others

    @property
    def reason(self) -> Reason:
        return self.reasons[0]


def why_miss(trace: Trace, cursor: Cursor, request_id: str) -> Miss | None:
    """About the request's latest lookup; of one that waits, about the lookup that would be made
    now, unless this very schedule() has made it. None for one that is unknown, or ended before it was looked up."""
    state, position = trace.at(cursor), trace.position(cursor)
    request = state.requests.get(request_id)
    if request is None:
        return None
    log = cache_log_of(trace)
    if request.status in NOT_ADMITTED and not lookup_in_hand(state, request):
        return _Judge(state, log, position, query_of_request(request)).judge(is_forecast=True)
    looked_up_at = log.last_lookup(request_id, position)
    return None if looked_up_at is None else _verdict(trace, log, request_id, looked_up_at - 1)


def _verdict(trace: Trace, log: CacheLog, request_id: str, position: int) -> Miss:
    """About a lookup that was made. It never changes any more, so it is kept."""
    known = _VERDICTS.of(trace)
    verdict = known.get((request_id, position))
    if verdict is None:
        state = trace.at(trace.cursor_at(position))
        query = query_of_request(state.requests[request_id])
        verdict = _Judge(state, log, position, query).judge(is_forecast=False)
        known[request_id, position] = verdict
    return verdict


_VERDICTS: OnePerTrace[dict[tuple[str, int], Miss]] = OnePerTrace(lambda _: {})  # by position


def why_would_miss(trace: Trace, cursor: Cursor, query: Query) -> Miss:
    """The same about tokens that no request has brought yet."""
    judge = _Judge(trace.at(cursor), cache_log_of(trace), trace.position(cursor), query)
    return judge.judge(is_forecast=True)


class _Judge:
    """One lookup, with everything that its verdict needs."""

    def __init__(self, state: State, log: CacheLog, position: int, query: Query) -> None:
        self.state, self.position, self.query = state, position, query
        self.asked = AskedCache(state)
        self.size = state.block_size
        self.num_tokens = len(query.token_ids)
        self.partings = best_partings(state, query)
        self.absence = Absence(state, log, position, query, partings=self.partings)

    def judge(self, *, is_forecast: bool) -> Miss:
        found = look_up(self.state, self.query)
        reasons = tuple(self._reasons(found))
        is_elsewhere = isinstance(reasons[-1], Diverges | NoSharedPrefix | OtherParent)
        return Miss(
            self.query.request_id,
            self.position,
            is_forecast,
            self.size,
            found,
            reasons,
            self.absence.num_same_words(found.num_hit_tokens) if is_elsewhere else 0,
        )

    def _reasons(self, found: WouldHit) -> list[Reason]:
        config, alignment = self.asked.config, self.asked.coordinator.alignment
        if found.stop_reason == "skipped":
            return [ReadingSkipped(not config.enable_prefix_caching)]
        if self.num_tokens < alignment:
            return [ShorterThanBlock(self.num_tokens, alignment)]
        if found.cut_before_block is not None:
            return [NotComputed(found.cut_before_block, found.num_hit_tokens // self.size)]
        hit = Hit(found.num_hit_tokens, found.hit_block_ids)
        if self.asked.drops_last_hit_block:
            return self._with_eagle(hit)
        return self._of_hit(hit, self.asked)

    def _with_eagle(self, hit: Hit) -> list[Reason]:
        """First the block that was dropped, then why the hit would have ended anyway."""
        plain = AskedCache(self.state, drops=False)
        longer = plain.longest_hit(self.query.block_hashes, self.num_tokens - 1)
        behind = self._of_hit(longer, plain)
        if longer.num_tokens <= hit.num_tokens:
            return behind
        group_id, index = 0, hit.num_tokens // self.asked.managers[0].block_size
        block_id = longer.block_ids[group_id][index]
        num_blocks = (longer.num_tokens - hit.num_tokens) // self.size
        dropped = LastBlockDropped(block_id, hit.num_tokens // self.size, num_blocks)
        return [dropped, *(reason for reason in behind if not isinstance(reason, FullHit))]

    def _of_hit(self, hit: Hit, asked: AskedCache) -> list[Reason]:
        alignment = asked.coordinator.alignment
        if hit.num_tokens == (self.num_tokens - 1) // alignment * alignment:
            whole = asked.longest_hit(self.query.block_hashes, self.num_tokens)
            if whole.num_tokens > hit.num_tokens:
                return [self._kept(whole, hit)]
            if self.num_tokens - hit.num_tokens < alignment:
                return [self._end(hit.num_tokens)]
        if len(asked.managers) > 1:
            return self._of_groups(hit, asked)
        if isinstance(asked.managers[0].spec, SlidingWindowSpec):
            return self._of_window(hit.num_tokens, asked, 0)
        return self.absence.reasons(0, hit.num_tokens // asked.managers[0].block_size)

    def _kept(self, whole: Hit, hit: Hit) -> Reason:
        last = [ids[-1] for ids in whole.block_ids if ids and ids[-1] != NULL_BLOCK_ID]
        size = whole.num_tokens - hit.num_tokens
        return LastTokenKept(last[0] if last else NULL_BLOCK_ID, hit.num_tokens // self.size, size)

    def _end(self, num_hit_tokens: int) -> Reason:
        """Every full block hit; what is left is no block."""
        same = self.partings.same_keys
        if same is not None and same.num_shared_tokens > num_hit_tokens:
            return PartialBlock(
                same,
                num_hit_tokens // self.size,
                same.num_shared_tokens - num_hit_tokens,
                self.size,
                True,
            )
        return FullHit(self.num_tokens - num_hit_tokens)

    # Several groups, windows ------------------------------------------------------------------

    def _of_groups(self, hit: Hit, asked: AskedCache) -> list[Reason]:
        """Whether one group holds back another; and what that one lacks."""
        hashes, most = self.query.block_hashes, self.num_tokens - 1
        groups = [
            AskedCache(self.state, group_id=i, drops=False) for i in range(len(asked.managers))
        ]
        alone = [group.longest_hit(hashes, most).num_tokens for group in groups]
        least = min(alone)
        limiting = next(
            (
                i
                for i, group in enumerate(groups)
                if group.longest_hit(hashes, least).num_tokens < least
            ),
            alone.index(least),
        )
        if max(alone) == hit.num_tokens:
            next_block = hit.num_tokens // asked.managers[limiting].block_size
            return self.absence.reasons(limiting, next_block)
        disagree = GroupsDisagree(tuple(alone), limiting, asked.coordinator.alignment)
        if isinstance(asked.managers[limiting].spec, SlidingWindowSpec):
            end = least // asked.managers[limiting].block_size
            missing, _ = self._gap(limiting, asked, end)
        else:
            missing = alone[limiting] // asked.managers[limiting].block_size
        if missing is None or missing >= len(self.absence.hashes(limiting)):
            return [disagree]
        return [disagree, *self.absence.reasons(limiting, missing)]

    def _of_window(self, num_hit_tokens: int, asked: AskedCache, group_id: int) -> list[Reason]:
        """A window is content with the blocks under it; without enough of them it is no hit."""
        hashes, size = self.absence.hashes(group_id), asked.managers[group_id].block_size
        next_block = num_hit_tokens // size
        last = (self.num_tokens - 1) // size
        cached = [i for i in range(next_block, last) if asked.is_cached(hashes[i], group_id)]
        if not cached:
            return self.absence.reasons(group_id, next_block)
        missing, in_row = self._gap(group_id, asked, cached[-1] + 1)
        if missing is None:
            return self.absence.reasons(group_id, next_block)
        spec = asked.managers[group_id].spec
        assert isinstance(spec, SlidingWindowSpec), spec
        gap = WindowGap(group_id, cdiv(spec.window - 1, size), in_row, missing)
        return [gap, *self.absence.reasons(group_id, missing)]

    def _gap(self, group_id: int, asked: AskedCache, end: int) -> tuple[int | None, int]:
        """The nearest block in front of `end` that is not cached, and how many are behind it."""
        hashes = self.absence.hashes(group_id)
        for index in range(end - 1, -1, -1):
            if not asked.is_cached(hashes[index], group_id):
                return index, end - 1 - index
        return None, end
