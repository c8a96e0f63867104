"""The frame that draws a page: the one place that catches whatever nobody expected."""

import logging
from collections.abc import Callable

import streamlit as st

from views import session
from views.text import Text
from views.theme import PAGE_STYLE

FULL_WIDTH = 720  # pixels
log = logging.getLogger("pagewalk")


def framed(draw: Callable[[], None], text: Text) -> None:
    """Draw; a failure becomes one sentence on the page and its traceback goes to the log.

    So does a full server, and nothing of the page but its style is drawn then.
    """
    try:
        if (refusal := session.no_room()) is None:
            draw()
        else:
            st.html(PAGE_STYLE)
            st.info(refusal, width=FULL_WIDTH)
            st.button(text("model.retry"), key="enter_again")  # any click asks again
    except Exception:
        log.exception("a page could not be drawn")
        st.error(text("app.failed"))


def framed_part(draw: Callable[[], None]) -> None:
    """What a fragment of a page does: what was asked first. If that changes more than this part,
    the whole page is drawn anew."""

    def settled() -> None:
        if session.settle():
            st.rerun()
        draw()

    framed(settled, session.text())
