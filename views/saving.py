"""A page's runs as saved runs: what is written with them, and how they come back.

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
from engine.sources.saved import About, RunNotFoundError, Saved, SavedRuns
from engine.trace.events import RequestAdded, SettingChanged
from engine.trace.trace import Trace
from views.branching import scripted_run
from views.drafts import Draft
from views.examples import EXAMPLES, OWN
from views.figures.moment import num_finished_steps
from views.figures.time.until import Until
from views.runs import Run
from views.shelf import Origin
from views.text import Text


class Saving:
    """Keeps one run. Holds its trace and drafts but not the run, so that both go when it goes."""

    def __init__(
        self,
        runs: SavedRuns,
        run: Run,
        example: str,
        *,
        origin: Origin | None = None,
        came_from: Saved | None = None,
    ) -> None:
        """After `run.drafts` has its final dict. `came_from`: where the run was brought back from;
        it goes on under another id, so that whoever else has that link finds it as it was."""
        known = 0 if came_from is None else run.trace.num_events
        self._recording = runs.record(run.trace, num_known=known)
        self._most = runs.space.run_bytes
        self._drafts = run.drafts
        self._example, self._origin = example, origin
        self._came_from = came_from
        self._awaited: Until | None = None
        self._rest = run.live.rest if run.live is not None else None
        self.number = self.num_numbers = 0
        if came_from is not None:
            self._rest = came_from.about.rest
            self.number, self.num_numbers = came_from.about.number, came_from.about.num_numbers

    def keep(self) -> None:
        """For after each finished step and each input. Costs what is new, and never raises."""
        self._recording.keep(self._about)

    def waits_for(self, until: Until | None) -> None:
        """What this run is on its way to, so that whoever it comes back to can go on."""
        if until != self._awaited:
            self._awaited = until
            self._recording.tell(self._about)

    def is_known_as(self, number: int, num_numbers: int) -> None:
        """Under which number its page knows the run, and how many it has given: so that the name
        stays when the run comes back."""
        if (number, num_numbers) != (self.number, self.num_numbers):
            self.number, self.num_numbers = number, num_numbers
            self._recording.tell(self._about)

    @property
    def run_id(self) -> str | None:
        """What a link names to bring this run back; None where nothing is saved yet."""
        if self._recording.is_begun:
            return self._recording.run_id
        return None if self._came_from is None else self._came_from.run_id

    @property
    def link(self) -> dict[str, str]:
        """What stands in an address; empty where nothing is saved yet."""
        run_id = self.run_id
        return {} if run_id is None else {"example": self._example, "run": run_id}

    def damage(self, text: Text) -> str:
        """What is wrong with the file that the run came back from; empty where nothing is."""
        problem = None if self._came_from is None else self._came_from.problem
        return "" if problem is None else text("saved.in_part", reason=text.said(problem))

    def complaint(self, text: Text) -> str | None:
        """Why no more is saved, in one sentence; None while all is well."""
        stopped = self._recording.stopped
        if stopped is None:
            return None
        key = "saved.full" if stopped.kind == "full" else "saved.disk"
        values = {"most": self._most, "reason": text.said(stopped.reason)}
        return text.count(key, stopped.num_steps, **values)

    def _about(self) -> About:
        return About(
            example=self._example,
            typed={id_: draft._asdict() for id_, draft in self._drafts.items()},
            origin=None if self._origin is None else self._origin._asdict(),
            rest=self._rest,
            awaited=None if self._awaited is None else self._awaited.named(),
            number=self.number,
            num_numbers=self.num_numbers,
        )


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


def server_words(text: Text) -> dict[str, str]:
    """What a browser says by itself about a server that does not answer, and when it is back."""
    return {
        "away": text("away.title"),
        "asks": text("away.asks"),
        "saved": text("away.saved"),
        "moment": text("away.moment"),
        "address": text("away.address"),
        "lost": text("away.lost"),
        "back": text("away.back"),
        "back_more": text("away.back_more"),
        "slow": text("away.slow"),
        "slow_more": text("away.slow_more"),
        "renewed": text("away.renewed"),
        "renewed_more": text("away.renewed_more"),
        "close": text("notice.close"),
    }
