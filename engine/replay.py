"""Does the inputs of a recorded run again: branching and resuming stand on it."""

from collections.abc import Sequence

from engine.config import SamplingParams
from engine.engine import Engine
from engine.trace.events import (
    INPUT_EVENTS,
    CacheReset,
    Event,
    RequestAborted,
    RequestAdded,
    SettingChanged,
)

TEXT_FIELDS = ("prompt_text", "prompt_mode", "prompt_token_bytes", "special_token_ids")


def redo_inputs(engine: Engine, events: Sequence[Event], phase: str) -> None:
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


def _add_again(engine: Engine, event: RequestAdded) -> None:
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
