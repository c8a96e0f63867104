"""The offer of a branch: where it would begin, and what would be the same in it."""

from typing import Any

import streamlit as st

from engine.errors import ConfigError
from views import session, weights
from views.branching import check_prompts
from views.drafts import Branch
from views.figures.moment import num_finished_steps
from views.runs import Run
from views.text import Text


def consequence(run: Run, branch: Branch) -> str:
    """What a branch with these settings would be, in the words of its own plan.

    What is wrong with what was typed is said at its field: there it is drawn letter by letter.
    """
    text, number = session.text(), session.choices().shelf.number(run)
    if (reason := why_no_branch(run, text)) is not None:
        return reason
    step = run.branch_begins_at(session.choices().cursor)
    try:
        plan = run.plan(session.choices().cursor, branch, text)
    except ConfigError:
        return text("branch.unclear")
    if (refusal := why_refused(run, branch)) is not None:
        return refusal
    names = ", ".join(plan.redone or plan.changes)
    key = "branch.again" if plan.redone else "branch.from_here" if names else "branch.unchanged"
    said = [text(key, names=names, number=number, step=step)]
    if weights.FIELD in plan.redone:
        said.append(text("branch.weights"))
    if run.is_inside_a_step(session.choices().cursor):
        said.append(text("branch.inside", step=step))
    if run.live is None:
        said.append(text("branch.script"))
    return text.told(said)


def why_refused(run: Run, branch: Branch) -> str | None:
    """Why none can be made with these settings; None also where they are not settings at all."""
    text, chosen = session.text(), session.choices()
    try:
        config = run.plan(chosen.cursor, branch, text).config
    except ConfigError:
        return None
    try:
        if run.live is not None:
            num_bytes = run.bytes_per_block(config.block_size, branch.settings.get(weights.FIELD))
            chosen.share.check_pool(config, num_bytes, text)
        check_prompts(run, chosen.cursor, branch, text)
    except ConfigError as error:
        return text("branch.refused", reason=text.sentence(text.error(error)))
    return None


def why_no_branch(run: Run, text: Text) -> str | None:
    """Why none is offered: nothing goes on here, or nothing has happened to branch from."""
    if run.trace.num_steps == 0:
        return text("branch.nothing")
    if (step := session.choices().branch_on_its_way) is not None:
        return text("branch.on_its_way", step=step)
    return session.why_no_engine()


def branch_button(run: Run, branch: Branch, *, is_off: bool) -> None:
    """A script goes on as it did, so that a branch of it needs a change."""
    step = run.branch_begins_at(session.choices().cursor)
    st.button(
        session.text()("branch.go", step=step),
        key="branch",
        disabled=is_off,
        on_click=session.ask,
        args=("branched", branch),
    )


def prompt_places(run: Run) -> dict[str, Any]:
    """Where a prompt would go: to the end of the run, or from the past into a branch."""
    text, cursor = session.text(), session.choices().cursor
    step, number = run.branch_begins_at(cursor), session.choices().shelf.number(run)
    here = None
    if run.live is not None and why_no_branch(run, text) is None and cursor != run.trace.last:
        hint = text("branch.add_hint", number=number, step=step)
        here = {"word": text("branch.add", step=step), "hint": hint}
    return {"where": text("branch.where", step=num_finished_steps(run.trace)), "here": here}
