"""A whole run once more on a new engine, by its recorded inputs and tokens."""

from collections.abc import Iterable, Iterator, Sequence

from engine.engine import Engine
from engine.replay import redo_inputs
from engine.trace.events import DraftsSet, Event, StepEnded, TokensSampled


def replay(engine: Engine, events: Iterable[Event], until: int | None = None) -> None:
    """The inputs of a recorded run once more on a new engine, up to step `until`.

    Recorded tokens are forced, so K and V are rebuilt and the same tokens come out whatever the
    sampling was.
    """
    assert engine.step_index == 0, "a replay needs a new engine"
    for step_events in _by_step(events):
        if until is not None and engine.step_index >= until:
            return
        redo_inputs(engine, step_events, "before")
        if isinstance(step_events[-1], StepEnded):
            _repeat_step(engine, step_events)


def _repeat_step(engine: Engine, events: Sequence[Event]) -> None:
    recorded = {e.request_id: e.token_ids for e in events if isinstance(e, TokensSampled)}
    engine.schedule()
    engine.run(recorded)
    redo_inputs(engine, events, "mid")
    engine.update(end_step=False)
    assert {output.request_id: output.token_ids for output in engine.outputs} == recorded
    for event in events:
        if isinstance(event, DraftsSet):
            engine.scheduler.set_drafts(event.request_id, event.token_ids)
    engine.end_step()


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
