"""Parts of the stage in which things can be selected and light up."""

from functools import partial
from typing import Any

from views import session
from views.choices import LENSES
from views.components.piece import piece
from views.figures.moment import Moment
from views.figures.selection import lit


def light(moment: Moment) -> dict[str, Any]:
    """What lights up with what is selected. While a question is open equal hashes do not: whether a
    request that waits finds its blocks in the cache is what is asked."""
    chosen = session.choices()
    found = lit(moment.state, chosen.selection)
    return found | {"hashes": []} if chosen.study is not None and chosen.study.is_open else found


def linked(name: str, payload: dict[str, Any], moment: Moment, *others: str, key: str = "") -> None:
    """Draw one; `others` are what it may send beside a selection. A lens fits the screen that is left."""
    whats = ("selected", *others)
    piece(
        name,
        payload | {"lit": light(moment), "fits": name in LENSES},
        key,
        **{f"on_{what}_change": partial(session.note, key or name, what) for what in whats},
    )
