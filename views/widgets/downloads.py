"""Downloads of runs: as a trace file, and for a viewer of timelines. Made when they are asked for."""

import re
from functools import partial

import streamlit as st

from views import session
from views.figures.moment import num_finished_steps
from views.opening import OpenedRun, perfetto_file, trace_file
from views.runs import Run

SUFFIXES = re.compile(r"(\.jsonl|\.json|\.gz)+$", re.IGNORECASE)
MAX_STEM = 60


def downloads(opened: OpenedRun | None) -> None:
    """The playground's run as far as it has come, and what was read of the opened file."""
    text, playing = session.text(), session.run(session.PLAYGROUND)
    with st.popover(text("inspect.download"), width="content"):
        if playing is None or playing.trace.num_steps == 0:
            st.caption(text("inspect.no_run"))
        else:
            st.caption(text("inspect.from_playground"))
            _both(
                playing, stem=f"pagewalk-{num_finished_steps(playing.trace)}-steps", key="playing"
            )
        if opened is not None:
            st.caption(text("inspect.from_file"))
            _both(opened, stem=_stem(opened.name), key="opened")


def _both(run: Run, *, stem: str, key: str) -> None:
    text = session.text()
    with st.container(horizontal=True, gap="small"):
        st.download_button(
            text("inspect.trace_file"),
            partial(trace_file, run.trace),
            file_name=f"{stem}.jsonl.gz",
            mime="application/gzip",
            help=text("inspect.trace_hint"),
            key=f"trace_{key}",
            on_click="ignore",
        )
        st.download_button(
            text("inspect.perfetto_file"),
            partial(perfetto_file, run.trace),
            file_name=f"{stem}.perfetto.json",
            mime="application/json",
            help=text("inspect.perfetto_hint"),
            key=f"perfetto_{key}",
            on_click="ignore",
        )


def _stem(name: str) -> str:
    """A file's name without its endings, and without what a file system may not like."""
    return re.sub(r"[^\w.-]+", "-", SUFFIXES.sub("", name))[:MAX_STEM].strip("-.") or "trace"
