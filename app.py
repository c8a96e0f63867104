"""Pagewalk in the browser: page config and navigation, nothing else."""

from functools import partial
from pathlib import Path

import streamlit as st

from views import session
from views.components.piece import carry
from views.pages import (
    allocator,
    beat,
    compare,
    fragmentation,
    home,
    inspect,
    kernel,
    learn,
    playground,
    sizing,
)
from views.saving import server_words
from views.text import TAGS
from views.widgets.language import language

text = session.text()
st.set_page_config(
    page_title=text("app.title"),
    page_icon=str(Path(__file__).parent / "docs" / "icon.png"),
    layout="wide",
)
lessons = st.Page(learn.render, title=text("learn.page"), url_path="learn")
play = st.Page(playground.render, title=text("app.playground"), url_path="playground")
opened = st.Page(inspect.render, title=text("inspect.page"), url_path="inspect")
practice = st.Page(allocator.render, title=text("practice.nav"), url_path="allocator")
labs = {
    "beat": st.Page(beat.render, title=text("beat.nav"), url_path="beat"),
    "kernel": st.Page(kernel.render, title=text("kernel.nav"), url_path="kernel"),
    "compare": st.Page(compare.render, title=text("compare.page"), url_path="compare"),
    "sizing": st.Page(sizing.render, title=text("app.sizing"), url_path="sizing"),
    "fragmentation": st.Page(
        fragmentation.render, title=text("frag.page"), url_path="fragmentation"
    ),
}
first = st.Page(
    partial(home.render, (lessons, play, opened), {"practice": practice, **labs}),
    title=text("home.page"),
    url_path="home",
    default=True,
)
game, *others = labs.values()
pages = [first, lessons, practice, game, play, *others, opened]
carry(TAGS[text.language], server_words(text))
page = st.navigation(pages, position="top")
if page == first and (door := home.door_of_link()) is not None:
    st.switch_page((lessons, play, opened)[door], query_params=dict(st.query_params))
language()
page.run()
