"""What is written of a page's run, and how its page says where that ended."""

from typing import Protocol

from engine.sources.saved import About, Saved, SavedRuns
from engine.sources.source import LiveRun
from engine.trace.trace import Trace
from views.drafts import Draft
from views.figures.time.until import Until
from views.origin import Origin
from views.text import Text


class Keepable(Protocol):
    """What of a run (views/runs.py) is saved."""

    trace: Trace
    drafts: dict[str, Draft]
    live: LiveRun | None


class Saving:
    """Keeps one run. Holds its trace and drafts but not the run, so that both go when it goes."""

    def __init__(
        self,
        runs: SavedRuns,
        run: Keepable,
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
