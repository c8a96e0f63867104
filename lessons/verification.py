"""Everything that a lesson says, tried on the engine: what `python -m lessons check` finds."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from engine.errors import PagewalkError
from engine.trace.events import RequestAdded
from engine.trace.trace import Trace
from lessons.checks import Value, parse_check
from lessons.errors import FactError
from lessons.grading import answer_of, choices_of, given_by_mistake, grade
from lessons.later import without_badge
from lessons.library import LANGUAGE, LoadedLesson, first_difference
from lessons.recorded_words import counts_or_letters
from lessons.scenario import needs_model, run_script, whole_scenario
from lessons.schema import Scenario
from lessons.text import Words
from lessons.validation import needed_keys


class Report(NamedTuple):
    """One line of the table, and one sentence for each thing that is wrong."""

    name: str
    num_scenarios: int
    num_steps: int
    num_values: int
    num_expected: int
    num_predictions: int
    problems: tuple[str, ...]


def verify(folder: Path) -> Report:
    """Never raises for what the lesson's files hold."""
    try:
        loaded = LoadedLesson(folder)
        traces = loaded.traces
    except PagewalkError as error:
        return Report(folder.name, 0, 0, 0, 0, 0, (str(error),))
    lesson = loaded.lesson
    problems = [
        *_runs(loaded),
        *_values(loaded),
        *_chunks(loaded),
        *_predictions(loaded),
        *_words(loaded),
        *_later(loaded),
    ]
    return Report(
        loaded.name,
        len(lesson.scenarios),
        sum(trace.num_steps for trace in traces.values()),
        len(lesson.values),
        len(lesson.expected),
        len(lesson.predictions),
        tuple(f"{loaded.name}: {problem}" for problem in problems),
    )


def _runs(loaded: LoadedLesson) -> Iterator[str]:
    """Every scripted scenario runs as it was recorded; a model's run is only looked at."""
    for scenario in loaded.lesson.scenarios:
        whole = whole_scenario(loaded.lesson, scenario.name)
        if needs_model(whole):
            yield from _model_run(loaded, whole)
            continue
        try:
            fresh = run_script(loaded.script(scenario.name))
        except PagewalkError as error:
            yield f"scenario {scenario.name}: {error}"
            continue
        difference = first_difference(loaded.traces[scenario.name], fresh)
        if difference is not None:
            path = loaded.trace_path(scenario.name).name
            yield (
                f"{path}: the engine does something else now ({difference}): "
                f"run python -m lessons record {loaded.name} and look at what changed"
            )


def _model_run(loaded: LoadedLesson, scenario: Scenario) -> Iterator[str]:
    """Whether the recorded run was given the settings and the prompts that stand in the file."""
    trace = loaded.traces[scenario.name]
    config = msgspec.json.decode(msgspec.json.encode(scenario.config))
    changed = [name for name, value in config.items() if trace.header.config.get(name) != value]
    added = [e.prompt_text for e in trace.events_from(0) if isinstance(e, RequestAdded)]
    if changed or added != [prompt.text for prompt in scenario.prompts]:
        what = ", ".join(changed) or "the prompts"
        yield (
            f"{loaded.trace_path(scenario.name).name}: {what} changed since it was recorded: "
            f"run python -m lessons record --model {loaded.name}"
        )


def _values(loaded: LoadedLesson) -> Iterator[str]:
    """Every number can be computed, and is what the syllabus says it is."""
    for name in loaded.lesson.values:
        try:
            found = loaded.value(name)
        except PagewalkError as error:
            yield f"values.{name}: {error}"
            continue
        if name in loaded.lesson.expected:
            expected = _as_tuple(loaded.lesson.expected[name])
            if not _equal(found, expected):
                yield f"values.{name}: {expected} is expected, and the engine gives {found}"


def _as_tuple(value: Value) -> Value:
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value


def _equal(found: Value, expected: Value) -> bool:
    if isinstance(expected, float) and isinstance(found, float):
        return math.isclose(found, expected, abs_tol=1e-9)
    return bool(found == expected) and isinstance(found, bool) == isinstance(expected, bool)


def _chunks(loaded: LoadedLesson) -> Iterator[str]:
    for chunk in loaded.lesson.chunks:
        try:
            trace = loaded.traces[loaded.lesson.scenario_of_chunk(chunk)]
            at = trace.position(loaded.cursor(chunk))
            if chunk.play_from is not None:
                start = trace.position(loaded.place(chunk, chunk.play_from))
                if start > at:
                    yield f"chunk {chunk.id}: play_from lies behind at"
            if chunk.select:
                yield from _selection(loaded, trace, chunk.id, loaded.selection(chunk))
            if chunk.predict is not None:
                reveal = loaded.lesson.predictions[chunk.predict].reveal
                if reveal and trace.position(loaded.place(chunk, reveal)) < at:
                    yield f"predictions.{chunk.predict}.reveal lies before its question"
        except PagewalkError as error:
            yield f"chunk {chunk.id}: {error}"


def _selection(
    loaded: LoadedLesson, trace: Trace, chunk_id: str, chosen: dict[str, Value]
) -> Iterator[str]:
    chunk = next(each for each in loaded.lesson.chunks if each.id == chunk_id)
    state = trace.at(loaded.cursor(chunk))
    if not chosen:
        yield f"chunk {chunk_id}: select: the block carries no hash there"
    block, request = chosen.get("block"), chosen.get("request")
    if block is not None and not 0 <= block < state.num_blocks:
        yield f"chunk {chunk_id}: select: the pool has no block {block}"
    if request is not None and request not in state.requests:
        yield f"chunk {chunk_id}: select: there is no request {request} at that place"


def _predictions(loaded: LoadedLesson) -> Iterator[str]:
    """Each can be answered, its answer is graded as right, and no wrong answer is the right one."""
    lesson, traces = loaded.lesson, loaded.traces
    for name, prediction in lesson.predictions.items():
        where = f"predictions.{name}"
        try:
            answer = answer_of(lesson, name, traces)
            if not grade(lesson, name, answer, traces).is_right:
                yield f"{where}: the engine's own answer {answer} is graded as wrong"
            if prediction.kind in ("order", "choice"):
                choices_of(lesson, name, traces)
            yield from _kind(loaded, name, answer)
            for index, wrong in enumerate(prediction.wrong):
                given = given_by_mistake(lesson, name, wrong.when, traces)
                if given is not None and grade(lesson, name, given, traces).is_right:
                    yield f"{where}.wrong[{index}] ({wrong.text}) is the right answer: {given}"
        except PagewalkError as error:
            yield f"{where}: {error}"


def _kind(loaded: LoadedLesson, name: str, answer: Value) -> Iterator[str]:
    prediction = loaded.lesson.predictions[name]
    is_number = isinstance(answer, int | float) and not isinstance(answer, bool)
    fits = {
        "block": is_number,
        "number": is_number,
        "order": isinstance(answer, tuple) and len(answer) > 1,
        "choice": True,
    }
    if not fits[prediction.kind]:
        yield f"predictions.{name}: the answer {answer!r} is no {prediction.kind}"


def _words(loaded: LoadedLesson) -> Iterator[str]:
    """Every text of every language with its numbers in it."""
    try:
        values = loaded.values()
    except PagewalkError:
        return  # told already, with the value's name
    for key in loaded.lesson.any_run:
        if not counts_or_letters(loaded.words(LANGUAGE), key):
            yield f"any_run: {key} names neither a count nor a letter: leave it out"
    for language in loaded.languages:
        words = loaded.words(language)
        for key in dict.fromkeys(needed_keys(loaded.lesson)):
            yield from _fill(loaded, words, key, values)


def _fill(loaded: LoadedLesson, words: Words, key: str, values: dict[str, Value]) -> Iterator[str]:
    asked_name = key.split(".")[0]
    graded = {}
    if asked_name in loaded.lesson.predictions:
        try:
            answer = answer_of(loaded.lesson, asked_name, loaded.traces)
        except FactError:
            return
        graded = {"answer": answer, "given": answer}
    try:
        words.filled(key, {**values, **graded})
    except (ValueError, TypeError) as error:
        yield f"{words.place}: {key}: a form does not fit its value ({error})"


def _later(loaded: LoadedLesson) -> Iterator[str]:
    """A lesson that cannot be run is told already."""
    try:
        yield from without_badge(loaded)
    except PagewalkError:
        return


def values_of(loaded: LoadedLesson) -> Iterator[tuple[str, Value]]:
    """Every number of a lesson by name, with the answers of its questions."""
    for name, call in loaded.lesson.values.items():
        check = parse_check(call, loaded.lesson.scenarios[0].name, name)
        yield name, check.of(loaded.traces)
    for name in loaded.lesson.predictions:
        yield f"answer of {name}", answer_of(loaded.lesson, name, loaded.traces)
