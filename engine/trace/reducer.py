"""What every event means for the picture. No clock, no randomness, no reading of files.

`apply` is the only code that knows; what blocks do stands in block_reducer.py beside it. An event
that cannot have happened in this State is refused with a TraceError that says why in numbers.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from engine.errors import TraceError
from engine.trace import block_reducer, events
from engine.trace.entries import Lookup, PrefixCacheStats, RequestState, ScheduledRow
from engine.trace.events import Event
from engine.trace.state import State

FINISHED_STATUS = {
    "length": "FINISHED_LENGTH_CAPPED",
    "stop": "FINISHED_STOPPED",
    "abort": "FINISHED_ABORTED",
}
FIXED_SETTINGS = ("block_size", "num_blocks", "kv_groups")
COUNTERS = tuple(name for name in PrefixCacheStats.__slots__ if name != "reset")

T = TypeVar("T")


def apply(state: State, event: Event) -> None:
    """Change `state` from the picture before `event` to the one after it."""
    MEANING[type(event)](state, event)


# Inputs ---------------------------------------------------------------------------------------


def request_added(state: State, event: events.RequestAdded) -> None:
    known = state.requests.pop(event.request_id, None)
    if known is not None and not known.is_finished:
        raise TraceError(f"request {event.request_id} was added twice")
    state.requests[event.request_id] = RequestState(
        event,
        state.owner,
        num_tokens=len(event.prompt_token_ids),
        token_log=list(event.prompt_token_ids),
        hash_log=list(event.block_hashes),
        num_block_hashes=len(event.block_hashes),
        block_tables=[[] for _ in state.groups],
    )


def request_aborted(state: State, event: events.RequestAborted) -> None:
    if event.ok:
        _finish(state, event.request_id, "abort")


def setting_changed(state: State, event: events.SettingChanged) -> None:
    if event.name in FIXED_SETTINGS or event.name not in state.config:
        raise TraceError(f"setting {event.name} cannot change during a run")
    state.config[event.name] = event.value


# Scheduling -----------------------------------------------------------------------------------


def step_began(state: State, event: events.StepBegan) -> None:
    expected = state.step + state.is_updated
    if state.in_step or event.step != expected:
        raise TraceError(f"step {event.step} began where step {expected} was expected")
    state.step, state.token_budget = event.step, event.token_budget
    state.scheduled, state.admitted = {}, {}
    state.preempted, state.set_aside = [], []
    state.in_step = True
    state.is_scheduled = state.is_written = state.is_updated = False


def request_queued(state: State, event: events.RequestQueued) -> None:
    if event.request_id in state.waiting or event.request_id not in state.requests:
        raise TraceError(f"request {event.request_id} cannot be queued: it waits or is unknown")
    if not 0 <= event.index <= len(state.waiting):
        raise TraceError(f"place {event.index} in a queue of {len(state.waiting)} requests")
    state.waiting.insert(event.index, event.request_id)


def prefix_looked_up(state: State, event: events.PrefixLookedUp) -> None:
    state.own_request(event.request_id).lookup = Lookup(
        state.step,
        event.num_tokens,
        event.num_hit_tokens,
        event.hit_block_ids,
        event.stop_reason,
        event.missed_hash,
        event.num_dropped_blocks,
    )


def hit_cut(state: State, event: events.HitCut) -> None:
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


def request_admitted(state: State, event: events.RequestAdmitted) -> None:
    request_id = event.request_id
    if request_id not in state.waiting:
        raise TraceError(f"request {request_id} was admitted, but does not wait")
    request = state.own_request(request_id)
    if event.resumed != (request.status == "PREEMPTED"):
        raise TraceError(f"request {request_id} is {request.status}: resumed={event.resumed}")
    state.waiting.remove(request_id)
    state.running.append(request_id)
    state.admitted[request_id] = "resumed" if event.resumed else "new"
    request.status = "RUNNING"
    request.num_computed_tokens = request.num_hit_tokens = event.num_hit_tokens
    if request.num_cached_tokens is None:
        request.num_cached_tokens = event.num_hit_tokens


def request_scheduled(state: State, event: events.RequestScheduled) -> None:
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


def request_unscheduled(state: State, event: events.RequestUnscheduled) -> None:
    row = state.scheduled.pop(event.request_id, None)
    if row is None or row.num_scheduled_tokens != event.num_tokens_given_back:
        raise TraceError(
            f"request {event.request_id} gave back {event.num_tokens_given_back} tokens of {row}"
        )


def request_preempted(state: State, event: events.RequestPreempted) -> None:
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


def request_set_aside(state: State, event: events.RequestSetAside) -> None:
    """It keeps its place in `waiting`: whoever is set aside returns to the head, in order."""
    state.set_aside.append(event.request_id)


def step_scheduled(state: State, event: events.StepScheduled) -> None:
    rows = state.scheduled.values()
    total = sum(row.num_scheduled_tokens for row in rows)
    if total != event.total_num_scheduled_tokens or not state.in_step or state.is_scheduled:
        raise TraceError(
            f"step {state.step} was scheduled with {event.total_num_scheduled_tokens} tokens, "
            f"but its requests got {total}"
        )
    for row in rows:
        request = state.own_request(row.request_id)
        request.num_computed_tokens = row.num_computed_tokens + row.num_scheduled_tokens
    state.num_common_prefix_blocks = event.num_common_prefix_blocks
    state.is_scheduled = True


# Updating -------------------------------------------------------------------------------------


def tokens_sampled(state: State, event: events.TokensSampled) -> None:
    request_id = event.request_id
    request = state.requests[request_id]
    if request.owner != state.owner:  # asked here, because this event is the most frequent
        request = state.own_request(request_id)
    if not state.is_written or request_id not in state.scheduled:
        raise TraceError(f"request {request_id} got tokens in a step that did not run it")
    num_tokens, num_samples = request.num_tokens, request.num_samples
    request.token_log = _grow(request.token_log, num_tokens, event.token_ids)
    request.num_tokens = num_tokens + len(event.token_ids)
    request.sample_log = _grow(request.sample_log, num_samples, (event,))
    request.num_samples = num_samples + 1
    if event.num_rejected_tokens:
        computed = request.num_computed_tokens
        if not 0 <= event.num_rejected_tokens <= computed:
            raise TraceError(f"{event.num_rejected_tokens} of {computed} tokens were rejected")
        request.num_computed_tokens = computed - event.num_rejected_tokens
        block_reducer.reject_slots(state, request, request.num_computed_tokens, computed)


def block_hashed(state: State, event: events.BlockHashed) -> None:
    request = state.own_request(event.request_id)
    request.hash_log = _grow(request.hash_log, request.num_block_hashes, event.block_hashes)
    request.num_block_hashes += len(event.block_hashes)


def drafts_set(state: State, event: events.DraftsSet) -> None:
    state.own_request(event.request_id).spec_token_ids = event.token_ids


def request_finished(state: State, event: events.RequestFinished) -> None:
    _finish(state, event.request_id, event.reason)


def step_ended(state: State, event: events.StepEnded) -> None:
    if event.step != state.step or not state.is_scheduled or not state.in_step:
        raise TraceError(f"step {event.step} ended, but step {state.step} is not over")
    state.step_stats = PrefixCacheStats(
        event.reset, *(getattr(event, counter) for counter in COUNTERS)
    )
    state.stats = PrefixCacheStats(
        event.reset or state.stats.reset,
        *(getattr(event, counter) + getattr(state.stats, counter) for counter in COUNTERS),
    )
    state.in_step, state.is_updated = False, True


def nothing_changed(state: State, event: Event) -> None:
    """The event explains what follows; the picture stays."""


def _finish(state: State, request_id: str, reason: str) -> None:
    request = state.own_request(request_id)
    if request.is_finished:
        raise TraceError(f"request {request_id} ended twice: it is {request.status}")
    (state.running if request.status == "RUNNING" else state.waiting).remove(request_id)
    request.status, request.finish_reason = FINISHED_STATUS[reason], reason
    request.spec_token_ids = ()
    request.finished_step = state.step


def _grow(log: list[T], length: int, gained: Sequence[T]) -> list[T]:
    """`log` with `gained` at `length`; a fork of it where another picture went on differently."""
    if len(log) == length:
        log.extend(gained)
        return log
    if log[length : length + len(gained)] == list(gained):
        return log
    return [*log[:length], *gained]


MEANING: dict[type[msgspec.Struct], Callable[[State, Any], None]] = {
    events.RequestAdded: request_added,
    events.RequestAborted: request_aborted,
    events.CacheReset: block_reducer.cache_reset,
    events.SettingChanged: setting_changed,
    events.StepBegan: step_began,
    events.RequestQueued: request_queued,
    events.PrefixLookedUp: prefix_looked_up,
    events.HitCut: hit_cut,
    events.HolesMade: block_reducer.holes_made,
    events.BlocksTouched: block_reducer.blocks_touched,
    events.BlocksTaken: block_reducer.blocks_taken,
    events.BlocksCached: block_reducer.blocks_cached,
    events.RequestAdmitted: request_admitted,
    events.RequestScheduled: request_scheduled,
    events.AllocationFailed: nothing_changed,
    events.RequestUnscheduled: request_unscheduled,
    events.RequestPreempted: request_preempted,
    events.RequestSetAside: request_set_aside,
    events.AdmissionStopped: nothing_changed,
    events.StepScheduled: step_scheduled,
    events.SlotsWritten: block_reducer.slots_written,
    events.TokensSampled: tokens_sampled,
    events.BlockHashed: block_hashed,
    events.DraftsSet: drafts_set,
    events.RequestFinished: request_finished,
    events.BlocksFreed: block_reducer.blocks_freed,
    events.StepEnded: step_ended,
}
