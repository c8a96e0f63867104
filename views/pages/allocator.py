"""You are the allocator: exercises without end, each click held against the engine's own events."""

import streamlit as st

from views import practising, session
from views.figures.moment import Moment
from views.pages.frame import framed, framed_part
from views.runs import Run
from views.text import Text
from views.theme import PAGE_STYLE
from views.widgets.practice import practice
from views.widgets.stage import stage


def render() -> None:
    session.enter(session.ALLOCATOR)
    framed(_page, session.text())


def _page() -> None:
    st.html(PAGE_STYLE)
    session.settle()
    if session.choices().practice is None:
        practising.read_link(session.choices(), dict(st.query_params))
    _exercise()


@st.fragment(key="exercise")
def _exercise() -> None:
    def draw() -> None:
        stage(practising.show(session.choices()), prose=_card)

    framed_part(draw)


def _card(_: Run, moment: Moment, text: Text) -> None:
    asked = session.choices().practice
    if asked is not None:
        practice(asked, moment, text)
