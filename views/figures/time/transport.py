"""Where in time we are, where one can go, and whether the engine has more to give."""

from typing import Any

from engine.trace.state import Cursor
from engine.trace.trace import Trace
from views.figures.moment import step_ends
from views.text import Text

SPEEDS = (("slow", 1000), ("normal", 350), ("fast", 120))  # name, milliseconds for each picture
KEYS = ("sub_step", "step", "play", "ends", "escape", "help")


def transport(
    trace: Trace,
    cursor: Cursor,
    text: Text,
    *,
    can_go_on: bool,
    num_interventions: int = 0,
    run_id: int = 0,
) -> dict[str, Any]:
    """`position` counts the sub-steps of the run that have happened; `ends` has one per step that is over.

    The player stops when `num_interventions` grows: somebody wants to see what they just did. It
    stops with another `run_id`, too.
    A target beyond `last` asks the engine for more; one before it only moves the cursor.
    """
    cursor = trace.cursor_at(trace.position(cursor))
    return {
        "position": trace.position(cursor),
        "last": trace.num_positions - 1,
        "ends": step_ends(trace),
        "step": cursor.step,
        "sub_step": cursor.sub_step,
        "can_go_on": can_go_on,
        "num_interventions": num_interventions,
        "run": run_id,
        "speeds": [[text.named("speed", name), ms] for name, ms in SPEEDS],
        "keys": [[text.named("key", name), text.named("key_does", name)] for name in KEYS],
        "where": text(
            "transport.where",
            step=cursor.step,
            sub_step=cursor.sub_step,
            of=trace.num_sub_steps(cursor.step),
        ),
        "words": {name: text.named("transport", name) for name in WORDS},
    }


WORDS = (
    "first",
    "step_back",
    "back",
    "play",
    "pause",
    "forward",
    "step_forward",
    "last",
    "ask",
    "slider",
    "jump",
    "jump_hint",
    "jump_bad",
    "jump_beyond",
    "jump_empty",
    "begin",
    "begin_hint",
    "large",
    "large_hint",
    "speed",
    "by_step",
    "by_sub_step",
    "unit",
    "help",
    "group",
)
