"""The stage: everything that changes with a step, drawn from the trace at the cursor."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import streamlit as st

from views import session
from views.choices import LENSES
from views.components.piece import gathering, piece, withholding, within
from views.covering import keeps_next, withheld
from views.figures.block.block import block
from views.figures.cache.pool import pool, reset_button
from views.figures.cache.queue import queue
from views.figures.cache.requests import Looks, requests
from views.figures.cache.tables import tables
from views.figures.moment import Moment, moment_at
from views.figures.numbers import numbers
from views.figures.selection import block_of, spotlight
from views.figures.time.address import address
from views.figures.time.address import chosen as address_of_choice
from views.figures.time.narration import narration
from views.figures.time.transport import transport
from views.own_words import scene_on_stage
from views.pages.frame import framed
from views.runs import Run
from views.text import Text
from views.widgets.lenses import lens
from views.widgets.linked import linked
from views.widgets.notices import notices
from views.widgets.pictures import Parts, Pictures, key_of

Draw = Callable[[Run, Moment, Text], None]
Form = Callable[[Run], None]
Look = Callable[[], Run | None]
PICTURES = Pictures()
TIME_SENDS = ("target", "selected", "revisited")  # Escape selects nothing


def stage(
    run: Run,
    beside_time: Form | None = None,
    *,
    prose: Draw | None = None,
    above: Draw | None = None,
    form: Form | None = None,
    look: Look | None = None,
) -> None:
    """Story, requests, pool and numbers, time at the bottom edge; `beside_time` is what a page
    adds to it, `prose` a text that is read beside the stage, `above` a line over all of it, `form` a
    part that the page has drawn elsewhere and that tells where in time it is.

    With `look`, which finds the run again, time is a fragment of its own: a move in it sends one
    message with the data of all parts, and Streamlit makes none of them anew.
    """
    first: dict[str, Draw] = {"prose": prose} if prose else {"story": _story}
    last: dict[str, Draw] = {"told": _story} if prose else {"numbers": _numbers}
    pool = _pool_and_numbers if prose else _pool
    places = {**first, "requests": _requests, "pool": pool, **last}  # as on a phone: theme.py
    text = session.text()
    moment = moment_at(run.trace, session.choices().cursor)
    with gathering(sends=True) as drawn, withholding(withheld(session.choices().study, text)):
        if above is not None:
            above(run, moment, text)
        notices()
        with st.container(key="stage"):
            for place, draw in places.items():
                with st.container(key=f"stage_{place}"):
                    draw(run, moment, text)
    with st.bottom, st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if look is None:
            _time(run, text, {})
            _beside(beside_time, run)
        else:
            draws = (*((above,) if above else ()), *places.values())
            _moving(look, beside_time, draws, Drawn(run.run_id, set(drawn.parts), form))


@dataclass
class Drawn:
    """What of the stage the browser has: its time is drawn with it, and alone from then on."""

    run_id: int
    parts: set[str]
    form: Form | None  # which goes with the time, beside these
    is_alone: bool = False


@st.fragment(key="moving")
def _moving(
    look: Look,
    beside_time: Form | None,
    draws: tuple[Draw, ...],
    drawn: Drawn,
) -> None:
    def draw() -> None:
        if drawn.is_alone and session.settle():
            st.rerun()
        run = look()
        if run is None or run.run_id != drawn.run_id:
            st.rerun()
        else:
            parts = _again(run, draws) if drawn.is_alone else {}
            if drawn.is_alone and set(parts) != drawn.parts:
                st.rerun()
            drawn.is_alone = True
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                _time(run, session.text(), parts | _formed(run, drawn))
                _beside(beside_time, run)

    framed(draw, session.text())


def _again(run: Run, draws: tuple[Draw, ...]) -> Parts:
    """The data of all parts of the stage; drawn once for all who look at the same moment."""
    key = key_of(run) if draws == PLAIN else None
    return _drawn(run, draws) if key is None else PICTURES.get(key, partial(_drawn, run, draws))


def _drawn(run: Run, draws: tuple[Draw, ...]) -> Parts:
    """Nothing is sent here."""
    moment = moment_at(run.trace, session.choices().cursor)
    kept_back = withheld(session.choices().study, session.text())
    with gathering(sends=False) as drawn, withholding(kept_back):
        notices()
        for draw in draws:
            draw(run, moment, session.text())
    return drawn.parts


def _formed(run: Run, drawn: Drawn) -> Parts:
    """The data of the form, where it is open."""
    with gathering(sends=False) as gathered:
        if drawn.form is not None:
            drawn.form(run)
    return gathered.parts


def _beside(draw: Form | None, run: Run) -> None:
    if draw is not None:
        draw(run)


def _story(run: Run, _: Moment, text: Text) -> None:
    payload = narration(run.trace, session.choices().cursor, text, is_idle=run.is_idle)
    piece("narration", payload, on_chosen_change=partial(session.note, "narration", "chosen"))


def _pool_and_numbers(run: Run, moment: Moment, text: Text) -> None:
    """Beside a text there are numbers only where it speaks of them."""
    _pool(run, moment, text)
    study = session.choices().study
    if study is not None and study.here.numbers and not study.is_over:
        _numbers(run, moment, text)


def _numbers(run: Run, moment: Moment, text: Text) -> None:
    piece("numbers", numbers(run.trace, moment, session.choices().cursor, text))


def _is_past(run: Run) -> bool:
    return session.choices().cursor != run.trace.last


def _requests(run: Run, moment: Moment, text: Text) -> None:
    unfinished = None if run.live is None else run.unfinished
    looks = Looks(lit=_lit_blocks(moment), unfolded=session.choices().unfolded)
    payload = requests(moment, text, looks=looks, unfinished=unfinished, is_past=_is_past(run))
    linked("requests", payload, moment, "aborted", "unfolded")
    lens(run, moment, text)


def _pool(run: Run, moment: Moment, text: Text) -> None:
    selected, reset = block_of(moment.state, session.choices().selection), None
    if run.live is not None:
        has_cache = run.config.enable_prefix_caching
        reset = reset_button(text, has_cache=has_cache, is_past=_is_past(run))
    study = session.choices().study
    counts = study is None or not study.is_open
    payload = pool(moment, text, reset=reset, counts=counts)
    if study is not None and (name := scene_on_stage(study, text)):
        payload["title"] = text("learn.stage_of", title=payload["title"], scene=name)
    linked("pool", payload, moment, "reset")
    shown = queue(moment, text, lit=_lit_blocks(moment), tells_next=not _is_examined())
    if not counts:
        shown["count"] = ""
    linked("queue", shown, moment)
    unfolded = session.choices().unfolded
    held = tables(moment, text, lit=_lit_blocks(moment), unfolded=unfolded)
    linked("tables", held, moment, "unfolded")
    # Last: nothing moves for it. Always there: a part that goes may stay on the screen (Streamlit 1.67)
    # where another fragment's run comes in between.
    is_hidden = selected is None or session.choices().lens == "block"
    card = block(moment, text, selected=None if is_hidden else selected) | {"hidden": is_hidden}
    linked("block", card, moment, "lens", key="card")


def _is_examined() -> bool:
    """Whether somebody has to say right now which block comes next."""
    study, practice = session.choices().study, session.choices().practice
    return keeps_next(study) or (practice is not None and not practice.is_over)


def _lit_blocks(moment: Moment) -> tuple[int, ...]:
    """Blocks that a fold must not hide."""
    return spotlight(moment.state, session.choices().selection).blocks


def _time(run: Run, text: Text, parts: Parts) -> None:
    """`parts`: the new data of the stage, where its parts are there already."""
    chosen = session.choices()
    payload = transport(
        run.trace,
        chosen.cursor,
        text,
        can_go_on=run.can_go_on,
        num_interventions=run.num_interventions,
        run_id=run.run_id,
    )
    payload["sequence"], payload["on_the_way"] = chosen.sequence, chosen.pursuit is not None
    if chosen.study is not None and chosen.study.motion is not None:
        number, to = chosen.study.motion
        payload["motion"] = {"number": number, "to": run.trace.position(to)}
    names = run.link or {"example": chosen.example}
    payload["address"] = address(
        names, run.trace, chosen.cursor, restores=bool(run.link)
    ) | address_of_choice(chosen.selection, chosen.lens if chosen.lens != LENSES[0] else None)
    payload["parts"] = within(parts)
    sent = {f"on_{what}_change": partial(session.note, "transport", what) for what in TIME_SENDS}
    piece("transport", payload, **sent)


PLAIN: tuple[Draw, ...] = (_story, _requests, _pool, _numbers)  # no prose of a page among them
