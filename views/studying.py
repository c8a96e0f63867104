"""What a reader of lessons asks for: open one, turn a text, answer, skip, look at a later version."""

import functools
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.config import EngineConfig
from engine.errors import PagewalkError
from lessons.errors import LessonError
from lessons.grading import Grade, grade
from lessons.library import LoadedLesson, lesson_folders
from views import actions, own_runs
from views.choices import Choices
from views.figures.selection import Selection
from views.runs import Run
from views.study import SKIPPED, Study
from views.text import Text, quoted

log = logging.getLogger("pagewalk")
MAX_DIGITS = 8  # of the progress in a link


@functools.cache
def syllabus() -> tuple[LoadedLesson, ...]:
    """All lessons, shared by everybody: nothing of them changes. One that does not hold together
    is left out, and the log says why; `python -m lessons check` fails with it."""
    return tuple(filter(None, map(_load, lesson_folders())))


def _load(folder: Path) -> LoadedLesson | None:
    try:
        return LoadedLesson(folder)
    except LessonError as error:
        log.error("a lesson is left out: %s", error)
        return None


def find(name: str) -> LoadedLesson | None:
    """By its folder's name, or by its number."""
    for loaded in syllabus():
        if name == loaded.name or name == str(loaded.lesson.number):
            return loaded
    return None


def after(loaded: LoadedLesson) -> LoadedLesson | None:
    """The lesson that follows."""
    later = [each for each in syllabus() if each.lesson.number > loaded.lesson.number]
    return later[0] if later else None


# The link -----------------------------------------------------------------------------------------


def link(chosen: Choices) -> dict[str, str]:
    """What brings a reader back: the lesson, the text, and which lessons are done."""
    names = {"done": done_code(chosen.done)} if chosen.done else {}
    if chosen.study is None:
        return names
    return {"lesson": chosen.study.loaded.name, "chunk": str(chosen.study.chunk + 1), **names}


def done_code(done: Sequence[int] | set[int]) -> str:
    """A set of lesson numbers as a hexadecimal number: bit n stands for lesson n."""
    return f"{sum(1 << number for number in set(done)):x}"


def read_done(code: str) -> set[int]:
    """Nothing where the code is none; a stranger's link does no harm."""
    try:
        bits = int(code[:MAX_DIGITS], 16) if code.isalnum() and code.isascii() else 0
    except ValueError:
        return set()
    return {each.lesson.number for each in syllabus() if bits >> each.lesson.number & 1}


def read_link(chosen: Choices, params: Mapping[str, str]) -> None:
    """Open what the address says. A lesson or a text that is not there gets a sentence."""
    text = Text(chosen.language)
    chosen.done |= read_done(params.get("done", ""))
    name = params.get("lesson")
    if name is None:
        return
    loaded = find(name)
    if loaded is None:
        chosen.say_also(text("learn.no_lesson", given=quoted(name)))
        return
    chosen.study = Study(loaded, recalls=True)
    given, last = params.get("chunk", "1"), len(loaded.lesson.chunks)
    is_there = (
        len(given) < MAX_DIGITS
        and given.isascii()
        and given.isdecimal()
        and 1 <= int(given) <= last
    )
    _turn_to(chosen, int(given) - 1 if is_there else 0)
    if not is_there:
        chosen.say_also(text("learn.no_chunk", given=quoted(given), last=last))


# What the stage shows -----------------------------------------------------------------------------


def show(chosen: Choices) -> Run | None:
    """The run as far as its reader may see it, with the cursor inside of it."""
    if chosen.study is None:
        return None
    trace = chosen.study.visible
    if chosen.run is None or chosen.run.trace is not trace:
        chosen.run = Run(trace, EngineConfig.from_mapping(trace.header.config))
        chosen.cursor = trace.clamp(min(chosen.cursor, trace.last))
    chosen.run.link = link(chosen)
    return chosen.run


def _turn_to(chosen: Choices, chunk: int) -> None:
    study = chosen.study
    assert study is not None
    chosen.cursor = study.turn(chunk)
    if study.is_over:
        chosen.done.add(study.loaded.lesson.number)
        return
    chosen.selection = Selection.from_browser(study.selection)
    chosen.lens = study.here.lens or chosen.lens
    chosen.notices.clear()
    show(chosen)


# Actions ------------------------------------------------------------------------------------------


def open_lesson(chosen: Choices, loaded: LoadedLesson) -> None:
    """From its first text on; whatever was read before is left."""
    chosen.study, chosen.run = Study(loaded), None
    chosen.address_is_read = True
    _turn_to(chosen, 0)


def first_not_done(chosen: Choices) -> LoadedLesson:
    """Where to go on; the first lesson again for whoever has read them all."""
    lessons = syllabus()
    return next((each for each in lessons if each.lesson.number not in chosen.done), lessons[0])


def _open(chosen: Choices, _: Run | None, name: Any) -> bool:
    loaded = find(str(name))
    if loaded is not None:
        open_lesson(chosen, loaded)
    return True


def _remember(chosen: Choices, _: Run | None, sent: Any) -> bool:
    """What the browser kept of the lessons: which are done, and where its reader left off."""
    kept = sent if isinstance(sent, dict) else {}
    chosen.done |= read_done(str(kept.get("done", "")))
    loaded, chunk = find(str(kept.get("lesson"))), kept.get("chunk")
    if loaded is not None and isinstance(chunk, int):
        chosen.left_at = _place_after(chosen, loaded, chunk)
    return True


def _place_after(chosen: Choices, loaded: LoadedLesson, chunk: int) -> tuple[str, int]:
    """Where a reader goes on who was at this text; behind the last one, at the lesson that follows
    and is not done."""
    if 0 <= chunk < len(loaded.lesson.chunks):
        return loaded.name, chunk
    done = chosen.done | {loaded.lesson.number}
    later = (each for each in syllabus() if each.lesson.number > loaded.lesson.number)
    following = next((each for each in later if each.lesson.number not in done), None)
    return (following or first_not_done(chosen)).name, 0


def _resume(chosen: Choices, _: Run | None, __: Any) -> bool:
    """At the text that was read last, with the answers that were given before it."""
    name, chunk = chosen.left_at or (first_not_done(chosen).name, 0)
    loaded = find(name)
    if loaded is not None:
        open_lesson(chosen, loaded)
        assert chosen.study is not None
        chosen.study.recalls = chunk > 0
        _turn_to(chosen, chunk)
    return True


def _recall(chosen: Choices, _: Run | None, sent: Any) -> bool:
    """Answers that the browser kept are graded anew; the engine has the last word."""
    study = chosen.study
    if study is None or not study.recalls:
        return False
    study.recalls = False
    for name, given in dict(sent if isinstance(sent, dict) else {}).items():
        if name in study.loaded.lesson.predictions and name not in study.answers:
            found = _graded(study, name, given)
            if found is not None:
                study.answers[name] = found
    return False


def _graded(study: Study, name: str, given: Any) -> Grade | str | None:
    """None for what cannot have been an answer."""
    if given is None:
        return SKIPPED
    is_order = isinstance(given, list) and all(isinstance(each, int) for each in given)
    if not is_order and not isinstance(given, int | float | str):
        return None
    try:
        lesson, is_own = study.loaded.lesson, study.scenario_of(name) in study.own
        return grade(lesson, name, given, study.traces, is_changed=is_own)
    except PagewalkError:
        return None


def _leave(chosen: Choices, _: Run | None, __: Any) -> bool:
    study = chosen.study
    if study is not None:
        chosen.left_at = _place_after(chosen, study.loaded, study.chunk + study.is_over)
    chosen.study, chosen.run = None, None
    return True


def _turn(chosen: Choices, _: Run | None, chunk: Any) -> bool:
    """Forward past an open question only by answering or skipping it."""
    study = chosen.study
    if study is not None and isinstance(chunk, int) and 0 <= chunk <= reach(study):
        _turn_to(chosen, chunk)
    return False


def reach(study: Study) -> int:
    """The last text that may be turned to: the one that asks, or the end."""
    for index, chunk in enumerate(study.loaded.lesson.chunks):
        if index >= study.chunk and study.waits_for(chunk.predict):
            return index
    return len(study.loaded.lesson.chunks)


def _answer(chosen: Choices, _: Run | None, given: Any) -> bool:
    if chosen.study is not None:
        chosen.study.answer(given, Text(chosen.language))
    return False


def _skip(chosen: Choices, _: Run | None, __: Any) -> bool:
    if chosen.study is not None:
        chosen.study.skip()
    return False


def _pick(chosen: Choices, _: Run | None, block_id: Any) -> bool:
    if chosen.study is not None and isinstance(block_id, int):
        chosen.study.pick(block_id)
    return False


def _select(chosen: Choices, begun: Run | None, sent: Any) -> bool:
    """A click on a block is also an answer, where blocks are asked for."""
    block_id = Selection.from_browser(sent).block_id
    if chosen.study is not None and block_id is not None:
        chosen.study.pick(block_id)
    return actions.ACTIONS["selected"](chosen, begun, sent)


def _look_later(chosen: Choices, _: Run | None, badge: Any) -> bool:
    """Switch between 0.17.1 and what it became."""
    if chosen.study is not None:
        chosen.study.variants ^= {str(badge)}
        chosen.cursor = chosen.study.place(chosen.study.here.at)
    return False


ACTIONS: dict[str, actions.Action] = {
    "lesson": _open,
    "left_lesson": _leave,
    "remembered": _remember,
    "resumed": _resume,
    "recalled": _recall,
    "turned": _turn,
    "answered": _answer,
    "skipped": _skip,
    "picked": _pick,
    "selected": _select,
    "later": _look_later,
    **own_runs.ACTIONS,
}
