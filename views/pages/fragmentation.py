"""Fragmentation: the same requests in three allocators, side by side."""

import streamlit as st

from views import session
from views.components.piece import piece
from views.figures.fragmentation.fragmentation import (
    RUN,
    SOURCES,
    Setting,
    asked_for,
    asked_step,
    block_sizes,
    fragmentation,
)
from views.figures.fragmentation.lives import RESERVATIONS, TABLES, Lengths, recorded_lengths
from views.lab_runs import Named, named_run
from views.pages.frame import framed
from views.runs import Run
from views.text import Text
from views.theme import PAGE_STYLE

WIDTHS = (5, 5, 4)


def render() -> None:
    session.enter(session.PLAYGROUND)
    framed(_page, session.text())


def _page() -> None:
    st.html(PAGE_STYLE)
    session.prepare()
    text = session.text()
    st.markdown(f"## {text('frag.page')}")
    st.caption(text("frag.lead"))
    left, middle, right = st.columns(WIDTHS, gap="medium")
    with left:
        source, asked = _source(text)
        named = _named(source)
        lengths = _lengths(source, named.run, text)
    if lengths is None:
        st.info(named.complaint or text("frag.no_run"))
        return
    with middle:
        block_size, about_size = _block_size(source, lengths, text)
    with right:
        reservation, about_reservation = _reservation(source, lengths, text)
    payload = fragmentation(lengths, Setting(source, block_size, reservation), text)
    payload["address"] |= named.link
    payload["at"], about_step = asked_step(st.query_params, payload["num_steps"], text)
    said = (asked, named.complaint, about_size, about_reservation, about_step)
    payload["complaints"] = [*filter(None, (session.about_language(), *said))]
    piece("fragmentation", payload)
    st.caption(text("frag.how_counted"))
    st.caption(text("frag.paper"))


def _forget(*names: str) -> None:
    """What the address says belongs to the lengths, and the step to the setting, that are left now."""
    for name in names:
        st.query_params.pop(name, None)


def _source(text: Text) -> tuple[str, str]:
    asked, complaint = asked_for(st.query_params, "lengths", SOURCES, text)
    run = session.run()
    has_own_run = run is not None and run.live is not None and run.trace.num_steps > 0
    chosen = st.segmented_control(
        text("frag.lengths"),
        SOURCES,
        default=asked or (RUN if has_own_run else SOURCES[0]),
        key="frag_lengths",
        format_func=lambda name: text.named("frag_source", name),
        on_change=_forget,
        args=("at", "block_size", "reserve", "example", "run"),
        required=True,
        persist_state="session",
    )
    return str(chosen), complaint


def _named(source: str) -> Named:
    """The run of the playground that the address names; nothing else of it matters here."""
    if source != RUN:
        return Named(None, {})
    params = dict(st.query_params)
    is_link = params.get("lengths") == RUN
    return named_run(session.choices(), params if is_link else {}, is_link=is_link)


def _lengths(source: str, run: Run | None, text: Text) -> Lengths | None:
    """None where the run is not there."""
    lengths = TABLES.get(source) or (None if run is None else recorded_lengths(run.trace))
    about = [text.named("frag_about", source)]
    if lengths is not None:
        memory = {"block_size": lengths.block_size, "most": lengths.max_model_len}
        about.append(text("frag.memory", capacity=lengths.capacity, **memory))
    st.caption(text.told(about))
    return lengths


def _block_size(source: str, lengths: Lengths, text: Text) -> tuple[int, str]:
    sizes = block_sizes(lengths)
    asked, complaint = asked_for(st.query_params, "block_size", sizes, text)
    size = st.select_slider(
        text("frag.block_size"),
        sizes,
        value=int(asked) if asked else lengths.block_size,
        key=f"frag_block_size_{source}",
        help=text("frag.block_size_hint"),
        on_change=_forget,
        args=("at",),
        persist_state="session",
    )
    return int(size), complaint


def _reservation(source: str, lengths: Lengths, text: Text) -> tuple[str, str]:
    asked, complaint = asked_for(st.query_params, "reserve", RESERVATIONS, text)
    chosen = st.segmented_control(
        text("frag.reserve"),
        RESERVATIONS,
        default=asked or lengths.best_reservation(),
        key=f"frag_reserve_{source}",
        format_func=lambda name: text.named("frag_reserve", name),
        help=text("frag.reserve_hint"),
        on_change=_forget,
        args=("at",),
        required=True,
        persist_state="session",
    )
    return str(chosen), complaint
