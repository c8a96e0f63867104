"""Inspect: a trace file on the whole stage, and the runs of this visitor as files."""

from functools import partial

import streamlit as st

from engine.errors import PagewalkError
from views import session
from views.choices import LENSES
from views.components.piece import piece
from views.figures.opened import File, Limits, opened, shortened
from views.figures.time.address import read_choice, read_cursor
from views.limits import server_limits
from views.opening import (
    OpenedRun,
    Upload,
    open_example,
    open_upload,
)
from views.pages.frame import framed, framed_part
from views.text import quoted
from views.theme import PAGE_STYLE
from views.widgets.downloads import downloads
from views.widgets.notices import notices
from views.widgets.stage import stage

DESK = "inspect"
SENT = ("uploaded", "example_wanted")

# The line about the file stands between title and downloads, or below them where it has no room.
BELOW = ".st-key-inspect_head { flex-wrap: wrap; } .st-key-inspect_head > :has(> .st-key-opened), .st-key-inspect_head > .st-key-opened { order: 3; flex: 1 0 100% !important; }"
# All three begin at the same height, also where a damaged file takes a second line.
RIGHT = ".st-key-inspect_head > :last-child { margin-left: auto; } .st-key-inspect_head h2 { padding: 0; line-height: 36px; }"
EMPTY_STYLE = f"<style>{BELOW} {RIGHT}</style>"
OPEN_STYLE = f"<style>@media (max-width: 640px) {{ {BELOW} }} {RIGHT}</style>"


def render() -> None:
    session.enter(DESK)
    framed(_page, session.text())


def _page() -> None:
    st.html(PAGE_STYLE)
    _open_what_was_sent()
    session.settle()
    text, run = session.text(), _opened()
    st.html(EMPTY_STYLE if run is None else OPEN_STYLE)
    with st.container(horizontal=True, vertical_alignment="top", gap="small", key="inspect_head"):
        st.markdown(f"## {text('inspect.page')}", width="content")
        _file_line(run)
        downloads(run)
    with st.container():  # keeps its place, so that the stage stays the same fragment
        if run is None:
            _say_whose_link()
            notices()
    if run is not None:
        _stage()


def _opened() -> OpenedRun | None:
    run = session.run()
    return run if isinstance(run, OpenedRun) else None


def _file_line(run: OpenedRun | None) -> None:
    file = None if run is None else File(run.name, run.problem, run.remark)
    limits = Limits(server_limits().max_upload_bytes, server_limits().max_trace_bytes)
    payload = opened(None if run is None else run.trace, file, limits, session.text())
    payload["num_sent"] = session.choices().num_cleared
    callbacks = {f"on_{what}_change": partial(session.note, "opened", what) for what in SENT}
    piece("opened", payload, **callbacks)


def _open_what_was_sent() -> None:
    """Each upload is read once; what cannot be opened costs nothing of what is open."""
    chosen, text = session.choices(), session.text()
    sent = {what: chosen.asked.pop(what) for what in SENT if what in chosen.asked}
    if not sent:
        return
    chosen.num_cleared += 1  # the browser's wait is over
    chosen.notices.clear()
    try:
        if "uploaded" in sent:
            run = open_upload(Upload.from_browser(sent["uploaded"], text), text)
        else:
            run = open_example()
    except PagewalkError as error:
        chosen.say("error", shortened(text.sentence(text.error(error))))
        return
    session.put_run(run, run.first_sight())
    _go_where_the_link_says(run)


def _go_where_the_link_says(run: OpenedRun) -> None:
    """A link names a file, which the server does not have; whoever opens it goes on from there."""
    chosen, params, text = session.choices(), dict(st.query_params), session.text()
    wanted, is_read = params.get("file"), chosen.address_is_read
    chosen.address_is_read = True  # from here on the address follows the page
    if wanted is None or is_read:
        return
    if wanted != run.name:
        chosen.say("note", text("inspect.other_file", name=quoted(wanted)))
        return
    cursor, about_time = read_cursor(params, run.trace, text)
    chosen.cursor = cursor or chosen.cursor
    chosen.selection, chosen.lens, about_choice = read_choice(params, LENSES, run.trace, text)
    for complaint in filter(None, (about_time, about_choice)):
        chosen.say_also(complaint)


def _say_whose_link() -> None:
    wanted = st.query_params.get("file")
    if wanted is not None and not session.choices().notices:
        session.choices().say("note", session.text()("inspect.link", name=quoted(wanted)))


@st.fragment(key="inspect_stage")
def _stage() -> None:
    def draw() -> None:
        run = session.run()
        if run is not None:
            stage(run, look=session.run)

    framed_part(draw)
