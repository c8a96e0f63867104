"""What the events about requests mean: queues, status, tokens, and their share of a step."""

import operator
from collections.abc import Sequence
from typing import TypeVar

from engine.errors import TraceError
from engine.trace.block_reducer import reject_slots
from engine.trace.entries import Lookup, RequestState, ScheduledRow
from engine.trace.events import (
    BlockHashed,
    DraftsSet,
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
    TokensSampled,
)
from engine.trace.state import State

FINISHED_STATUS = {
    "length": "FINISHED_LENGTH_CAPPED",
    "stop": "FINISHED_STOPPED",
    "abort": "FINISHED_ABORTED",
}

T = TypeVar("T")


def request_added(state: State, event: RequestAdded) -> None:
    known = state.requests.pop(event.request_id, None)
    if known is not None and not known.is_finished:
        raise TraceError(f"request {event.request_id} was added twice")
    token_ids, texts = event.prompt_token_ids, event.prompt_token_bytes
    if texts and len(texts) != len(token_ids):
        raise TraceError(f"{len(token_ids)} prompt tokens came with {len(texts)} texts")
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
        raise TraceError(f"request {event.request_id} cannot be queued: it waits or is unknown")
    if not 0 <= event.index <= len(state.waiting):
        raise TraceError(f"place {event.index} in a queue of {len(state.waiting)} requests")
    state.waiting.insert(event.index, event.request_id)


def prefix_looked_up(state: State, event: PrefixLookedUp) -> None:
    if len(event.hit_block_ids) != len(state.groups):
        raise TraceError(f"a hit in {len(event.hit_block_ids)} groups of {len(state.groups)}")
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
        raise TraceError(f"a hit of {event.request_id} was cut, but there was no lookup")
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
        raise TraceError(f"request {request_id} was admitted, but does not wait")
    request = state.own_request(request_id)
    if event.resumed != (request.status == "PREEMPTED"):
        raise TraceError(f"request {request_id} is {request.status}: resumed={event.resumed}")
    held = min(map(operator.mul, map(len, request.block_tables), state.group_block_sizes))
    if not 0 <= event.num_hit_tokens <= held:
        raise TraceError(
            f"request {request_id} was admitted with {event.num_hit_tokens} tokens computed, "
            f"but its blocks hold {held}"
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
        raise TraceError(
            f"request {request_id} cannot be given {event.num_scheduled_tokens} tokens after "
            f"{event.num_computed_tokens}: it has computed {request.num_computed_tokens}"
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
        raise TraceError(
            f"request {event.request_id} gave back {event.num_tokens_given_back} tokens of {row}"
        )


def request_preempted(state: State, event: RequestPreempted) -> None:
    request = state.own_request(event.request_id)
    if request.status != "RUNNING":
        raise TraceError(f"request {event.request_id} was preempted, but is {request.status}")
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


def tokens_sampled(state: State, event: TokensSampled) -> None:
    request_id = event.request_id
    request = state.requests[request_id]
    if request.owner != state.owner:  # asked here, because this event is the most frequent
        request = state.own_request(request_id)
    if not state.is_written or request_id not in state.scheduled:
        raise TraceError(f"request {request_id} got tokens in a step that did not run it")
    token_ids = event.token_ids
    count = len(token_ids)
    if (
        len(event.token_bytes or token_ids) != count
        or len(event.logprobs or token_ids) != count
        or len(event.top_logprobs or token_ids) != count
    ):
        raise TraceError(f"{count} tokens of {request_id} came with details of another number")
    num_tokens, num_samples = request.num_tokens, request.num_samples
    if len(request.token_log) == num_tokens and len(request.sample_log) == num_samples:
        request.token_log.extend(token_ids)  # as _grow does, without two calls
        request.sample_log.append(event)
    else:
        request.token_log = _grow(request.token_log, num_tokens, token_ids)
        request.sample_log = _grow(request.sample_log, num_samples, (event,))
    request.num_tokens = num_tokens + count
    request.num_samples = num_samples + 1
    if event.num_rejected_tokens:
        computed = request.num_computed_tokens
        if not 0 <= event.num_rejected_tokens <= computed:
            raise TraceError(f"{event.num_rejected_tokens} of {computed} tokens were rejected")
        request.num_computed_tokens = computed - event.num_rejected_tokens
        reject_slots(state, request, request.num_computed_tokens, computed)


def block_hashed(state: State, event: BlockHashed) -> None:
    request = state.own_request(event.request_id)
    request.hash_log = _grow(request.hash_log, request.num_block_hashes, event.block_hashes)
    request.num_block_hashes += len(event.block_hashes)


def drafts_set(state: State, event: DraftsSet) -> None:
    state.own_request(event.request_id).spec_token_ids = event.token_ids


def request_finished(state: State, event: RequestFinished) -> None:
    _finish(state, event.request_id, event.reason)


def _finish(state: State, request_id: str, reason: str) -> None:
    request = state.own_request(request_id)
    if request.is_finished:
        raise TraceError(f"request {request_id} ended twice: it is {request.status}")
    (state.running if request.status == "RUNNING" else state.waiting).remove(request_id)
    request.status, request.finish_reason = FINISHED_STATUS[reason], reason
    request.spec_token_ids = ()
    request.finished_step = state.step + state.is_updated  # between two steps: of the next one


def _grow(log: list[T], length: int, gained: Sequence[T]) -> list[T]:
    """`log` with `gained` at `length`; a fork of it where another picture went on differently."""
    if len(log) == length:
        log.extend(gained)
        return log
    if log[length : length + len(gained)] == list(gained):
        return log
    return [*log[:length], *gained]
