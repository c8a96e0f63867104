"""The settings that matter, and what a change of them restarts."""

from typing import Any

import streamlit as st

from views import session
from views.runs import Restart, Run
from views.text import Text

NUMBERS = ("block_size", "num_blocks", "max_num_batched_tokens", "max_num_seqs")
CACHING, WAIT = "enable_prefix_caching", "wait_for_ever"


def settings(run: Run) -> None:
    """Numbers are checked by the engine's own config, not by the form: it says more."""
    text = session.text()
    st.markdown(f"###### {text('settings.title')}")
    wanted = _form(run, text)
    changed = {name: value for name, value in wanted.items() if getattr(run.config, name) != value}
    st.caption(_consequence(run, list(changed), text))
    with st.container(horizontal=True):
        st.button(
            text("settings.apply"),
            key="apply",
            type="primary",
            disabled=not changed,
            on_click=session.apply,
            args=(Restart(changed),),
        )
        if run.live is not None and run.trace.num_steps:
            st.button(
                text("settings.clear"),
                key="clear",
                on_click=session.apply,
                args=(Restart({}, []),),
                help=text("settings.clear_hint", n=_num_requests(run), steps=run.trace.num_steps),
            )


def _form(run: Run, text: Text) -> dict[str, Any]:
    wanted: dict[str, Any] = {}
    grid = st.grid(min_column_width=190, gap="small")
    for name in NUMBERS:
        wanted[name] = grid.number_input(
            text.named("settings", name),
            value=getattr(run.config, name),
            step=1,
            key=f"{name}-{id(run)}",
            help=text.named("settings", f"{name}_hint"),
        )
    wanted[CACHING] = st.toggle(
        text.named("settings", CACHING),
        value=run.config.enable_prefix_caching,
        key=f"{CACHING}-{id(run)}",
        help=text.named("settings", f"{CACHING}_hint"),
    )
    if run.live is not None:
        waits = st.toggle(
            text.named("settings", WAIT),
            value=not run.config.refuse_oversized,
            key=f"{WAIT}-{id(run)}",
            help=text.named("settings", f"{WAIT}_hint"),
        )
        wanted["refuse_oversized"] = not waits
    return wanted


def _consequence(run: Run, changed: list[str], text: Text) -> str:
    if not changed:
        return text("settings.unchanged")
    return text.count(
        "settings.restarts",
        _num_requests(run),
        names=", ".join(changed),
        steps=run.trace.num_steps,
    )


def _num_requests(run: Run) -> int:
    return len(run.trace.at(run.trace.last).requests)
