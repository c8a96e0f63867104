"""What each reason says: the sentence, what can be done about it, and the place it points at."""

from collections.abc import Callable
from typing import Any, NamedTuple

from engine.questions import reasons
from engine.questions.miss import Miss
from engine.questions.reasons import Parting, Reason
from views.figures.why.side_by_side import looks_alike, side_by_side
from views.text import Text


class Words(NamedTuple):
    """`position`: of a moment in the run that is worth going to, with the words for it."""

    sentence: str
    advice: str = ""
    position: int | None = None
    go: str = ""


class Teller(NamedTuple):
    """What the sentences need to know besides the reason."""

    name: str  # whom the verdict is about
    token: Callable[[Parting, bool], str]  # the token of one side, own or not, as drawn
    text: Text
    lookup_step: int | None = None  # None: as if the cache were asked now


def words(reason: Reason, teller: Teller) -> Words:
    return _TELLERS[type(reason)](reason, teller)


def found_words(miss: Miss, name: str, text: Text) -> str:
    found = miss.found
    key = "why.found"
    if miss.request_id is None:
        key = "why.typed"
    elif miss.is_forecast:
        key = "why.would"
    return text.count(key, found.num_tokens, request=name, hit=found.num_hit_tokens)


def _skipped(reason: reasons.ReadingSkipped, teller: Teller) -> Words:
    text = teller.text
    if reason.is_caching_off:
        return Words(text("why.ReadingSkipped.off"), text("why.ReadingSkipped.off_do"))
    sentence = text("why.ReadingSkipped", request=teller.name)
    return Words(sentence, text("why.ReadingSkipped.do"))


def _shorter(reason: reasons.ShorterThanBlock, teller: Teller) -> Words:
    text, size = teller.text, reason.block_size
    sentence = text.count("why.ShorterThanBlock", reason.num_tokens, size=size)
    return Words(sentence, text("why.ShorterThanBlock.do", size=size))


def _nothing(_: reasons.NothingCached, teller: Teller) -> Words:
    text, step = teller.text, teller.lookup_step
    key = "why.NothingCached.now" if step is None else "why.NothingCached"
    return Words(text(key, step=step), text("why.NothingCached.do"))


def _no_shared_prefix(reason: reasons.NoSharedPrefix, teller: Teller) -> Words:
    text = teller.text
    sentence = text.count("why.NoSharedPrefix", reason.num_others)
    return Words(sentence, text("why.NoSharedPrefix.do"))


def _diverges(reason: reasons.Diverges, teller: Teller) -> Words:
    text, (other, at, own, theirs) = teller.text, reason.parting
    advice = text("why.Diverges.do")
    rest = _rest(reason, text)
    if theirs is None:
        ended = text("why.Diverges.ended", other=other, last=at - 1)
        return Words(text.told((ended, rest)), advice)
    ours, there = teller.token(reason.parting, True), teller.token(reason.parting, False)
    if looks_alike(ours, there):
        ours = text("why.token_of_id", token=ours, id=own)
        there = text("why.token_of_id", token=there, id=theirs)
    sentence = text("why.Diverges", other=other, at=at, ours=ours, theirs=there)
    return Words(text.told((sentence, rest)), advice)


def _rest(reason: reasons.Diverges, text: Text) -> str:
    """What must be computed: full blocks, and tokens of one that is not."""
    count, num_more, block = reason.num_blocks_behind, reason.num_tokens_behind, reason.block_index
    if not num_more:
        return text.count("why.Diverges.rest", count, block=block)
    blocks = text.count("why.full_blocks", count)
    return text.count("why.Diverges.rest_unfilled", num_more, blocks=blocks, block=block)


def _other_parent(reason: reasons.OtherParent, teller: Teller) -> Words:
    sentence = teller.text(
        "why.OtherParent",
        block=reason.block_index,
        other=reason.request_id,
        theirs=reason.other_block_index,
        id=reason.block_id,
    )
    return Words(sentence, teller.text("why.OtherParent.do"))


def _other_keys(reason: reasons.OtherKeys, teller: Teller) -> Words:
    """The adapter first: it stands in every block, the salt in the first alone."""
    text, none = teller.text, teller.text("why.none")
    if (reason.lora_name or None) != (reason.other_lora_name or None):
        key, advice = "why.OtherKeys.lora", text("why.OtherKeys.lora_do")
        ours, theirs = reason.lora_name, reason.other_lora_name
    else:
        key, advice = "why.OtherKeys.salt", text("why.OtherKeys.salt_do")
        ours, theirs = reason.cache_salt, reason.other_cache_salt
    shown = side_by_side(ours or "", theirs or "", text)
    sentence = text.count(
        key,
        reason.num_shared_tokens,
        other=reason.request_id,
        ours=shown[0] if ours else none,
        theirs=shown[1] if theirs else none,
    )
    return Words(sentence, advice)


def _evicted(reason: reasons.Evicted, teller: Teller) -> Words:
    text = teller.text
    sentence = text(
        "why.Evicted",
        block=reason.block_index,
        id=reason.block_id,
        since=reason.cached_step,
        by=reason.by_request_id,
        step=reason.step,
    )
    go = text("why.Evicted.go", step=reason.step)
    return Words(sentence, text("why.Evicted.do"), reason.position, go)


def _reset(reason: reasons.Reset, teller: Teller) -> Words:
    text, step = teller.text, reason.step
    sentence = text("why.Reset", block=reason.block_index, id=reason.block_id, step=step)
    go = text("why.Reset.go", step=step)
    return Words(sentence, text("why.Reset.do"), reason.position, go)


_NOT_YET = {
    "waiting": ("why.NotCachedYet.waiting", "why.NotCachedYet.do"),
    "prefill": ("why.NotCachedYet.prefill", "why.NotCachedYet.do"),
    "unfilled": ("why.NotCachedYet.unfilled", "why.NotCachedYet.do"),
    "never": ("why.NotCachedYet.never", "why.NotCachedYet.late_do"),
    "preempted": ("why.NotCachedYet.preempted", "why.NotCachedYet.late_do"),
    "window": ("why.NotCachedYet.window", "why.NotCachedYet.late_do"),
}


def _not_yet(reason: reasons.NotCachedYet, teller: Teller) -> Words:
    key, advice = _NOT_YET[reason.why]
    sentence = teller.text(key, other=reason.request_id, block=reason.block_index)
    return Words(sentence, teller.text(advice))


def _never(reason: reasons.NeverCached, teller: Teller) -> Words:
    return Words(teller.text("why.NeverCached", block=reason.block_index))


def _partial(reason: reasons.PartialBlock, teller: Teller) -> Words:
    text = teller.text
    sentence = text.count(
        "why.PartialBlock" if reason.is_own_end else "why.PartialBlock.ended",
        reason.num_in_block,
        other=reason.parting.request_id,
        block=reason.block_index,
        size=reason.block_size,
    )
    return Words(sentence, text("why.PartialBlock.do"))


def _last_token_kept(reason: reasons.LastTokenKept, teller: Teller) -> Words:
    text, size = teller.text, reason.block_size
    sentence = text("why.LastTokenKept", id=reason.block_id, size=size)
    return Words(sentence, text("why.LastTokenKept.do", size=size))


def _last_block_dropped(reason: reasons.LastBlockDropped, teller: Teller) -> Words:
    text = teller.text
    sentence = text.count(
        "why.LastBlockDropped", reason.num_blocks, id=reason.block_id, block=reason.block_index
    )
    return Words(sentence, text("why.LastBlockDropped.do"))


def _not_computed(reason: reasons.NotComputed, teller: Teller) -> Words:
    text = teller.text
    return Words(text("why.NotComputed", id=reason.block_id), text("why.NotComputed.do"))


def _groups(reason: reasons.GroupsDisagree, teller: Teller) -> Words:
    text = teller.text
    groups = text.listed(
        text("why.GroupsDisagree.group", group=group_id, hit=hit)
        for group_id, hit in enumerate(reason.num_hit_tokens)
    )
    sentence = text("why.GroupsDisagree", groups=groups, limiting=reason.limiting_group_id)
    return Words(sentence, text("why.GroupsDisagree.do", alignment=reason.alignment))


def _window(reason: reasons.WindowGap, teller: Teller) -> Words:
    text = teller.text
    sentence = text(
        "why.WindowGap",
        group=reason.group_id,
        needed=reason.num_needed,
        found=reason.num_in_row,
        block=reason.block_index,
    )
    return Words(sentence, text("why.WindowGap.do"))


def _full(reason: reasons.FullHit, teller: Teller) -> Words:
    return Words(teller.text.count("why.FullHit", reason.num_rest_tokens))


_TELLERS: dict[type[Any], Callable[[Any, Teller], Words]] = {
    reasons.ReadingSkipped: _skipped,
    reasons.ShorterThanBlock: _shorter,
    reasons.NothingCached: _nothing,
    reasons.NoSharedPrefix: _no_shared_prefix,
    reasons.Diverges: _diverges,
    reasons.OtherParent: _other_parent,
    reasons.OtherKeys: _other_keys,
    reasons.Evicted: _evicted,
    reasons.Reset: _reset,
    reasons.NotCachedYet: _not_yet,
    reasons.NeverCached: _never,
    reasons.PartialBlock: _partial,
    reasons.LastTokenKept: _last_token_kept,
    reasons.LastBlockDropped: _last_block_dropped,
    reasons.NotComputed: _not_computed,
    reasons.GroupsDisagree: _groups,
    reasons.WindowGap: _window,
    reasons.FullHit: _full,
}


def parting_of(miss: Miss) -> Parting | None:
    """Where two requests are worth being shown side by side."""
    for reason in miss.reasons:
        if isinstance(reason, reasons.Diverges | reasons.PartialBlock):
            return reason.parting
    return None
