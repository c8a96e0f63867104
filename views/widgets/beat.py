"""The puzzle beside the stage."""

from functools import partial
from typing import Any

from lessons.puzzles import puzzles
from views import session
from views.beat import Beat, Refused
from views.components.piece import piece
from views.figures.learning.beat import beat_card
from views.figures.moment import Moment
from views.figures.selection import lit
from views.text import Text

SENDS = ("arranged", "begun_again", "best_shown", "puzzle", "selected", "written")


def beat(played: Beat, moment: Moment, text: Text) -> None:
    payload = beat_payload(played, text) | {"lit": lit(moment.state, session.choices().selection)}
    sent = {f"on_{what}_change": partial(session.note, "beat", what) for what in SENDS}
    piece("beat", payload, **sent)


def beat_payload(played: Beat, text: Text) -> dict[str, Any]:
    card = beat_card(
        played.puzzle,
        played.solution,
        text,
        found=played.score,
        best=played.best,
        is_own_best=played.is_own_best,
    )
    names = [text.named("beat_puzzle", puzzle.name) for puzzle in puzzles()]
    return card | {
        "fits": True,
        "number": played.number,
        "puzzles": list(enumerate(names, 1)),
        "is_given": played.is_given,
        "refused": _refused(played.refused, text),
    }


def _refused(refused: Refused | None, text: Text) -> dict[str, Any] | None:
    if refused is None:
        return None
    reason = text.error(refused.reason)
    return {**refused._asdict(), "reason": f"{reason[:1].upper()}{reason[1:]}."}
