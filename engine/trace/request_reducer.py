"""What the events about requests mean: queues, status, tokens, and their share of a step."""

import operator

from engine.errors import TraceError
from engine.trace.entries import Lookup, RequestState, ScheduledRow
from engine.trace.events import (
    HitCut,
    PrefixLookedUp,
    RequestAborted,
    RequestAdded,
    RequestAdmitted,
    RequestFinished,
    RequestPreempted,
    RequestQueued,
    RequestScheduled,
    RequestSetAside,
    RequestUnscheduled,
)
from engine.trace.state import State

FINISHED_STATUS = {
    "length": "FINISHED_LENGTH_CAPPED",
    "stop": "FINISHED_STOPPED",
    "abort": "FINISHED_ABORTED",
}


def request_added(state: State, event: RequestAdded) -> None:
    known = state.requests.pop(event.request_id, None)
    if known is not None and not known.is_finished:
        raise TraceError.of(
            "refused.added_twice", "request {request} was added twice", request=event.request_id
        )
    token_ids, texts = event.prompt_token_ids, event.prompt_token_bytes
    if texts and len(texts) != len(token_ids):
        raise TraceError.of(
            "refused.texts",
            "{tokens} prompt tokens came with {texts} texts",
            tokens=len(token_ids),
            texts=len(texts),
        )
    state.requests[event.request_id] = RequestState(
        event,
        state.owner,
        num_tokens=len(event.prompt_token_ids),
        token_log=list(event.prompt_token_ids),
        hash_log=list(event.block_hashes),
        num_block_hashes=len(event.block_hashes),
        block_tables=[[] for _ in state.groups],
    )


def request_aborted(state: State, event: RequestAborted) -> None:
    if event.ok:
        _finish(state, event.request_id, "abort")


def request_queued(state: State, event: RequestQueued) -> None:
    if event.request_id in state.waiting or event.request_id not in state.requests:
        raise TraceError.of(
            "refused.queued",
            "request {request} cannot be queued: it waits or is unknown",
            request=event.request_id,
        )
    if not 0 <= event.index <= len(state.waiting):
        raise TraceError.of(
            "refused.place",
            "place {place} in a queue of {n} requests",
            place=event.index,
            n=len(state.waiting),
        )
    state.waiting.insert(event.index, event.request_id)


def prefix_looked_up(state: State, event: PrefixLookedUp) -> None:
    if len(event.hit_block_ids) != len(state.groups):
        raise TraceError.of(
            "refused.hit_groups",
            "a hit in {n} groups of {of}",
            n=len(event.hit_block_ids),
            of=len(state.groups),
        )
    state.own_request(event.request_id).lookup = Lookup(
        state.step,
        event.num_tokens,
        event.num_hit_tokens,
        event.hit_block_ids,
        event.stop_reason,
        event.missed_hash,
        event.num_dropped_blocks,
    )


def hit_cut(state: State, event: HitCut) -> None:
    request = state.own_request(event.request_id)
    if request.lookup is None:
        raise TraceError.of(
            "refused.hit_cut",
            "a hit of {request} was cut, but there was no lookup",
            request=event.request_id,
        )
    kept = tuple(
        block_ids[: event.num_hit_tokens // size]
        for block_ids, size in zip(
            request.lookup.hit_block_ids, state.group_block_sizes, strict=True
        )
    )
    request.lookup = request.lookup._replace(
        num_hit_tokens=event.num_hit_tokens, hit_block_ids=kept
    )


def request_admitted(state: State, event: RequestAdmitted) -> None:
    request_id = event.request_id
    if request_id not in state.waiting:
        raise TraceError.of(
            "refused.admitted",
            "request {request} was admitted, but does not wait",
            request=request_id,
        )
    request = state.own_request(request_id)
    if event.resumed != (request.status == "PREEMPTED"):
        raise TraceError.of(
            "refused.resumed",
            "request {request} is {status}: resumed={resumed}",
            request=request_id,
            status=request.status,
            resumed=event.resumed,
        )
    held = min(map(operator.mul, map(len, request.block_tables), state.group_block_sizes))
    if not 0 <= event.num_hit_tokens <= held:
        raise TraceError.of(
            "refused.hit_tokens",
            "request {request} was admitted with {tokens} tokens computed, but its blocks hold {held}",
            request=request_id,
            tokens=event.num_hit_tokens,
            held=held,
        )
    state.waiting.remove(request_id)
    state.running.append(request_id)
    state.admitted[request_id] = "resumed" if event.resumed else "new"
    request.status = "RUNNING"
    request.num_computed_tokens = request.num_hit_tokens = event.num_hit_tokens
    if request.num_cached_tokens is None:
        request.num_cached_tokens = event.num_hit_tokens


def request_scheduled(state: State, event: RequestScheduled) -> None:
    request_id = event.request_id
    request = state.requests[request_id]
    if request.owner != state.owner:  # asked here, because this event is the most frequent
        request = state.own_request(request_id)
    if (
        event.num_computed_tokens != request.num_computed_tokens
        or event.num_scheduled_tokens < 1
        or not state.in_step
        or state.is_scheduled
    ):
        raise TraceError.of(
            "refused.scheduled",
            "request {request} cannot be given {tokens} tokens after {start}: it has computed "
            "{computed}",
            request=request_id,
            tokens=event.num_scheduled_tokens,
            start=event.num_computed_tokens,
            computed=request.num_computed_tokens,
        )
    state.scheduled[request_id] = ScheduledRow(
        request_id,
        state.admitted.get(request_id, "running"),
        event.num_scheduled_tokens,
        event.num_computed_tokens,
        event.spec_token_ids,
    )
    request.spec_token_ids = ()
    if request.first_scheduled_step is None:
        request.first_scheduled_step = state.step


def request_unscheduled(state: State, event: RequestUnscheduled) -> None:
    row = state.scheduled.pop(event.request_id, None)
    if row is None or row.num_scheduled_tokens != event.num_tokens_given_back:
        raise TraceError.of(
            "refused.gave_back",
            "request {request} gave back {tokens} tokens of {row}",
            request=event.request_id,
            tokens=event.num_tokens_given_back,
            row=str(row),
        )


def request_preempted(state: State, event: RequestPreempted) -> None:
    request = state.own_request(event.request_id)
    if request.status != "RUNNING":
        raise TraceError.of(
            "refused.preempted",
            "request {request} was preempted, but is {status}",
            request=event.request_id,
            status=request.status,
        )
    state.running.remove(event.request_id)
    state.preempted.append(event.request_id)
    state.num_preemptions += 1
    request.status = "PREEMPTED"
    request.num_computed_tokens = 0
    request.spec_token_ids = ()
    request.num_preemptions += 1


def request_set_aside(state: State, event: RequestSetAside) -> None:
    """It keeps its place in `waiting`: whoever is set aside returns to the head, in order."""
    state.set_aside.append(event.request_id)


def request_finished(state: State, event: RequestFinished) -> None:
    _finish(state, event.request_id, event.reason)


def _finish(state: State, request_id: str, reason: str) -> None:
    request = state.own_request(request_id)
    if request.is_finished:
        raise TraceError.of(
            "refused.ended_twice",
            "request {request} ended twice: it is {status}",
            request=request_id,
            status=request.status,
        )
    (state.running if request.status == "RUNNING" else state.waiting).remove(request_id)
    request.status, request.finish_reason = FINISHED_STATUS[reason], reason
    request.spec_token_ids = ()
    request.finished_step = state.step + state.is_updated  # between two steps: of the next one
