"""Run until: the next moment at which something happens that somebody waits for."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from engine.trace import events
from engine.trace.events import Event
from engine.trace.state import Cursor, State
from engine.trace.trace import Trace
from views.text import Text

STARTED, EVICTED, PREEMPTED, DONE = "started", "evicted", "preempted", "done"
BRANCHED, RETURNED = "branched", "returned"  # a branch begins; a saved run has its engine again
MAX_OFFERED = 24  # requests


class Until(NamedTuple):
    """What is waited for; `request_id` where that is the start of one request."""

    kind: str
    request_id: str = ""

    @classmethod
    def from_browser(cls, sent: Any) -> "Until | None":
        """None for everything that nobody can wait for."""
        given = sent if isinstance(sent, Mapping) else {}
        kind, request_id = str(given.get("kind", "")), str(given.get("request", ""))
        if kind == STARTED and request_id:
            return cls(kind, request_id)
        return cls(kind) if kind in (EVICTED, PREEMPTED, DONE) else None

    def named(self) -> dict[str, str]:
        """As a browser says it."""
        return {"kind": self.kind, "request": self.request_id}


def find_next(trace: Trace, cursor: Cursor, until: Until) -> Cursor | None:
    """The end of the first sub-step after `cursor` in which it happens; None if that is not there.

    "done" is the moment after which nobody is left; there is none while somebody is. A step is
    searched only if it holds such an event.
    """
    if until.kind == DONE:
        return _all_done(trace, cursor)
    happens, since = HAPPENS[until.kind], trace.clamp(cursor)
    for step in range(since.step, trace.num_steps):
        if not any(happens(event, until) for event in trace.step_events(step)):
            continue
        for sub_step in range(
            since.sub_step if step == since.step else 0, trace.num_sub_steps(step)
        ):
            if any(happens(event, until) for event in trace.events(step, sub_step)):
                return Cursor(step, sub_step + 1)
    return None


def _all_done(trace: Trace, cursor: Cursor) -> Cursor | None:
    """The last end of a request, if it is after `cursor` and nobody came later."""
    if not trace.num_steps or any(
        not r.is_finished for r in trace.at(trace.last).requests.values()
    ):
        return None
    since = trace.clamp(cursor)
    for step in range(trace.num_steps - 1, since.step - 1, -1):
        first = since.sub_step if step == since.step else 0
        for sub_step in range(trace.num_sub_steps(step) - 1, first - 1, -1):
            if any(_ends(event) for event in trace.events(step, sub_step)):
                return Cursor(step, sub_step + 1)
    return None


def _ends(event: Event) -> bool:
    is_abort = isinstance(event, events.RequestAborted) and event.ok
    return is_abort or isinstance(event, events.RequestFinished)


def _starts(event: Event, until: Until) -> bool:
    return isinstance(event, events.RequestAdmitted) and event.request_id == until.request_id


def _evicts(event: Event, _: Until) -> bool:
    return isinstance(event, events.BlocksTaken) and bool(event.evicted_block_ids)


def _preempts(event: Event, _: Until) -> bool:
    return isinstance(event, events.RequestPreempted)


HAPPENS: dict[str, Callable[[Event, Until], bool]] = {
    STARTED: _starts,
    EVICTED: _evicts,
    PREEMPTED: _preempts,
}


def offered(state: State, last: State) -> list[str]:
    """Requests whose start may still come: those that wait now, and those that come later."""
    waiting = [id_ for id_, r in state.requests.items() if r.status in ("WAITING", "PREEMPTED")]
    later = [id_ for id_ in last.requests if id_ not in state.requests]
    return (waiting + later)[:MAX_OFFERED]


def until_words(until: Until, text: Text) -> str:
    """What is waited for, as it stands behind "until"."""
    return text.named("until_kind", until.kind).format(request=until.request_id)


def until_form(
    trace: Trace, cursor: Cursor, text: Text, *, request_id: str | None, running: Until | None
) -> dict[str, Any]:
    """What one can wait for from here. `request_id` is selected: its start is offered first.

    `running`: what the run is on its way to, and `where` it has come.
    """
    ids = offered(trace.at(cursor), trace.at(trace.last))
    ids.sort(key=lambda id_: id_ != request_id)
    starts = [Until(STARTED, id_) for id_ in ids]
    others = [Until(kind) for kind in (EVICTED, PREEMPTED, DONE)]
    preferred = starts[0] if request_id in ids else None
    where = text("until.where", step=trace.clamp(trace.last).step) if running else ""
    return {
        "options": [
            {"kind": u.kind, "request": u.request_id, "text": until_words(u, text)}
            for u in [*others, *starts]
        ],
        "preferred": None if preferred is None else [preferred.kind, preferred.request_id],
        "running": running and text("until.running", until=until_words(running, text)),
        "where": where,
        "words": {
            word: text.named("until_word", word) for word in ("label", "go", "go_hint", "stop")
        },
    }
