"""Beat the pool: six prompts to reorder and to put together otherwise, scored by the engine."""

import streamlit as st

from views import beating, session
from views.figures.moment import Moment
from views.pages.frame import framed, framed_part
from views.runs import Run
from views.text import Text
from views.theme import PAGE_STYLE
from views.widgets.beat import beat
from views.widgets.stage import stage


def render() -> None:
    session.enter(session.BEAT)
    framed(_page, session.text())


def _page() -> None:
    st.html(PAGE_STYLE)
    session.settle()
    if session.choices().beat is None:
        beating.read_link(session.choices(), dict(st.query_params))
    _puzzle()


@st.fragment(key="puzzle")
def _puzzle() -> None:
    def draw() -> None:
        stage(beating.show(session.choices()), prose=_card)

    framed_part(draw)


def _card(_: Run, moment: Moment, text: Text) -> None:
    played = session.choices().beat
    if played is not None:
        beat(played, moment, text)
