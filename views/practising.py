"""What a visitor of the allocator's page asks for."""

import random
import re
from collections.abc import Mapping
from typing import Any

from engine.config import EngineConfig
from lessons.exercises import FREE, LEVELS, MAX_SEED, PREEMPT, TAKE, TOUCH
from views import actions, studying
from views.choices import Choices
from views.figures.selection import Selection
from views.practice import Practice
from views.runs import Run
from views.text import Text, quoted

VERBS = (TOUCH, TAKE, FREE, PREEMPT)


def read_link(chosen: Choices, params: Mapping[str, str]) -> None:
    """Level and seed of the address; what is none of them gets a sentence and a first exercise."""
    chosen.practice = Practice(seed=random.randrange(MAX_SEED))
    text = Text(chosen.language)
    level, seed = params.get("level"), params.get("seed")
    if level is not None and level not in map(str, LEVELS):
        chosen.say_also(text("practice.no_level", given=quoted(level), last=LEVELS[-1]))
        level = None
    if seed is not None and not re.fullmatch(r"[0-9]{1,9}", seed):
        chosen.say_also(text("practice.no_seed", given=quoted(seed)))
        seed = None
    chosen.practice.begin(int(level or LEVELS[0]), int(seed) if seed else chosen.practice.seed)
    chosen.cursor = chosen.practice.here


def show(chosen: Choices) -> Run:
    """The run as far as it may be seen."""
    practice = chosen.practice or Practice()
    trace = practice.visible
    if chosen.run is None or chosen.run.trace is not trace:
        chosen.run = Run(trace, EngineConfig.from_mapping(trace.header.config))
        chosen.cursor = practice.here
    chosen.run.link = {"level": str(practice.level), "seed": str(practice.seed)}
    return chosen.run


def _take_verb(chosen: Choices, _: Run | None, verb: Any) -> bool:
    if chosen.practice is not None and verb in VERBS:
        chosen.practice.verb = verb
    return False


def _act(chosen: Choices, _: Run | None, target: Any) -> bool:
    """`target`: nothing says that this is all."""
    if chosen.practice is not None and (target is None or isinstance(target, int | str)):
        chosen.practice.act(target)
    return False


def _finish(chosen: Choices, begun: Run | None, _: Any) -> bool:
    return _act(chosen, begun, None)


def _begin(chosen: Choices, _: Run | None, level: Any) -> bool:
    """Another exercise, of this or of another level."""
    if chosen.practice is not None and isinstance(level, int):
        chosen.practice.begin(level, random.randrange(MAX_SEED))
        chosen.cursor, chosen.selection = chosen.practice.here, Selection()
    return False


def _repeat(chosen: Choices, _: Run | None, __: Any) -> bool:
    if chosen.practice is not None:
        chosen.practice.begin(chosen.practice.level, chosen.practice.seed)
        chosen.cursor = chosen.practice.here
    return False


def _show(chosen: Choices, _: Run | None, __: Any) -> bool:
    if chosen.practice is not None:
        chosen.practice.show()
        chosen.cursor = chosen.practice.here
    return False


def _play(chosen: Choices, _: Run | None, sent: Any) -> bool:
    """The page asks for the engine's next deed: how many it has seen, and whether it moves."""
    if chosen.practice is not None and isinstance(sent, list) and len(sent) == 2:
        num_done, to_end = sent
        if isinstance(num_done, int):
            chosen.practice.play(num_done, to_end=to_end is True)
    return False


def _select(chosen: Choices, begun: Run | None, sent: Any) -> bool:
    """A click on a block or on a request is an action where somebody is the allocator."""
    if chosen.practice is None:
        return studying.ACTIONS["selected"](chosen, begun, sent)
    wanted = Selection.from_browser(sent)
    target = wanted.block_id if wanted.block_id is not None else wanted.request_id
    if target is not None and wanted.token is None:
        chosen.practice.act(target)
    return actions.ACTIONS["selected"](chosen, begun, sent)


ACTIONS: dict[str, actions.Action] = {
    "verb": _take_verb,
    "finished_acting": _finish,
    "exercise": _begin,
    "exercise_again": _repeat,
    "played": _play,
    "solution": _show,
    "selected": _select,
}
