"""Re-executes the inputs of a recorded run: branching and resuming stand on it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from engine.config import SamplingParams
from engine.errors import TraceError
from engine.trace.events import (
    INPUT_EVENTS,
    CacheReset,
    DraftsSet,
    Event,
    RequestAborted,
    RequestAdded,
    SettingChanged,
    StepEnded,
    TokensSampled,
)

if TYPE_CHECKING:
    from engine.engine import Engine

TEXT_FIELDS = ("prompt_text", "prompt_mode", "prompt_token_bytes", "special_token_ids")


def replay(engine: "Engine", events: Iterable[Event], until: int | None) -> None:
    """Repeat the inputs of `events` on a new engine, with the recorded tokens forced."""
    for step_events in _by_step(events):
        if until is not None and engine.step_index >= until:
            return
        redo_inputs(engine, step_events, "before")
        if isinstance(step_events[-1], StepEnded):
            _repeat_step(engine, step_events)


def _repeat_step(engine: "Engine", events: Sequence[Event]) -> None:
    recorded = {e.request_id: e.token_ids for e in events if isinstance(e, TokensSampled)}
    engine.schedule()
    engine.run(recorded)
    redo_inputs(engine, events, "mid")
    engine.update(end_step=False)
    if {output.request_id: output.token_ids for output in engine.outputs} != recorded:
        raise TraceError.of(
            "replay.differs",
            "step {step} does not repeat itself: other requests or tokens came out than were "
            "recorded",
            step=engine.step_index,
        )
    for event in events:
        if isinstance(event, DraftsSet):
            engine.scheduler.set_drafts(event.request_id, event.token_ids)
    engine.end_step()


def redo_inputs(engine: "Engine", events: Sequence[Event], phase: str) -> None:
    """Re-execute the inputs of one phase ("before" or "mid") of a step, in their order."""
    for event in events:
        if not isinstance(event, INPUT_EVENTS) or event.phase != phase:
            continue
        if isinstance(event, RequestAdded):
            _add_again(engine, event)
        elif isinstance(event, RequestAborted):
            engine.abort(event.request_id, phase=phase)
        elif isinstance(event, CacheReset):
            engine.reset_prefix_cache(reset_running_requests=event.reset_running_requests)
        elif isinstance(event, SettingChanged):
            engine.change_setting(event.name, event.value)


def _add_again(engine: "Engine", event: RequestAdded) -> None:
    names = SamplingParams.__struct_fields__
    engine.add_request(
        event.request_id,
        event.prompt_token_ids,
        sampling=SamplingParams(**{name: getattr(event, name) for name in names}),
        arrival_time=event.arrival_time,
        priority=event.priority,
        cache_salt=event.cache_salt,
        lora_name=event.lora_name,
        skip_reading_prefix_cache=event.skip_reading_prefix_cache,
        text_fields={name: getattr(event, name) for name in TEXT_FIELDS},
    )


def _by_step(events: Iterable[Event]) -> Iterator[list[Event]]:
    """The events of each step; those after the last StepEnded come as an unfinished one."""
    step: list[Event] = []
    for event in events:
        step.append(event)
        if isinstance(event, StepEnded):
            yield step
            step = []
    if step:
        yield step
