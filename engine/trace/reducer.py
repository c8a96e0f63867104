"""What every event means for the picture. No clock, no randomness, no reading of files.

`apply` and the functions in its table are the only code that knows: about requests in
request_reducer.py, about their tokens in token_reducer.py, about blocks in block_reducer.py, about
steps and settings here. An event that cannot have happened in this State is refused with a
TraceError that says why, with the numbers.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from engine.errors import TraceError
from engine.trace import block_reducer, events, request_reducer, token_reducer
from engine.trace.entries import PrefixCacheStats
from engine.trace.events import Event
from engine.trace.state import State

FIXED_SETTINGS = ("block_size", "num_blocks", "kv_groups")
COUNTERS = tuple(name for name in PrefixCacheStats.__struct_fields__ if name != "reset")


def apply(state: State, event: Event) -> None:
    """Change `state` from the picture before `event` to the one after it."""
    MEANING[type(event)](state, event)


def setting_changed(state: State, event: events.SettingChanged) -> None:
    before = state.config.get(event.name)
    if event.name in FIXED_SETTINGS or type(before) is not type(event.value):
        raise TraceError.of(
            "refused.setting", "setting {name} cannot change during a run", name=event.name
        )
    state.config[event.name] = event.value


def step_began(state: State, event: events.StepBegan) -> None:
    expected = state.step + state.is_updated
    if state.in_step or event.step != expected:
        raise TraceError.of(
            "refused.step_began",
            "step {step} began where step {expected} was expected",
            step=event.step,
            expected=expected,
        )
    state.step, state.token_budget = event.step, event.token_budget
    state.scheduled, state.admitted = {}, {}
    state.preempted, state.set_aside = [], []
    state.in_step = True
    state.is_scheduled = state.is_written = state.is_updated = False


def step_scheduled(state: State, event: events.StepScheduled) -> None:
    rows = state.scheduled.values()
    total = sum(row.num_scheduled_tokens for row in rows)
    if total != event.total_num_scheduled_tokens or not state.in_step or state.is_scheduled:
        raise TraceError.of(
            "refused.step_total",
            "step {step} was scheduled with {tokens} tokens, but its requests got {total}",
            step=state.step,
            tokens=event.total_num_scheduled_tokens,
            total=total,
        )
    if total > state.token_budget:
        raise TraceError.of(
            "refused.budget",
            "{total} tokens were scheduled with a budget of {budget}",
            total=total,
            budget=state.token_budget,
        )
    for row in rows:
        request = state.own_request(row.request_id)
        request.num_computed_tokens = row.num_computed_tokens + row.num_scheduled_tokens
    state.num_common_prefix_blocks = event.num_common_prefix_blocks
    state.is_scheduled = True


def step_ended(state: State, event: events.StepEnded) -> None:
    if event.step != state.step or not state.is_scheduled or not state.in_step:
        raise TraceError.of(
            "refused.step_ended",
            "step {ended} ended, but step {step} is not over",
            ended=event.step,
            step=state.step,
        )
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


MEANING: dict[type[msgspec.Struct], Callable[[State, Any], None]] = {
    events.RequestAdded: request_reducer.request_added,
    events.RequestAborted: request_reducer.request_aborted,
    events.CacheReset: block_reducer.cache_reset,
    events.SettingChanged: setting_changed,
    events.StepBegan: step_began,
    events.RequestQueued: request_reducer.request_queued,
    events.PrefixLookedUp: request_reducer.prefix_looked_up,
    events.HitCut: request_reducer.hit_cut,
    events.HolesMade: block_reducer.holes_made,
    events.BlocksTouched: block_reducer.blocks_touched,
    events.BlocksTaken: block_reducer.blocks_taken,
    events.BlocksCached: block_reducer.blocks_cached,
    events.RequestAdmitted: request_reducer.request_admitted,
    events.RequestScheduled: request_reducer.request_scheduled,
    events.AllocationFailed: nothing_changed,
    events.RequestUnscheduled: request_reducer.request_unscheduled,
    events.RequestPreempted: request_reducer.request_preempted,
    events.RequestSetAside: request_reducer.request_set_aside,
    events.AdmissionStopped: nothing_changed,
    events.StepScheduled: step_scheduled,
    events.SlotsWritten: block_reducer.slots_written,
    events.TokensSampled: token_reducer.tokens_sampled,
    events.BlockHashed: token_reducer.block_hashed,
    events.DraftsSet: token_reducer.drafts_set,
    events.RequestFinished: request_reducer.request_finished,
    events.BlocksFreed: block_reducer.blocks_freed,
    events.StepEnded: step_ended,
}
