"""What the events about a request's tokens mean: samples, drafts, and hashes of what is full."""

from collections.abc import Sequence
from typing import TypeVar

from engine.errors import TraceError
from engine.trace.block_reducer import reject_slots
from engine.trace.entries import RequestState
from engine.trace.events import BlockHashed, DraftsSet, TokensSampled
from engine.trace.state import State

T = TypeVar("T")


def tokens_sampled(state: State, event: TokensSampled) -> None:
    request_id = event.request_id
    request = state.requests[request_id]
    if request.owner != state.owner:  # asked here, because this event is the most frequent
        request = state.own_request(request_id)
    if not state.is_written or request_id not in state.scheduled:
        raise TraceError.of(
            "refused.sampled",
            "request {request} got tokens in a step that did not run it",
            request=request_id,
        )
    token_ids = event.token_ids
    count = len(token_ids)
    if (
        len(event.token_bytes or token_ids) != count
        or len(event.logprobs or token_ids) != count
        or len(event.top_logprobs or token_ids) != count
    ):
        raise TraceError.of(
            "refused.details",
            "{n} tokens of {request} came with details of another number",
            n=count,
            request=request_id,
        )
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
        _reject(state, request, event.num_rejected_tokens)


def _reject(state: State, request: RequestState, num_tokens: int) -> None:
    """The drafts at the end of what was computed were wrong."""
    computed = request.num_computed_tokens
    if not 0 <= num_tokens <= computed:
        raise TraceError.of(
            "refused.rejected",
            "{n} of {computed} tokens were rejected",
            n=num_tokens,
            computed=computed,
        )
    request.num_computed_tokens = computed - num_tokens
    reject_slots(state, request, request.num_computed_tokens, computed)


def block_hashed(state: State, event: BlockHashed) -> None:
    request = state.own_request(event.request_id)
    request.hash_log = _grow(request.hash_log, request.num_block_hashes, event.block_hashes)
    request.num_block_hashes += len(event.block_hashes)


def drafts_set(state: State, event: DraftsSet) -> None:
    state.own_request(event.request_id).spec_token_ids = event.token_ids


def _grow(log: list[T], length: int, gained: Sequence[T]) -> list[T]:
    """`log` with `gained` at `length`; a fork of it where another picture went on differently."""
    if len(log) == length:
        log.extend(gained)
        return log
    if log[length : length + len(gained)] == list(gained):
        return log
    return [*log[:length], *gained]
