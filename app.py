"""Pagewalk in the browser: page config and navigation, nothing else."""

from pathlib import Path

import streamlit as st

from views import session
from views.components.piece import carry
from views.pages import compare, fragmentation, inspect, learn, playground, sizing
from views.widgets.language import language

text = session.text()
st.set_page_config(
    page_title=text("app.title"),
    page_icon=str(Path(__file__).parent / "docs" / "icon.png"),
    layout="wide",
)
pages = [
    st.Page(learn.render, title=text("learn.page"), url_path="learn"),
    st.Page(playground.render, title=text("app.playground"), url_path="playground", default=True),
    st.Page(compare.render, title=text("compare.page"), url_path="compare"),
    st.Page(sizing.render, title=text("app.sizing"), url_path="sizing"),
    st.Page(fragmentation.render, title=text("frag.page"), url_path="fragmentation"),
    st.Page(inspect.render, title=text("inspect.page"), url_path="inspect"),
]
carry()
page = st.navigation(pages, position="top")
language()
page.run()
