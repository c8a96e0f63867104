"""One side of a comparison on the whole stage, with what differs from the other side over it."""

from functools import partial
from typing import Any

import streamlit as st

from views import session
from views.compared import ComparedRun, moment_of
from views.components.piece import piece
from views.figures.compare.closer import closer
from views.figures.compare.compare import reasons
from views.figures.moment import Moment
from views.pages.frame import framed_part
from views.runs import Run
from views.text import Text
from views.widgets.stage import stage


@st.fragment(key="compared_stage")
def compared_stage() -> None:
    def draw() -> None:
        run = session.run()
        if run is not None:
            stage(run, above=_line, look=session.run)

    framed_part(draw)


def _line(run: Run, _: Moment, text: Text) -> None:
    if not isinstance(run, ComparedRun):
        return
    chosen = session.choices()

    def position_of(step: int) -> int:
        return run.trace.position(moment_of(run.trace, step))

    payload = closer(
        run.halves,
        run.side,
        run.step_at(chosen.cursor, chosen.closer.at or 0),
        text,
        lines=_lines(run, text),
        request_id=chosen.selection.request_id,
        position_of=position_of,
    )
    sent = {f"on_{what}_change": partial(session.note, "closer", what) for what in SENT}
    piece("closer", payload, **sent)


SENT = ("closer", "chosen")


def _lines(run: ComparedRun, text: Text) -> list[dict[str, Any]]:
    """Worked out once for a language: they are about the whole run."""
    if text.language not in run.told:
        found = reasons(run.halves, text, run.unended)
        run.told[text.language] = found["lines"] if found else []
    return run.told[text.language]
