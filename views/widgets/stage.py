"""The stage: everything that changes with a step, drawn from the trace at the cursor."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from views import session
from views.choices import LENSES
from views.components.piece import piece
from views.figures.address import address
from views.figures.address import chosen as address_of_choice
from views.figures.block import block
from views.figures.moment import Moment, moment_at
from views.figures.narration import narration
from views.figures.numbers import numbers
from views.figures.pool import pool, reset_button
from views.figures.queue import queue
from views.figures.requests import Looks, requests
from views.figures.selection import block_of, spotlight
from views.figures.tables import tables
from views.figures.transport import transport
from views.runs import Run
from views.text import Text
from views.widgets.lenses import lens
from views.widgets.linked import linked
from views.widgets.notices import notices

Draw = Callable[[Run, Moment, Text], None]
TIME_SENDS = ("target", "selected", "revisited")  # Escape selects nothing


def stage(
    run: Run, beside_time: Callable[[Run], None] | None = None, *, prose: Draw | None = None
) -> None:
    """Story, requests, pool and numbers, time at the bottom edge; `beside_time` is what a page
    adds to it, `prose` a text that is read beside the stage."""
    text = session.text()
    moment = moment_at(run.trace, session.choices().cursor)
    notices()
    first: dict[str, Draw] = {"prose": prose} if prose else {"story": _story}
    last: dict[str, Draw] = {"told": _story} if prose else {"numbers": _numbers}
    places = {**first, "requests": _requests, "pool": _pool, **last}  # as on a phone: theme.py
    with st.container(key="stage"):
        for place, draw in places.items():
            with st.container(key=f"stage_{place}"):
                draw(run, moment, text)
    with st.bottom, st.container(horizontal=True, vertical_alignment="center", gap="small"):
        _time(run, text)
        if beside_time is not None:
            beside_time(run)


def _story(run: Run, _: Moment, text: Text) -> None:
    payload = narration(run.trace, session.choices().cursor, text, is_idle=run.is_idle)
    piece("narration", payload, on_chosen_change=partial(session.note, "narration", "chosen"))


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
    linked("pool", pool(moment, text, reset=reset), moment, "reset")
    linked("queue", queue(moment, text, lit=_lit_blocks(moment)), moment)
    linked("tables", tables(moment, text, lit=_lit_blocks(moment)), moment)
    # Last: nothing moves for it. Always there: a part that goes may stay on the screen (Streamlit 1.67)
    # where another fragment's run comes in between.
    is_hidden = selected is None or session.choices().lens == "block"
    card = block(moment, text, selected=None if is_hidden else selected) | {"hidden": is_hidden}
    linked("block", card, moment, "lens", key="card")


def _lit_blocks(moment: Moment) -> tuple[int, ...]:
    """Blocks that a fold must not hide."""
    return spotlight(moment.state, session.choices().selection).blocks


def _time(run: Run, text: Text) -> None:
    chosen = session.choices()
    payload = transport(
        run.trace,
        chosen.cursor,
        text,
        can_go_on=run.can_go_on,
        num_interventions=run.num_interventions,
        run_id=run.run_id,
    )
    payload["sequence"] = chosen.sequence
    payload["session"] = chosen.share.name
    played = chosen.study or chosen.practice
    if played is not None and played.motion is not None:
        number, to = played.motion
        payload["motion"] = {"number": number, "to": run.trace.position(to)}
    names = run.link or {"example": chosen.example}
    payload["address"] = address(
        names, run.trace, chosen.cursor, restores=bool(run.link)
    ) | address_of_choice(chosen.selection, chosen.lens if chosen.lens != LENSES[0] else None)
    sent = {f"on_{what}_change": partial(session.note, "transport", what) for what in TIME_SENDS}
    piece("transport", payload, **sent)
