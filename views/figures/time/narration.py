"""What happened in this step, in words: one line for each sub-step, with vLLM's function beside it."""

from collections.abc import Callable, Sequence
from typing import Any

from engine.trace import events
from engine.trace.events import Event
from engine.trace.state import Cursor
from engine.trace.trace import Trace
from views.figures.cache.tokens import request_pieces
from views.figures.moment import short_hash
from views.text import Text

MAX_SUB_STEPS = 400
Tell = Callable[[Any, Text], str]


def narration(trace: Trace, cursor: Cursor, text: Text, *, is_idle: bool = False) -> dict[str, Any]:
    """All sub-steps of the cursor's step; `current` is the one that just happened.

    `is_idle`: whether only another prompt makes the run go on; at its end `empty` says so.
    """
    cursor = trace.cursor_at(trace.position(cursor))
    step = cursor.step
    num_sub_steps = trace.num_sub_steps(step)
    first = max(0, min(cursor.sub_step - MAX_SUB_STEPS // 2, num_sub_steps - MAX_SUB_STEPS))
    last = min(num_sub_steps, first + MAX_SUB_STEPS)
    start = trace.position(Cursor(step, 0))
    return {
        "title": text("narration.title", step=step),
        "lines": [
            _line(trace.events(step, sub_step), start + sub_step + 1, text)
            for sub_step in range(first, last)
        ],
        "current": cursor.sub_step - 1 - first,
        "empty": _empty(trace, cursor, text, is_idle),
        "go": text("narration.go"),
        "departs": text("narration.departs"),
    }


def _empty(trace: Trace, cursor: Cursor, text: Text, is_idle: bool) -> str:
    if not trace.num_sub_steps(cursor.step):
        return text("narration.add" if is_idle else "narration.empty")
    is_end = trace.position(cursor) == trace.num_positions - 1
    return text("narration.done") if is_idle and is_end else ""


def _line(happened: Sequence[Event], position: int, text: Text) -> dict[str, Any]:
    functions = dict.fromkeys(event.vllm_function for event in happened if event.vllm_function)
    line: dict[str, Any] = {
        "position": position,
        "text": sentence(happened, text),
        "functions": list(functions)[:2],
    }
    if any(isinstance(event, events.HitCut) for event in happened):
        line["departs"] = True
    if any(type(event) in LOSSES for event in happened):
        line["loss"] = True
    return line


def sentence(happened: Sequence[Event], text: Text) -> str:
    """The sentence of a sub-step; events that go on with it add their clause."""
    return text.told(tell(event, text) for event in happened)


def tell(event: Event, text: Text) -> str:
    teller = TELLERS.get(type(event))
    return teller(event, text) if teller else ""


LOSSES = (events.AllocationFailed, events.RequestPreempted, events.RequestUnscheduled)


def _request_added(event: events.RequestAdded, text: Text) -> str:
    return text.count("event.RequestAdded", len(event.prompt_token_ids), request=event.request_id)


def _request_aborted(event: events.RequestAborted, text: Text) -> str:
    key = "event.RequestAborted" if event.ok else "event.RequestAborted.refused"
    return text(key, request=event.request_id)


def _cache_reset(event: events.CacheReset, text: Text) -> str:
    if event.ok:
        return text("event.CacheReset")
    return text.count("event.CacheReset.refused", event.num_blocks_in_use)


def _setting_changed(event: events.SettingChanged, text: Text) -> str:
    return text("event.SettingChanged", name=event.name, value=event.value)


def _step_began(event: events.StepBegan, text: Text) -> str:
    return text("event.StepBegan", step=event.step, budget=event.token_budget)


def _request_queued(event: events.RequestQueued, text: Text) -> str:
    return text("event.RequestQueued", request=event.request_id, place=event.index + 1)


def _prefix_looked_up(event: events.PrefixLookedUp, text: Text) -> str:
    missed = short_hash(event.missed_hash) if event.missed_hash else ""
    blocks = text.ids(event.hit_block_ids[0] if event.hit_block_ids else ())
    hit, of = event.num_hit_tokens, event.num_tokens
    key = "event.PrefixLookedUp.hit" if hit else "event.PrefixLookedUp.none"
    found = text(key, request=event.request_id, hit=hit, of=of, blocks=blocks)
    stop = "no_full" if event.stop_reason == "end" and not hit else event.stop_reason
    reason = text(f"stop_reason.{stop}", hash=missed, token=hit)
    return text.told((found, reason))


def _hit_cut(event: events.HitCut, text: Text) -> str:
    return text(
        "event.HitCut",
        request=event.request_id,
        block=event.block_id,
        before=event.num_hit_tokens_before,
        after=event.num_hit_tokens,
    )


def _holes_made(event: events.HolesMade, text: Text) -> str:
    blocks = text.ids(event.block_ids)
    return text.count(
        "event.HolesMade", len(event.block_ids), request=event.request_id, blocks=blocks
    )


def _blocks_touched(event: events.BlocksTouched, text: Text) -> str:
    blocks = text.ids(event.block_ids)
    return text.count(
        "event.BlocksTouched", len(event.block_ids), request=event.request_id, blocks=blocks
    )


def _blocks_taken(event: events.BlocksTaken, text: Text) -> str:
    taken = text.count(
        "event.BlocksTaken",
        len(event.block_ids),
        request=event.request_id,
        blocks=text.ids(event.block_ids),
    )
    if not event.evicted_block_ids:
        return taken
    evicted = text.count(
        "event.BlocksTaken.evicted",
        len(event.evicted_block_ids),
        blocks=text.ids(event.evicted_block_ids),
    )
    return text.told((taken, evicted))


def _blocks_cached(event: events.BlocksCached, text: Text) -> str:
    return text.count(
        "event.BlocksCached",
        len(event.block_ids),
        request=event.request_id,
        blocks=text.ids(event.block_ids),
    )


def _request_admitted(event: events.RequestAdmitted, text: Text) -> str:
    key = "event.RequestAdmitted.resumed" if event.resumed else "event.RequestAdmitted"
    return text(key, request=event.request_id)


def _request_scheduled(event: events.RequestScheduled, text: Text) -> str:
    return text.count(
        "event.RequestScheduled",
        event.num_scheduled_tokens,
        request=event.request_id,
        first=event.num_computed_tokens,
        last=event.num_computed_tokens + event.num_scheduled_tokens - 1,
    )


def _allocation_failed(event: events.AllocationFailed, text: Text) -> str:
    return text.count(
        "event.AllocationFailed",
        event.num_blocks_needed,
        request=event.request_id,
        free=event.num_free_blocks,
    )


def _request_unscheduled(event: events.RequestUnscheduled, text: Text) -> str:
    given_back = event.num_tokens_given_back
    return text.count("event.RequestUnscheduled", given_back, request=event.request_id)


def _request_preempted(event: events.RequestPreempted, text: Text) -> str:
    if event.for_request_id in (None, event.request_id):
        key = (
            "event.RequestPreempted.self"
            if event.for_request_id
            else "event.RequestPreempted.reset"
        )
        return text(key, request=event.request_id)
    return text("event.RequestPreempted", request=event.request_id, other=event.for_request_id)


def _request_set_aside(event: events.RequestSetAside, text: Text) -> str:
    return text("event.RequestSetAside", request=event.request_id)


def _admission_stopped(event: events.AdmissionStopped, text: Text) -> str:
    return text(f"event.AdmissionStopped.{event.reason}", request=event.request_id or "")


def _step_scheduled(event: events.StepScheduled, text: Text) -> str:
    return text.count("event.StepScheduled", event.total_num_scheduled_tokens, step=event.step)


def _slots_written(event: events.SlotsWritten, text: Text) -> str:
    written = text.count("event.SlotsWritten", event.num_tokens)
    if not event.valid_block_ids:
        return written
    valid = text.count(
        "event.SlotsWritten.valid",
        len(event.valid_block_ids),
        blocks=text.ids(event.valid_block_ids),
    )
    return text.told((written, valid))


def _tokens_sampled(event: events.TokensSampled, text: Text) -> str:
    drawn = request_pieces(event.token_ids, event.token_bytes)
    return text.count(
        "event.TokensSampled",
        len(event.token_ids),
        request=event.request_id,
        tokens=" ".join(piece.label for piece in drawn),
        rejected=event.num_rejected_tokens,
    )


def _block_hashed(event: events.BlockHashed, text: Text) -> str:
    hashes = ", #".join(short_hash(hash_) for hash_ in event.block_hashes)
    return text.count(
        "event.BlockHashed", len(event.block_hashes), request=event.request_id, hashes=hashes
    )


def _drafts_set(event: events.DraftsSet, text: Text) -> str:
    return text.count("event.DraftsSet", len(event.token_ids), request=event.request_id)


def _request_finished(event: events.RequestFinished, text: Text) -> str:
    return text(f"event.RequestFinished.{event.reason}", request=event.request_id)


def _blocks_freed(event: events.BlocksFreed, text: Text) -> str:
    return text.count(
        "event.BlocksFreed",
        len(event.block_ids),
        request=event.request_id,
        blocks=text.ids(event.block_ids),
    )


def _step_ended(event: events.StepEnded, text: Text) -> str:
    if not event.requests:
        return text("event.StepEnded", step=event.step)
    return text("event.StepEnded.stats", step=event.step, hits=event.hits, queries=event.queries)


TELLERS: dict[type[Event], Tell] = {
    events.RequestAdded: _request_added,
    events.RequestAborted: _request_aborted,
    events.CacheReset: _cache_reset,
    events.SettingChanged: _setting_changed,
    events.StepBegan: _step_began,
    events.RequestQueued: _request_queued,
    events.PrefixLookedUp: _prefix_looked_up,
    events.HitCut: _hit_cut,
    events.HolesMade: _holes_made,
    events.BlocksTouched: _blocks_touched,
    events.BlocksTaken: _blocks_taken,
    events.BlocksCached: _blocks_cached,
    events.RequestAdmitted: _request_admitted,
    events.RequestScheduled: _request_scheduled,
    events.AllocationFailed: _allocation_failed,
    events.RequestUnscheduled: _request_unscheduled,
    events.RequestPreempted: _request_preempted,
    events.RequestSetAside: _request_set_aside,
    events.AdmissionStopped: _admission_stopped,
    events.StepScheduled: _step_scheduled,
    events.SlotsWritten: _slots_written,
    events.TokensSampled: _tokens_sampled,
    events.BlockHashed: _block_hashed,
    events.DraftsSet: _drafts_set,
    events.RequestFinished: _request_finished,
    events.BlocksFreed: _blocks_freed,
    events.StepEnded: _step_ended,
}
