"""The choice of what runs."""

import streamlit as st

from views import session
from views.examples import EXAMPLES
from views.text import Text


def example_choice(text: Text) -> None:
    """One button for each example; the one that is open is marked."""
    key = session.example_field()
    st.segmented_control(
        text("example.label"),
        list(EXAMPLES),
        key=key,
        format_func=lambda name: text.named("example", name),
        on_change=session.take_example,
        args=(key,),
        required=True,
        label_visibility="collapsed",
    )
