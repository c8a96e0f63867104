"""How far the model is; the page does not wait for it.

The browser asks for a look twice a second while the model loads. The first of these questions
come while the first picture is drawn; then the loading begins.
"""

import streamlit as st

from views import session

SECONDS_BETWEEN_LOOKS = 0.5
LOOKS_BEFORE_LOADING = 3


def model_status() -> None:
    """Looks again and again while the model loads, and draws the page anew once it is there."""
    every = None if _is_settled() else SECONDS_BETWEEN_LOOKS
    st.fragment(_status, run_every=every, key="model")()


def _is_settled() -> bool:
    loader = session.loader()
    return loader.is_ready or loader.failure is not None


def _status() -> None:
    text, loader, chosen = session.text(), session.loader(), session.choices()
    chosen.num_looks += 1
    if chosen.num_looks > LOOKS_BEFORE_LOADING:
        loader.start()  # only now: torch's import would keep the first picture waiting
    if loader.is_ready:
        st.badge(text("model.ready"), color="green", icon=":material/check:")
    elif loader.failure is not None:
        st.badge(text("model.failed_short"), color="red", icon=":material/error:")
    else:
        stage = text("model.loading", stage=loader.stage) if loader.stage else text("model.queued")
        st.progress(loader.share, text=stage, width=240)
    if _is_settled() and not chosen.model_is_seen:
        chosen.model_is_seen = True
        st.rerun()
