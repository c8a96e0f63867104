"""The runs that a visitor has side by side; nothing while there is only one."""

from functools import partial

import streamlit as st

from views import session
from views.components.piece import piece
from views.figures.runs_bar import RunLine
from views.figures.runs_bar import runs_bar as payload_of
from views.shelf import Kept

SENT = ("switched", "dropped")


def runs_bar() -> None:
    """Each with a name that says what is different in it; a click turns to it."""
    kept, run = session.choices().shelf.kept, session.run()
    if run is not None and len(kept) > 1:
        sent = {f"on_{what}_change": partial(session.note, "runs", what) for what in SENT}
        lines = [_line(one) for one in kept]
        piece("runs", payload_of(lines, run.run_id, session.text()), **sent)
    else:
        st.empty()


def _line(kept: Kept) -> RunLine:
    line, origin = RunLine(kept.run.run_id, kept.number), kept.origin
    if origin is None:
        return line
    return line._replace(
        from_number=origin.number,
        step=origin.step,
        settings=origin.settings,
        redone=origin.redone,
        request_id=origin.request_id,
    )
