"""The exercise beside the stage."""

from functools import partial
from typing import Any

from views import session
from views.components.piece import piece
from views.figures.learning.practice import outcome, practice_card, shown, situation, told
from views.figures.moment import Moment
from views.figures.selection import lit
from views.practice import Practice
from views.text import Text

SENDS = ("exercise", "exercise_again", "finished_acting", "played", "selected", "solution", "verb")


def practice(asked: Practice, moment: Moment, text: Text) -> None:
    payload = practice_payload(asked, text)
    payload["lit"] = lit(moment.state, session.choices().selection)
    sent = {f"on_{what}_change": partial(session.note, "practice", what) for what in SENDS}
    piece("practice", payload, **sent)


def practice_payload(asked: Practice, text: Text) -> dict[str, Any]:
    exercise = asked.exercise
    card = practice_card(asked.level, asked.seed, done=asked.done, verb=asked.verb, text=text)
    said = None if asked.is_over else told(asked.said, text)
    if asked.is_playing:
        said = shown(asked.done, text)
    ending = ""
    if asked.is_over:
        ending = outcome(len(asked.mistakes), asked.num_solved, text, was_shown=asked.was_shown)
    return card | {
        "situation": situation(exercise, text),
        "said": said,
        "is_over": asked.is_over,
        "playing": asked.num_done if asked.is_playing else None,
        "outcome": ending,
    }
