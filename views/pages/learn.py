"""Lessons: the list of them, or the one that is read, with the stage beside its prose."""

from functools import partial

import streamlit as st

from views import ordering, session, studying
from views.components.piece import piece
from views.figures.learning.syllabus import syllabus
from views.figures.moment import Moment
from views.pages.frame import framed, framed_part
from views.runs import Run
from views.text import Text
from views.theme import PAGE_STYLE
from views.widgets.lesson import lesson
from views.widgets.model import model_status
from views.widgets.notices import notices
from views.widgets.stage import stage

SENDS = ("lesson", "remembered", "resumed")  # of the list of lessons


def render() -> None:
    session.enter(session.LEARN)
    framed(_page, session.text())


def _page() -> None:
    st.html(PAGE_STYLE)
    session.settle()
    session.prepare_lesson()
    if session.choices().study is None:
        _syllabus()
    else:
        if ordering.waits(session.choices()):
            model_status()
        _lesson()


def _syllabus() -> None:
    text = session.text()
    session.forget_moment()
    if session.choices().done:
        st.query_params["done"] = studying.done_code(session.choices().done)
    st.markdown(f"## {text('learn.page')}")
    st.caption(text("learn.lead"))
    notices()
    chosen = session.choices()
    payload = syllabus(studying.syllabus(), chosen.done, text, chosen.left_at)
    sent = {f"on_{what}_change": partial(session.note, "syllabus", what) for what in SENDS}
    piece("syllabus", payload, **sent)


@st.fragment(key="lesson")
def _lesson() -> None:
    def draw() -> None:
        if ordering.can_run(session.choices()):
            with st.spinner(session.text()("learn.model_runs")):
                ordering.run_ordered(session.choices())
        run = session.lesson_run()
        if run is not None:
            stage(run, prose=_prose, look=session.lesson_run)

    framed_part(draw)


def _prose(_: Run, moment: Moment, text: Text) -> None:
    study = session.choices().study
    if study is not None:
        lesson(study, moment, text)
