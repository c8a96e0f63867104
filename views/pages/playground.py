"""The playground: choose what runs, write prompts, watch."""

import streamlit as st

from views import session
from views.choices import PROMPTS, SETTINGS
from views.figures.time.address import MOMENT
from views.pages.frame import framed, framed_part
from views.runs import Run
from views.theme import PAGE_STYLE
from views.widgets.examples import example_choice
from views.widgets.model import model_status
from views.widgets.notices import notices
from views.widgets.prompts import prompts
from views.widgets.runs_bar import runs_bar
from views.widgets.settings import settings
from views.widgets.stage import stage
from views.widgets.until import until


def render() -> None:
    session.enter(session.PLAYGROUND)
    framed(_page, session.text())


def _page() -> None:
    st.html(PAGE_STYLE)
    session.settle()
    session.prepare()
    _header()
    # Both always have their place: else the stage would be another fragment when they come and go,
    # and a click that is under way to it would be lost.
    with st.container():
        runs_bar()
    with st.container():
        _panel()
    run = session.run()
    if run is None:
        _waiting()
    else:
        _stage()


def _header() -> None:
    text, chosen = session.text(), session.choices()
    with st.container(key="page_head", horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"## {text('app.title')}", width="content")
        example_choice(text)
        st.caption(text.named("about", chosen.example), width="stretch")
        model_status()
        if session.example().needs_model:
            _opener(PROMPTS)
        _opener(SETTINGS, is_off=session.run() is None)


def _opener(panel: str, *, is_off: bool = False) -> None:
    """One panel at a time, so that the stage stays near; the same button closes it."""
    text, is_open = session.text(), session.choices().panel == panel
    st.button(
        text.named("panel_close", panel) if is_open else text.named("panel", panel),
        key=f"panel_{panel}",
        disabled=is_off,
        on_click=session.toggle_panel,
        args=(panel,),
    )


def _waiting() -> None:
    text, failure = session.text(), session.loader().failure
    _name_example()
    if not session.loader().is_ready and failure is None:
        st.info(text("model.waiting"))
    if failure is not None:
        session.choices().notices["error"] = text("model.failed", reason=text.said(failure))
        st.button(text("model.retry"), key="retry", on_click=session.retry_model)
    notices()


def _name_example() -> None:
    """Nothing of the stage is there to write the address, which still names the run that was left."""
    chosen = session.choices()
    if not chosen.address_is_read:
        return  # what it asks for beside the example is read when the run is there
    for name in set(MOMENT) & set(st.query_params):
        if name != "example":
            del st.query_params[name]
    if st.query_params.get("example") != chosen.example:
        st.query_params["example"] = chosen.example


def _panel() -> None:
    panel = session.choices().panel
    if panel == SETTINGS:
        _settings()
    elif panel == PROMPTS and session.example().needs_model:
        _prompts()


@st.fragment(key="prompts")
def _prompts() -> None:
    def draw() -> None:
        prompts(session.run())

    framed_part(draw)


def _form(run: Run) -> None:
    """A move tells the form where a prompt would go now."""
    if session.choices().panel == PROMPTS and session.example().needs_model:
        prompts(run)


@st.fragment(key="settings")
def _settings() -> None:
    def draw() -> None:
        run = session.run()
        if run is not None:
            with st.container(border=True):
                settings(run)

    framed_part(draw)


@st.fragment(key="stage")
def _stage() -> None:
    def draw() -> None:
        run = session.run()
        if run is not None:
            stage(run, until, form=_form, look=session.run)

    framed_part(draw)
