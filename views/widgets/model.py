"""How far the model is; the page does not wait for it.

The browser asks for a look twice a second while the model loads. The first of these questions
come while the first picture is drawn; then the loading begins. Only who waits for the model has
the page drawn anew when it is there: a click of anybody else never meets that.
"""

from typing import Any

import streamlit as st

from views import ordering, session, weights
from views.components.piece import piece
from views.figures.kernel.engine_path import engine_path

LOOKS_BEFORE_LOADING = 3


@st.fragment(key="model")
def model_status() -> None:
    """Looks again and again while the model loads."""
    chosen = session.choices()
    loader = weights.awaited(chosen)
    chosen.num_looks += 1
    if chosen.num_looks > LOOKS_BEFORE_LOADING:
        loader.start()  # only now: torch's import would keep the first picture waiting
    piece("readiness", _payload(chosen.num_looks), on_looked_change=_looked)
    if session.page_speaks_another():
        st.rerun()
    if (loader.is_ready or loader.failure is not None) and not chosen.model_is_seen:
        chosen.model_is_seen = True
        if session.waits_for_model() or ordering.waits(chosen) or loader is not session.loader():
            st.rerun()


def _looked() -> None:
    """That the fragment runs is all that was wanted."""


def _payload(look: int) -> dict[str, Any]:
    """`look` changes each time: a part that is given the same again is not called."""
    text, own, awaited = session.text(), session.loader(), weights.awaited(session.choices())
    if weights.is_loading(awaited):
        key = "model.loading" if awaited is own else "weights.getting_ready"
        stage = text.said(awaited.stage)
        words = text(key, stage=stage) if stage else text("model.queued")
        return {"is": "loading", "words": words, "share": awaited.share, "look": look} | _path()
    if own.failure is not None:
        return {"is": "failed", "words": text("model.failed_short"), "share": 0, "look": 0}
    return {"is": "ready", "words": text("model.ready"), "share": 1, "look": 0} | _path()


def _path() -> dict[str, str]:
    """How the run on this desk is computed; nothing where no model ran."""
    run = session.run()
    if run is None or run.live is None:
        return {}
    path = engine_path(run.trace.header, run.live.path_reason, session.text())
    return {} if path is None else {"path": path.words, "hint": path.hint}
