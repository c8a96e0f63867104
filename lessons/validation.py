"""Whether a lesson holds together: every name it uses exists, every text it needs is there.

The schema has looked at the shape of lesson.toml; here its parts are compared with each other.
"""

import difflib
import itertools
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from engine.config import EngineConfig
from engine.errors import ConfigError
from lessons.checks import parse_check
from lessons.errors import LessonError
from lessons.grading import check_wrong
from lessons.places import why_not_a_place
from lessons.scenario import needs_model, script_of, whole_scenario
from lessons.schema import FILE_NAME, Chunk, Lesson, Prediction, Scenario, check_thread
from lessons.text import FORMS, TITLE, Words

FOLDER = re.compile(r"(\d\d)-[a-z0-9-]+")
SELECTABLE = ({"block"}, {"hash_of"}, {"request"}, {"request", "token"})
GRADED = ("given", "answer")  # in the sentences after an answer


def check_lesson(lesson: Lesson, folder: Path) -> None:
    """LessonError at the first thing that does not fit."""
    place = f"{folder.name}/{FILE_NAME}"
    _check_folder(lesson, folder, place)
    _check_scenarios(lesson, folder, place)
    for index, chunk in enumerate(lesson.chunks):
        _check_chunk(lesson, chunk, f"{place}: chunks[{index}] ({chunk.id})")
    _unique([chunk.id for chunk in lesson.chunks], f"{place}: chunks")
    _check_predictions(lesson, place)
    first = lesson.scenarios[0].name
    for name, call in lesson.values.items():
        check = parse_check(call, first, f"{place}: values.{name}")
        _known(check.scenario, _names(lesson), f"{place}: values.{name}.scenario")
    for name in lesson.expected:
        _known(name, lesson.values, f"{place}: expected")
    _check_badges(lesson, place)
    keys = set(needed_keys(lesson))
    for key in lesson.any_run:
        _known(key, keys, f"{place}: any_run")


def _check_folder(lesson: Lesson, folder: Path, place: str) -> None:
    found = FOLDER.fullmatch(folder.name)
    if found is None or int(found[1]) != lesson.number:
        raise LessonError(
            f"{place}: number = {lesson.number}, so the folder's name is "
            f"{lesson.number:02d}- and small letters, not {folder.name}"
        )


def _names(lesson: Lesson) -> list[str]:
    return [scenario.name for scenario in lesson.scenarios]


def _check_scenarios(lesson: Lesson, folder: Path, place: str) -> None:
    if not lesson.scenarios:
        raise LessonError(f"{place}: scenarios: a lesson needs at least one")
    _unique(_names(lesson), f"{place}: scenarios")
    for index, scenario in enumerate(lesson.scenarios):
        where = f"{place}: scenarios[{index}] ({scenario.name})"
        if scenario.same_as is not None:
            _known(scenario.same_as, _names(lesson)[:index], f"{where}.same_as")
        whole = whole_scenario(lesson, scenario.name)
        ways = [whole.requests, whole.workload, whole.prompts]
        if sum(map(bool, ways)) != 1:
            raise LessonError(f"{where}: give it either requests, or workload, or prompts")
        if not needs_model(whole):
            script_of(lesson, scenario.name, folder)
            continue
        _check_prompts(whole, where)
        try:
            EngineConfig.from_mapping(whole.config)
        except ConfigError as error:
            raise LessonError(f"{where}: {error}") from error


def _check_prompts(scenario: Scenario, where: str) -> None:
    """A chat goes on behind the turn that it continues."""
    for place, prompt in enumerate(scenario.prompts):
        if prompt.continues is None:
            continue
        earlier = [f"r{n}" for n in range(place)]
        _known(prompt.continues, earlier, f"{where}.prompts[{place}].continues")
        modes = {prompt.mode, scenario.prompts[int(prompt.continues[1:])].mode}
        if modes != {"chat"}:
            raise LessonError(f"{where}.prompts[{place}].continues: both are to be in mode chat")


def _check_chunk(lesson: Lesson, chunk: Chunk, where: str) -> None:
    if chunk.scenario is not None:
        _known(chunk.scenario, _names(lesson), f"{where}.scenario")
    for name, text in (("at", chunk.at), ("play_from", chunk.play_from)):
        if text is not None and (problem := why_not_a_place(text)):
            raise LessonError(f"{where}.{name}: {problem}")
    if chunk.predict is not None:
        _known(chunk.predict, lesson.predictions, f"{where}.predict")
    if chunk.numbers and chunk.predict is not None:
        raise LessonError(f"{where}.numbers: their hints would answer its question: leave them out")
    for bar in chunk.bars:
        for value in (bar.part, bar.whole):
            _known(value, lesson.values, f"{where}.bars ({bar.label})")
    if not chunk.select:
        return
    if set(chunk.select) not in SELECTABLE:
        raise LessonError(
            f"{where}.select: write {{block = 3}}, {{hash_of = 3}}, {{request = 'r0'}} or "
            f"{{request = 'r0', token = 9}}"
        )
    for name in ("block", "hash_of", "token"):
        given = chunk.select.get(name)
        if isinstance(given, str):
            _known(given, lesson.values, f"{where}.select.{name}")


def _check_predictions(lesson: Lesson, place: str) -> None:
    if not lesson.predictions:
        raise LessonError(f"{place}: predictions: a lesson asks at least one question")
    asked = [chunk.predict for chunk in lesson.chunks if chunk.predict is not None]
    _unique(asked, f"{place}: chunks.predict")
    for name, prediction in lesson.predictions.items():
        where = f"{place}: predictions.{name}"
        if name not in asked:
            raise LessonError(f'{where}: no chunk asks it: write predict = "{name}" in one')
        _check_prediction(lesson, name, prediction, where)
        _check_clickable(lesson, name, where)


def _check_clickable(lesson: Lesson, name: str, where: str) -> None:
    """Whoever shall click a block must see the pool."""
    prediction = lesson.predictions[name]
    if prediction.kind not in ("block", "order") or prediction.among is not None:
        return
    chunk = next(each for each in lesson.chunks if each.predict == name)
    if "pool" in (*prediction.covers, *chunk.hides):
        raise LessonError(f"{where}: it is answered in the pool, which must be seen meanwhile")


def _check_prediction(lesson: Lesson, name: str, prediction: Prediction, where: str) -> None:
    scenario = lesson.scenario_of_prediction(name)
    _known(scenario, _names(lesson), f"{where}.scenario")
    answer = parse_check(prediction.answer, scenario, f"{where}.answer")
    _known(answer.scenario, _names(lesson), f"{where}.answer.scenario")
    if (prediction.kind == "choice") != bool(prediction.options):
        raise LessonError(f"{where}: options belong to the kind choice, and it needs some")
    if prediction.among is not None:
        parse_check(prediction.among, scenario, f"{where}.among")
    if prediction.reveal is not None and (problem := why_not_a_place(prediction.reveal)):
        raise LessonError(f"{where}.reveal: {problem}")
    for index, wrong in enumerate(prediction.wrong):
        check_wrong(lesson, wrong, scenario, f"{where}.wrong[{index}]")


def _check_badges(lesson: Lesson, place: str) -> None:
    for index, badge in enumerate(lesson.badges):
        where = f"{place}: badges[{index}] ({badge.id})"
        if not re.fullmatch(r"(by )?\d{4}-\d\d", badge.since):
            raise LessonError(f"{where}.since: write year and month, such as 2026-05 or by 2026-09")
        _known(badge.told_from, [chunk.id for chunk in lesson.chunks], f"{where}.told_from")
        for scenario in itertools.chain.from_iterable(badge.later.items()):
            _known(scenario, _names(lesson), where)
    for reference in (*lesson.threads, *(badge.change for badge in lesson.badges)):
        check_thread(reference, place)


def _unique(names: list[str], where: str) -> None:
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise LessonError(f"{where}: {double} stands there twice")


def _known(name: str, names: Collection[str], where: str) -> None:
    if name not in names:
        close = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(names) or 'none'}"
        raise LessonError(f"{where}: {name} does not exist: {hint}")


# Words -----------------------------------------------------------------------------------------


def needed_keys(lesson: Lesson) -> Iterator[str]:
    """Every text that a language must have, in the order of the file that `new` writes."""
    yield TITLE
    yield "goal"
    if len(lesson.scenarios) > 1:
        yield from (f"scenario.{scenario.name}" for scenario in lesson.scenarios)
    for chunk in lesson.chunks:
        yield chunk.id
        if chunk.predict is not None:
            yield from _keys_of_prediction(chunk.predict, lesson.predictions[chunk.predict])
    for badge in lesson.badges:
        yield from (f"badge.{badge.id}.what", f"badge.{badge.id}")


def _keys_of_prediction(name: str, prediction: Prediction) -> Iterator[str]:
    yield f"{name}.question"
    yield from (f"{name}.option.{option}" for option in prediction.options)
    yield f"{name}.right"
    yield from dict.fromkeys(f"{name}.wrong.{wrong.text}" for wrong in prediction.wrong)
    yield f"{name}.wrong"


def check_words(lesson: Lesson, words: Words) -> None:
    """LessonError for a missing text, one that nobody shows, or a value that does not exist."""
    needed = list(dict.fromkeys(needed_keys(lesson)))
    for key in needed:
        if not words.texts.get(key):
            what = "is empty" if key in words.texts else f"is missing: write '## {key}' and a text"
            raise LessonError(f"{words.place}: the text {key} {what}")
    for key, line in words.lines.items():
        where = f"{words.place}:{line}"
        if key not in needed:
            close = difflib.get_close_matches(key, set(needed) - words.texts.keys() or needed, n=1)
            hint = f": did you mean {close[0]}?" if close else ""
            raise LessonError(f"{where}: nobody shows the text {key}{hint}")
        for name, form in words.placeholders(key):
            _check_placeholder(lesson, key, name, f"{where}: {key}")
            if form not in FORMS:
                raise LessonError(f"{where}: {{{name}:{form}}}: the forms are {', '.join(FORMS)}")


def _check_placeholder(lesson: Lesson, key: str, name: str, where: str) -> None:
    is_grade = any(
        key.startswith((f"{asked}.right", f"{asked}.wrong")) for asked in lesson.predictions
    )
    if name not in lesson.values and not (is_grade and name in GRADED):
        close = difflib.get_close_matches(name, lesson.values, n=1)
        hint = f"did you mean {close[0]}?" if close else "add it to [values] of lesson.toml"
        raise LessonError(f"{where}: the value {{{name}}} does not exist: {hint}")
