"""How saved runs come back.

A run that came back is there to look at at once. `go_on` puts an engine behind it, which repeats
the past by its own steps (`Run.branch_step` says how far) while the trace stays as it is.
"""

import importlib
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from engine.config import EngineConfig
from engine.errors import SourceError
from engine.sources.recorded import RecordedSource
from engine.sources.saved import RunNotFoundError, Saved, SavedRuns
from engine.trace.events import RequestAdded, SettingChanged
from engine.trace.trace import Trace
from views.branching import scripted_run
from views.drafts import Draft
from views.examples import EXAMPLES, OWN
from views.figures.moment import num_finished_steps
from views.figures.time.until import Until
from views.origin import Origin
from views.runs import Run
from views.text import Text


class Brought(NamedTuple):
    """A run that came back, at its end. Without `saved.about` it is one of OWN."""

    run: Run
    example: str
    origin: Origin | None
    saved: Saved

    @property
    def awaited(self) -> Until | None:
        """What it was on its way to when it was lost; None where it stood."""
        return Until.from_browser(self.saved.about.awaited)

    def words(self, text: Text, *, is_page_new: bool = True) -> str:
        """What the page says about it."""
        num_steps = num_finished_steps(self.run.trace)
        back = text.count("saved.back", num_steps)
        said = [back if is_page_new else text.count("saved.again", num_steps)]
        if self.saved.problem is not None:
            said.append(text("saved.in_part", reason=text.said(self.saved.problem)))
        return text.told(said)


def bring_back(runs: SavedRuns, run_id: object, text: Text) -> Brought:
    """The run of a link. SourceError with a sentence if there is none, or nothing can be read."""
    try:
        saved = runs.open(run_id)
        config = RecordedSource(saved.trace).config
    except RunNotFoundError as error:
        raise SourceError(text("saved.gone")) from error
    except SourceError as error:
        raise SourceError(text("saved.damaged", reason=text.error(error))) from error
    example = saved.about.example if saved.about.example in EXAMPLES else OWN
    origin = _origin(saved.about.origin)
    if not EXAMPLES[example].needs_model:
        return Brought(_script_again(saved.trace, example), example, origin, saved)
    begun = Run(saved.trace, config)
    begun.drafts = _drafts(saved)
    return Brought(begun, example, origin, saved)


def go_on(brought: Brought, model: Any, lock: AbstractContextManager[Any]) -> None:
    """Put an engine behind a run that came back. Imports torch; computes nothing yet.

    ConfigError or SourceError if this server cannot go on with it: it can be looked at then.
    """
    live = importlib.import_module("engine.sources.live")
    run = brought.run
    run.live = live.LiveSource.resume(model, run.trace, brought.saved.about.rest)
    run.lock, run.came_back = lock, True


def _script_again(trace: Trace, example: str) -> Run:
    """A script is short, and the whole of it is known from its settings."""
    changes = [event for event in trace.events_from(0) if isinstance(event, SettingChanged)]
    config = EngineConfig.from_mapping(trace.header.config)
    return scripted_run(EXAMPLES[example], config, changes)


def _drafts(saved: Saved) -> dict[str, Draft]:
    """What was typed, in the order of the requests; from the events where the record is lost."""
    rest = saved.about.rest
    inputs = [*saved.trace.events_from(0), *([] if rest is None else rest.inputs)]
    drafts = {}
    for event in inputs:
        if not isinstance(event, RequestAdded):
            continue
        typed = saved.about.typed.get(event.request_id)
        if typed is not None or event.prompt_text is not None:
            drafts[event.request_id] = Draft.from_browser(typed or _typed(event))
    return drafts


def _typed(event: RequestAdded) -> Mapping[str, Any]:
    return {
        "text": event.prompt_text,
        "mode": event.prompt_mode,
        "max_tokens": event.max_tokens,
        "temperature": f"{event.temperature:g}",
        "seed": event.seed,
    }


def _origin(given: Mapping[str, Any] | None) -> Origin | None:
    """None where the record is that of another version."""
    if given is None or set(given) != set(Origin._fields):
        return None
    return Origin(**given)
