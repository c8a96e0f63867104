"""Sentences above the stage: errors, notes, and what a viewer must know about this run."""

from functools import partial

from engine.trace.events import HitCut
from engine.trace.trace import Trace
from views import session
from views.components.piece import piece

KINDS = ("error", "stuck", "departs", "note")
CLOSABLE = ("error", "note")


def notices() -> None:
    """Plain text, letter by letter: what a user typed may stand in it."""
    text = session.text()
    found = dict(session.choices().notices)
    run = session.run()
    if run is not None:
        reason = run.stuck_reason
        if reason and session.choices().cursor == run.trace.last:
            found["stuck"] = reason
        if _departs(run.trace, session.choices().cursor.step):
            found["departs"] = text("notice.departs")
    shown = [
        {
            "kind": kind,
            "title": text.named("notice_kind", kind),
            "text": found[kind],
            "can_close": kind in CLOSABLE,
        }
        for kind in KINDS
        if kind in found
    ]
    if shown:
        piece(
            "notices",
            {"notices": shown, "close": text("notice.close")},
            on_closed_change=partial(session.note, "notices", "closed"),
        )


def _departs(trace: Trace, step: int) -> bool:
    return any(isinstance(event, HitCut) for event in trace.step_events(step))
