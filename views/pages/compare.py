"""Compare: one workload under two settings, moved through step by step."""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from engine.errors import ConfigError
from views import session
from views.comparing import half, start_of
from views.components.piece import piece
from views.figures.compare.compare import compare
from views.figures.compare.compare_inputs import LEFT, LETTERS, RIGHT, RUN, Choice
from views.lab_runs import Named, named_run
from views.pages.frame import framed
from views.text import Text, quoted
from views.theme import PAGE_STYLE
from views.workloads import (
    MATERIALS,
    NOTHING,
    OWN_LETTERS,
    WORKLOADS,
    Material,
    letters,
    material_of,
)


def render() -> None:
    session.enter(session.PLAYGROUND)
    framed(_page, session.text())


def _page() -> None:
    st.html(PAGE_STYLE)
    session.prepare()
    if session.choices().compare is None:
        session.choices().compare = Choice.from_browser(dict(st.query_params))
    _comparison()


@st.fragment(key="compare_page")
def _comparison() -> None:
    def draw() -> None:
        session.settle()
        text, choice = session.text(), session.choices().compare or Choice()
        payload = _payload(choice, dict(st.query_params), text)
        piece("compare", payload, on_compared_change=partial(session.note, "compare", "compared"))

    framed(draw, session.text())


def _payload(choice: Choice, params: Mapping[str, str], text: Text) -> dict[str, Any]:
    said = [session.about_language()]
    if choice.workload not in WORKLOADS:
        offered = ", ".join(WORKLOADS)
        given = quoted(choice.workload)
        said.append(text("compare.no_workload", given=given, offered=offered))
        choice = choice._replace(workload=Choice().workload)
    named = _named(choice, params)
    material, wrong = _material(choice, named, text)
    shown: dict[str, Any] = {
        "workloads": [[name, text.named("compare_name", name)] for name in WORKLOADS],
        "workload": choice.workload,
        "about": text.named("compare_about", choice.workload),
        "letters": choice.letters if choice.letters is not None else OWN_LETTERS,
        "letters_error": wrong if choice.workload == LETTERS else "",
        "has_letters": choice.workload == LETTERS,
        "title": text("compare.page"),
    }
    if choice.workload == RUN:
        said += dict.fromkeys((wrong, named.complaint))
    if material.num_left_out:
        said.append(text.count("compare.left_out", material.num_left_out))
    if material.unended:
        said.append(text("compare.unended", names=text.listed(material.unended)))
    start = start_of(material)
    starts = {LEFT: start, RIGHT: material.right.over(start)}
    halves = (
        half(material, choice.left, starts[LEFT], text),
        half(material, choice.right, starts[RIGHT], text),
    )
    drawn = shown | compare(*halves, text, material.unended)
    drawn["is_empty"] = not material.workload.requests
    drawn["address"] = choice.address(starts, OWN_LETTERS, named.link)
    drawn["starts"] = [starts[LEFT]._asdict(), starts[RIGHT]._asdict()]
    drawn["at"], complaint = _asked_step(params, len(drawn["places"]), text)
    drawn["complaints"] = [*filter(None, (*said, complaint))]
    return drawn


def _named(choice: Choice, params: Mapping[str, str]) -> Named:
    """The run of the playground that the address names; nothing else of it matters here."""
    if choice.workload != RUN:
        return Named(None, {})
    is_link = params.get("workload") == RUN
    return named_run(session.choices(), params if is_link else {}, is_link=is_link)


def _material(choice: Choice, named: Named, text: Text) -> tuple[Material, str]:
    """What runs on both sides, and what is wrong with it: then nothing does."""
    if choice.workload == LETTERS:
        try:
            return letters(choice.letters if choice.letters is not None else OWN_LETTERS, text), ""
        except ConfigError as error:
            return NOTHING, text.error(error)
    if choice.workload == RUN:
        run = named.run
        if run is None:
            return NOTHING, named.complaint or text("compare.run_missing")
        material = material_of(run.trace, run.config)
        return material, "" if material.workload.requests else text("compare.run_empty")
    return MATERIALS[choice.workload], ""


def _asked_step(params: Mapping[str, str], num_places: int, text: Text) -> tuple[int | None, str]:
    """The place that a link asks for, and a sentence where there is none such."""
    given = params.get("at")
    if given is None:
        return None, ""
    if re.fullmatch(r"[0-9]{1,9}", given) and int(given) < max(1, num_places):
        return int(given), ""
    return None, text("compare.no_step", given=quoted(given), last=max(0, num_places - 1))
