"""The settings that matter, and what a change of them restarts."""

from typing import Any

import streamlit as st

from views import session
from views.figures.moment import num_finished_steps
from views.runs import Restart, Run
from views.text import Text

NUMBERS = ("block_size", "num_blocks", "max_num_batched_tokens", "max_num_seqs")
CACHING, REFUSES, WAIT = "enable_prefix_caching", "refuse_oversized", "wait_for_ever"


def settings(run: Run) -> None:
    """Numbers are checked by the engine's own config, not by the form: it says more."""
    text = session.text()
    st.markdown(f"###### {text('settings.title')}")
    wanted = _form(run, text)
    changed = {name: value for name, value in wanted.items() if value != _in_form(run, name)}
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
                help=text(
                    "settings.clear_hint",
                    requests=text.count("count.requests", _num_requests(run)),
                    steps=_num_steps(run, text),
                ),
            )


def _form(run: Run, text: Text) -> dict[str, Any]:
    """Numbers as they are typed; applying reads them, and says so where that fails."""
    wanted: dict[str, Any] = {}
    grid = st.grid(min_column_width=190, gap="small")
    for name in NUMBERS:
        typed = grid.text_input(
            text.named("settings", name),
            key=session.setting_field(name, _in_form(run, name)),
            help=text.named("settings", f"{name}_hint"),
        )
        wanted[name] = session.choices().typed[name] = typed.strip()
    wanted[CACHING] = _switch(CACHING, run.config.enable_prefix_caching, text)
    if run.live is not None:
        wanted[REFUSES] = not _switch(WAIT, not run.config.refuse_oversized, text)
    return wanted


def _switch(name: str, given: bool, text: Text) -> bool:
    is_on = st.toggle(
        text.named("settings", name),
        key=session.setting_field(name, given),
        help=text.named("settings", f"{name}_hint"),
    )
    session.choices().typed[name] = is_on
    return is_on


def _in_form(run: Run, name: str) -> Any:
    """A setting of the run as it stands in the form."""
    value = getattr(run.config, name)
    return str(value) if name in NUMBERS else value


def _consequence(run: Run, changed: list[str], text: Text) -> str:
    if not changed:
        return text("settings.unchanged")
    return text.count(
        "settings.restarts",
        _num_requests(run),
        names=", ".join(changed),
        steps=_num_steps(run, text),
    )


def _num_requests(run: Run) -> int:
    return len(run.trace.at(run.trace.last).requests)


def _num_steps(run: Run, text: Text) -> str:
    return text.count("count.steps", num_finished_steps(run.trace))
