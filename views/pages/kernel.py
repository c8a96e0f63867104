"""The kernel: its walk over one row of the playground's own run, beside its source."""

import streamlit as st

from views import session
from views.figures.moment import moment_at
from views.pages.frame import framed, framed_part
from views.theme import PAGE_STYLE
from views.widgets.examples import example_choice
from views.widgets.kernel import kernel_walk
from views.widgets.model import model_status
from views.widgets.notices import notices

# How far the model is stands at the right end of the line, while it loads as well.
HEAD_STYLE = (
    "<style>@media (min-width: 1001px) { .st-key-page_head { flex-wrap: nowrap; } }</style>"
)


def render() -> None:
    session.enter(session.PLAYGROUND)
    framed(_page, session.text())


def _page() -> None:
    st.html(PAGE_STYLE)
    st.html(HEAD_STYLE)
    session.settle()
    session.prepare()
    _header()
    if session.run() is None:
        _waiting()
    else:
        _walk()


def _header() -> None:
    text = session.text()
    with st.container(key="page_head", horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"## {text('kernel.nav')}", width="content")
        example_choice(text)
        st.caption(text("kernel.about"), width="stretch")
        model_status()


def _waiting() -> None:
    text, failure = session.text(), session.loader().failure
    if failure is not None:
        session.choices().notices["error"] = text("model.failed", reason=text.said(failure))
    elif not session.loader().is_ready:
        st.info(text("model.waiting"))
    notices()


@st.fragment(key="kernel_walk")
def _walk() -> None:
    def draw() -> None:
        run = session.run()
        if run is not None:
            notices()
            kernel_walk(run, moment_at(run.trace, session.choices().cursor), session.text())

    framed_part(draw)
