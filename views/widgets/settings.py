"""The settings that matter, and what a change of them restarts or begins."""

from typing import Any

import streamlit as st

from views import session
from views.drafts import Branch, Restart
from views.figures.moment import num_finished_steps
from views.runs import Run
from views.text import Text
from views.widgets.branch import branch_button, consequence

FIXED = ("block_size", "num_blocks")
MOVING = ("max_num_batched_tokens", "max_num_seqs", "long_prefill_token_threshold")
NUMBERS = (*FIXED, *MOVING)
CACHING, REFUSES, WAIT = "enable_prefix_caching", "refuse_oversized", "wait_for_ever"


def settings(run: Run) -> None:
    """Numbers are checked by the engine's own config, not by the form: it says more."""
    text = session.text()
    st.markdown(f"###### {text('settings.title')}")
    wanted = _form(run, text)
    changed = {name: value for name, value in wanted.items() if value != _in_form(run, name)}
    keep_later = _later(run, text)
    branch = Branch(wanted, keep_later=keep_later)
    st.caption(_restarts(run, list(changed), text))
    st.caption(consequence(run, branch))
    with st.container(horizontal=True):
        st.button(
            text("settings.apply"),
            key="apply",
            type="primary",
            disabled=not changed,
            on_click=session.ask,
            args=("applied", Restart(changed)),
        )
        branch_button(run, branch, has_changes=bool(changed))
        if run.live is not None and run.trace.num_steps:
            _clear(run, text)


def _clear(run: Run, text: Text) -> None:
    st.button(
        text("settings.clear"),
        key="clear",
        on_click=session.ask,
        args=("applied", Restart({}, [])),
        help=text(
            "settings.clear_hint",
            requests=text.count("count.requests", _num_requests(run)),
            steps=_num_steps(run, text),
        ),
    )


def _form(run: Run, text: Text) -> dict[str, Any]:
    """Numbers as they are typed; applying reads them, and says so where that fails."""
    wanted: dict[str, Any] = {}
    kinds = st.grid(min_column_width=560, gap="small")
    for kind, names in (("settings.moving", MOVING), ("settings.fixed", FIXED)):
        with kinds.container(gap="xsmall"):
            st.caption(f"**{text(kind)}**")
            grid = st.grid(min_column_width=200, gap="small")
            for name in names:
                with grid.container(gap="xxsmall"):
                    wanted[name] = _number(run, name, text)
            if names is FIXED:
                with grid.container(gap="xxsmall"):
                    wanted[CACHING] = _switch(CACHING, run.config.enable_prefix_caching, text)
            if names is FIXED and run.live is not None:
                with grid.container(gap="xxsmall"):
                    wanted[REFUSES] = not _switch(WAIT, not run.config.refuse_oversized, text)
    return wanted


def _number(run: Run, name: str, text: Text) -> str:
    typed: str = st.text_input(
        text.named("settings", name), key=session.setting_field(name, _in_form(run, name))
    ).strip()
    st.caption(text.named("settings", f"{name}_hint"))
    session.choices().typed[name] = typed
    return typed


def _switch(name: str, given: bool, text: Text) -> bool:
    is_on = st.toggle(text.named("settings", name), key=session.setting_field(name, given))
    st.caption(text.named("settings", f"{name}_hint"))
    session.choices().typed[name] = is_on
    return is_on


def _later(run: Run, text: Text) -> bool:
    """What a run was given after the moment shown comes along only if somebody asks for it."""
    if run.live is None or not run.has_inputs_after(session.choices().cursor):
        return False
    return st.checkbox(
        text("branch.later"), key=f"later-{run.run_id}", help=text("branch.later_hint")
    )


def _in_form(run: Run, name: str) -> Any:
    """A setting of the run as it stands in the form."""
    value = getattr(run.config, name)
    return str(value) if name in NUMBERS else value


def _restarts(run: Run, changed: list[str], text: Text) -> str:
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
