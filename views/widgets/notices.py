"""Sentences above the stage: errors, notes, and what a viewer must know about this run."""

from functools import partial
from typing import Any

from engine.trace.events import HitCut
from engine.trace.trace import Trace
from views import session
from views.components.piece import nothing, piece
from views.figures.moment import num_finished_steps
from views.figures.time.until import until_words
from views.runs import Run

KINDS = ("error", "stuck", "unsaved", "at_rest", "departs", "away", "note", "pending")
CLOSABLE = ("error", "away", "note", "pending")
SENT = ("closed", "aborted", "waited", "revisited", "until")


def notices() -> None:
    """Plain text, letter by letter: what a user typed may stand in it."""
    text = session.text()
    found = dict(session.choices().notices)
    run = session.run()
    if run is not None:
        reason = run.stuck_reason
        if reason and session.choices().cursor == run.trace.last:
            found["stuck"] = text.sentence(text.said(reason))
        found |= _saved(run)
        if text.said(found.get("note", "")) == found.get("at_rest"):
            del found["note"]  # once is enough
        if _departs(run.trace, session.choices().cursor.step):
            found["departs"] = text("notice.departs")
    shown = [
        {
            "kind": kind,
            "title": text.named("notice_kind", kind),
            "text": text.said(found[kind]),
            "can_close": kind in CLOSABLE,
            "way_out": _way_out(kind, run),
        }
        for kind in KINDS
        if kind in found
    ]
    if shown:
        piece(
            "notices",
            {"notices": shown, "close": text("notice.close")},
            **{f"on_{what}_change": partial(session.note, "notices", what) for what in SENT},
        )
    else:
        nothing()  # what stands below keeps its place


def _way_out(kind: str, run: Run | None) -> dict[str, Any] | None:
    """What can be done about it right there: a button, and what it sends."""
    text = session.text()
    if run is None:
        return None
    if kind == "stuck" and (head := run.stuck_head) is not None:
        word, hint = text("notice.abort", request=head), text("notice.abort_hint", request=head)
        return {"word": word, "hint": hint, "what": "aborted", "sent": head}
    if kind == "away" and (link := session.choices().put_away) is not None:
        word, hint = text("saved.bring"), text("saved.bring_hint")
        return {"word": word, "hint": hint, "what": "revisited", "sent": {"names": link}}
    if kind == "pending" and (until := session.choices().awaited) is not None:
        if run.live is None:
            return None  # there is no engine yet
        word = text("saved.go_on", until=until_words(until, text))
        return {
            "word": word,
            "hint": text("saved.go_on_hint"),
            "what": "until",
            "sent": until.named(),
        }
    if kind == "error" and session.choices().refused is not None:
        steps = text.count("count.steps", num_finished_steps(run.trace))
        hint = text.count("notice.wait_hint", len(run.asked), steps=steps)
        return {"word": text("notice.wait"), "hint": hint, "what": "waited", "sent": True}
    return None


def _saved(run: Run) -> dict[str, str]:
    """What stands as long as it is so: the run is saved no further, or cannot go on."""
    text = session.text()
    said = {
        "unsaved": run.saving and run.saving.complaint(text),
        "at_rest": session.why_no_engine(),
    }
    return {kind: sentence for kind, sentence in said.items() if sentence}


def _departs(trace: Trace, step: int) -> bool:
    return any(isinstance(event, HitCut) for event in trace.step_events(step))
