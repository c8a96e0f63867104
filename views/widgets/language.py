"""The switch between languages, on every page in the line of the pages' names."""

import streamlit as st

from views import session
from views.text import LANGUAGES

NAMES = {
    "en": "EN",
    "ja": "日本語",
    "zh": "中文",
}  # each in itself, in whichever language a page is


def language() -> None:
    if len(LANGUAGES) == 1:
        return
    session.keep_language_in_link()
    with st.container(key="language_switch"):
        st.segmented_control(
            session.text()("app.language"),
            LANGUAGES,
            default=session.language(),
            key="language_shown",
            format_func=NAMES.__getitem__,
            on_change=session.take_language,
            args=("language_shown",),
            required=True,
            label_visibility="collapsed",
        )
