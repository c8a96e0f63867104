"""The way in: what this is, a moving picture of it, and three doors."""

import re
from collections.abc import Mapping, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.navigation.page import Page

from views import first_page, session, studying
from views.components.piece import piece
from views.figures.moving import moving
from views.figures.time.address import MOMENT
from views.pages.frame import framed
from views.text import Text
from views.theme import PAGE_STYLE

NO_PAGE, PAGE_PATH = first_page.NO_PAGE, re.compile(first_page.PAGE_PATH)


def door_of_link() -> int | None:
    """Which of the doors a link means that names a lesson or a moment, but no page."""
    if "lesson" in st.query_params:
        return 0
    return 1 if any(name in st.query_params for name in MOMENT) else None


def render(doors: Sequence[Page], labs: Mapping[str, Page]) -> None:
    """`doors`: the pages of lessons, playground and inspect. `labs`: the others, by name."""
    session.enter(session.PLAYGROUND)
    framed(lambda: _page(doors, labs), session.text())


def _page(doors: Sequence[Page], labs: Mapping[str, Page]) -> None:
    text = session.text()
    st.html(PAGE_STYLE)
    with st.container(key="home"):
        st.markdown(f"# {text('app.title')}")
        st.markdown(text("home.what"))
        if PAGE_PATH.fullmatch(missing := st.query_params.get(NO_PAGE, "")):
            asked, lessons = first_page.place(missing), first_page.place("learn")
            st.info(text("home.no_page", place=asked, lessons=lessons))
        piece("moving", moving(session.recorded_example(), text))
        st.caption(text("home.picture_about"))
        learn, play, opened = doors
        columns = st.columns(3, gap="medium")
        with columns[0]:
            _learn_door(learn, text)
        with columns[1], _door("play"):
            st.page_link(play, label=text("home.play"))
            st.caption(text("home.play_about"))
        with columns[2], _door("open"):
            st.page_link(opened, label=text("home.open"))
            st.caption(text("home.open_about"))
        _more(labs, text)


def _more(labs: Mapping[str, Page], text: Text) -> None:
    """Every other page with the question that it answers."""
    with st.container(key="home_more"):
        st.caption(text("home.more"))
        columns = st.columns(3, gap="medium")
        for place, (name, page) in enumerate(labs.items()):
            with columns[place % len(columns)]:
                st.page_link(page)
                st.caption(text.named("home_more", name))


def _door(name: str) -> DeltaGenerator:
    return st.container(border=True, key=f"door_{name}", height="stretch")


def _learn_door(page: Page, text: Text) -> None:
    """Straight into the first lesson, or the first that is not done."""
    chosen = session.choices(session.LEARN)
    loaded = studying.first_not_done(chosen)
    with _door("learn"):
        word = text("home.learn_on" if chosen.done else "home.learn", n=loaded.lesson.number)
        if st.button(word, key="begin_lesson", type="primary"):
            studying.open_lesson(chosen, loaded)
            st.switch_page(page)
        st.caption(text("home.learn_about"))
