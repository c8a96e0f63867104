"""What a lesson's reader typed, as a number or into the form "run it live", and what their own run
makes of it."""

import re
from collections.abc import Collection, Mapping
from typing import Any

from engine.errors import ConfigError, PagewalkError
from engine.trace.trace import Trace
from lessons.changed import SETTINGS, Change
from lessons.errors import FactError
from lessons.grading import Grade, answer_of, grade
from lessons.library import LoadedLesson
from lessons.schema import Lesson
from views.drafts import whole_number
from views.text import Text, quoted


def read_change(sent: Any, text: Text) -> Change:
    """What stands in the form. ConfigError where a setting is no whole number."""
    fields = sent if isinstance(sent, dict) else {}
    settings = {
        name: whole_number(name, str(given), text)
        for name, given in dict(fields.get("settings", {})).items()
        if name in SETTINGS
    }
    prompts, outputs = (
        {str(id_): str(given) for id_, given in dict(fields.get(name, {})).items()}
        for name in ("prompts", "outputs")
    )
    return Change(settings, prompts, outputs)


def answered_number(given: str, text: Text) -> float:
    """33.0, 33,0 or 33 %. A comma before three digits may be one of thousands and is none here."""
    digits = given.strip().rstrip("%").strip()
    if re.fullmatch(r"[+-]?\d+,(\d{1,2}|\d{4,})", digits):
        digits = digits.replace(",", ".")
    try:
        return float(digits)
    except ValueError as error:
        raise ConfigError(text("learn.not_number", given=quoted(given.strip()))) from error


def without_answer(
    loaded: LoadedLesson, traces: Mapping[str, Trace], own: Collection[str]
) -> set[str]:
    """Questions that these runs do not answer, of which `own` are changed ones: what is asked about
    never happens, or the moment never comes at which it is asked."""
    found = set()
    for chunk in loaded.lesson.chunks:
        name = chunk.predict
        if name is None or loaded.lesson.scenario_of_prediction(name) not in own:
            continue
        try:
            loaded.place(chunk, chunk.at, traces)
            answer_of(loaded.lesson, name, traces)
        except FactError:
            found.add(name)
    return found


def graded_anew(
    lesson: Lesson,
    answers: Mapping[str, Grade | str],
    traces: Mapping[str, Trace],
    own: Collection[str],
) -> dict[str, Grade | str]:
    """The same answers, held against these runs, of which `own` are changed ones. An answer to what
    a run does not hold goes, and the question is open again."""
    found: dict[str, Grade | str] = {}
    for name, before in answers.items():
        if not isinstance(before, Grade):
            found[name] = before
            continue
        is_own = lesson.scenario_of_prediction(name) in own
        try:
            found[name] = grade(lesson, name, before.given, traces, is_changed=is_own)
        except PagewalkError:
            continue
    return found
