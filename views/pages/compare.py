"""Compare: one workload under two settings, moved through step by step."""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import streamlit as st

from engine.errors import ConfigError
from views import session
from views.choices import LENSES
from views.compared import BOTH, show
from views.comparing import half, start_of
from views.components.piece import piece
from views.figures.compare.closer import NONE, switch
from views.figures.compare.compare import compare, reasons
from views.figures.compare.compare_inputs import (
    LEFT,
    LETTERS,
    RIGHT,
    RUN,
    SIDES,
    Choice,
    Closer,
    Half,
    Setting,
)
from views.figures.selection import Selection
from views.figures.time.address import read_choice, read_cursor
from views.lab_runs import Named, named_run
from views.pages.frame import framed, framed_part
from views.text import Text, quoted
from views.theme import PAGE_STYLE
from views.widgets.compared_stage import compared_stage
from views.workloads import (
    MATERIALS,
    NOTHING,
    OWN_LETTERS,
    WORKLOADS,
    Material,
    letters,
    material_of,
)

DESK = "compare"
SENT = ("compared", "closer")


class Compared(NamedTuple):
    """Both sides, and what was found on the way to them."""

    choice: Choice
    material: Material
    halves: tuple[Half, Half]
    starts: dict[str, Setting]  # the form of each side as the workload comes
    link: dict[str, str]
    said: list[str]  # what of the address or of the workload could not be had
    wrong: str  # with the requests that are written as letters


def render() -> None:
    session.enter(session.PLAYGROUND)
    framed(_page, session.text())


def _page() -> None:
    st.html(PAGE_STYLE)
    session.prepare()  # the playground's run, which can be compared as well
    session.enter(DESK)
    session.settle()
    params, chosen = dict(st.query_params), session.choices()
    if chosen.compare is None:
        _read_link(params)
    if chosen.closer.side and _show_side(params):
        compared_stage()
    else:
        _comparison()


def _read_link(params: Mapping[str, str]) -> None:
    chosen, side = session.choices(), params.get("side", BOTH)
    chosen.compare = Choice.from_browser(params)
    chosen.closer = Closer(side if side in SIDES else BOTH, number=1)
    if not chosen.closer.side:
        chosen.selection, chosen.address_is_read = Selection.from_browser(params), True


def _show_side(params: Mapping[str, str]) -> bool:
    """Put the run of the side that is chosen on the stage; False where it has none."""
    chosen, text = session.choices(), session.text()
    found = _compared(chosen.compare or Choice(), params, text)
    side, is_read = chosen.closer.side, chosen.address_is_read
    chosen.address_is_read = True
    if found.halves[SIDES.index(side)].trace is None:
        chosen.closer = Closer(number=chosen.closer.number)
        return False
    if chosen.closer.at is None:
        chosen.closer = chosen.closer._replace(at=_first_step(found, text))
    run = show(chosen, found.halves, found.link)
    run.unended = found.material.unended
    if not is_read:
        cursor, about_time = read_cursor(params, run.trace, text)
        chosen.cursor = cursor or chosen.cursor
        chosen.selection, chosen.lens, about_choice = read_choice(params, LENSES, run.trace, text)
        for complaint in filter(None, (*found.said, about_time, about_choice)):
            chosen.say_also(complaint)
    return True


def _first_step(found: Compared, text: Text) -> int:
    """Where the two first come out otherwise."""
    told = reasons(found.halves, text, found.material.unended)
    return int(told["lines"][0]["step"]) if told and told["lines"] else 0


@st.fragment(key="compare_page")
def _comparison() -> None:
    def draw() -> None:
        text, choice = session.text(), session.choices().compare or Choice()
        payload = _payload(choice, dict(st.query_params), text)
        sent = {f"on_{what}_change": partial(session.note, "compare", what) for what in SENT}
        piece("compare", payload, **sent)

    framed_part(draw)


def _compared(choice: Choice, params: Mapping[str, str], text: Text) -> Compared:
    said = [session.about_language()]
    if choice.workload not in WORKLOADS:
        offered = ", ".join(WORKLOADS)
        given = quoted(choice.workload)
        said.append(text("compare.no_workload", given=given, offered=offered))
        choice = choice._replace(workload=Choice().workload)
    named = _named(choice, params)
    material, wrong = _material(choice, named, text)
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
    link = choice.address(starts, OWN_LETTERS, named.link)
    return Compared(choice, material, halves, starts, link, said, wrong)


def _payload(choice: Choice, params: Mapping[str, str], text: Text) -> dict[str, Any]:
    found = _compared(choice, params, text)
    choice, material, said = found.choice, found.material, found.said
    drawn: dict[str, Any] = {
        "workloads": [[name, text.named("compare_name", name)] for name in WORKLOADS],
        "workload": choice.workload,
        "about": text.named("compare_about", choice.workload),
        "letters": choice.letters if choice.letters is not None else OWN_LETTERS,
        "letters_error": found.wrong if choice.workload == LETTERS else "",
        "has_letters": choice.workload == LETTERS,
        "title": text("compare.page"),
    } | compare(*found.halves, text, material.unended)
    drawn["is_empty"] = not material.workload.requests
    drawn["address"] = found.link
    drawn["starts"] = [found.starts[side]._asdict() for side in SIDES]
    drawn["at"], complaint = _asked_step(params, len(drawn["places"]), text)
    no_side = _about_side(params, found, text)
    drawn["complaints"] = [*filter(None, (*said, no_side, complaint))]
    return drawn | _closer(found, text)


def _closer(found: Compared, text: Text) -> dict[str, Any]:
    """The way onto the stage, and where whoever comes back from it stands."""
    chosen = session.choices()
    number, at = chosen.closer.number, chosen.closer.at
    returned = {"number": number, "at": at, "selected": chosen.selection.named()}
    return {"closer": switch(found.halves, BOTH, text), "returned": returned}


def _named(choice: Choice, params: Mapping[str, str]) -> Named:
    """The run of the playground that the address names; nothing else of it matters here."""
    if choice.workload != RUN:
        return Named(None, {})
    is_link = params.get("workload") == RUN
    playing = session.choices(session.PLAYGROUND)
    return named_run(playing, params if is_link else {}, is_link=is_link)


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


def _about_side(params: Mapping[str, str], found: Compared, text: Text) -> str:
    """A sentence where a link asks for a side that cannot be shown."""
    given = params.get("side", BOTH)
    if given not in (BOTH, *SIDES):
        return text("compare.no_side", given=quoted(given), offered=", ".join(SIDES))
    has_none = given != BOTH and found.halves[SIDES.index(given)].trace is None
    return text(NONE[given]) if has_none else ""


def _asked_step(params: Mapping[str, str], num_places: int, text: Text) -> tuple[int | None, str]:
    """The place that a link asks for, and a sentence where there is none such."""
    given = params.get("at")
    if given is None:
        return None, ""
    if re.fullmatch(r"[0-9]{1,9}", given) and int(given) < max(1, num_places):
        return int(given), ""
    return None, text("compare.no_step", given=quoted(given), last=max(0, num_places - 1))
