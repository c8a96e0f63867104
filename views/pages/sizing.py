"""The pool calculator: no run, no model; its form and its link say everything."""

from functools import partial

import streamlit as st

from views import session
from views.components.piece import piece
from views.figures.sizing.sizing_inputs import Inputs
from views.figures.sizing.sizing_page import sizing_page
from views.pages.frame import framed
from views.theme import PAGE_STYLE


def render() -> None:
    session.enter(session.PLAYGROUND)
    framed(_page, session.text())


def _page() -> None:
    st.html(PAGE_STYLE)
    if session.choices().sizing is None:
        session.choices().sizing = Inputs.from_browser(dict(st.query_params))
    if (unknown := session.about_language()) != "":
        st.info(unknown)
    _calculator()


@st.fragment(key="sizing_page")
def _calculator() -> None:
    def draw() -> None:
        session.settle()
        payload = sizing_page(session.choices().sizing or Inputs(), session.text())
        piece("sizing", payload, on_sized_change=partial(session.note, "sizing", "sized"))

    framed(draw, session.text())
