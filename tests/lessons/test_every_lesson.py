"""What holds for every lesson that is there, and for the list of checks that authors read."""

import re
from pathlib import Path

import pytest

from lessons.checks import list_of_checks
from lessons.grading import answer_of, given_by_mistake, grade
from lessons.library import ROOT, LoadedLesson, lesson_folders
from lessons.misconceptions import list_of_misconceptions
from lessons.schema import thread_url
from lessons.validation import needed_keys
from lessons.verification import verify
from views.text import LANGUAGES

FOLDERS = lesson_folders()
README = (ROOT / "README.md").read_text(encoding="utf-8")
SCRIPTS = {"ja": "[ぁ-ヿ一-鿿]", "zh": "[一-鿿]"}
MAX_TRACE_BYTES = 300_000

each_lesson = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)


def test_there_are_lessons_and_no_number_twice() -> None:
    numbers = [folder.name[:2] for folder in FOLDERS]
    assert "06" in numbers
    assert "10" in numbers
    assert len(set(numbers)) == len(numbers)


@each_lesson
def test_the_engine_gives_every_number_and_every_recorded_run(folder: Path) -> None:
    assert verify(folder).problems == ()


@each_lesson
def test_a_lesson_asks_something_and_names_its_source(folder: Path) -> None:
    lesson = LoadedLesson(folder).lesson
    assert lesson.predictions
    assert lesson.sources
    assert lesson.threads, "where people asked"
    assert all(
        source.file.startswith(("v1/", "platforms/", "distributed/")) for source in lesson.sources
    )
    assert all(thread_url(each).startswith("https://github.com/") for each in lesson.threads)


@each_lesson
@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_a_lesson_says_the_same_in_every_language_of_the_page(folder: Path, language: str) -> None:
    """The same texts in the same order, each with the same numbers in as many paragraphs."""
    loaded = LoadedLesson(folder)
    english, translated = loaded.words("en"), loaded.words(language)
    assert translated is not english, f"{folder.name}/{language}.md is missing"
    assert list(translated.texts) == list(english.texts)
    for key, paragraphs in english.texts.items():
        assert set(translated.placeholders(key)) >= set(english.placeholders(key)), key
        kinds = [paragraph.kind for paragraph in translated.texts[key]]
        assert kinds == [paragraph.kind for paragraph in paragraphs], key
        is_code = all(span.kind == "code" for each in paragraphs for span in each.spans)
        said = "".join(span.text for each in translated.texts[key] for span in each.spans)
        assert is_code or re.search(SCRIPTS[language], said), f"{key} is not in {language}"
    whole = (folder / f"{language}.md").read_text(encoding="utf-8")
    assert bool(re.search("[ぁ-ん]", whole)) == (language == "ja")


@each_lesson
def test_every_text_can_be_shown_with_its_numbers(folder: Path) -> None:
    loaded = LoadedLesson(folder)
    values = loaded.values()
    for name in loaded.lesson.predictions:
        answer = answer_of(loaded.lesson, name, loaded.traces)
        values |= {"answer": answer, "given": answer}
        for key in needed_keys(loaded.lesson):
            if key.startswith(f"{name}."):
                assert "{" not in loaded.words("en").plain(key, values)
    for chunk in loaded.lesson.chunks:
        assert "{" not in loaded.words("en").plain(chunk.id, values)


@each_lesson
def test_every_reason_for_a_wrong_answer_is_reached_by_an_answer(folder: Path) -> None:
    """The answer that a mistake gives gets its own sentence, not that of an earlier one."""
    loaded = LoadedLesson(folder)
    for name, prediction in loaded.lesson.predictions.items():
        for wrong in prediction.wrong:
            given = given_by_mistake(loaded.lesson, name, wrong.when, loaded.traces)
            if given is not None:
                text = grade(loaded.lesson, name, given, loaded.traces).text
                assert (given, text) == (given, f"{name}.wrong.{wrong.text}")


CLAIMS = {  # of articles and people, which no run computes
    ("waste", 60), ("waste", 80), ("blocks", 5), ("table", (6, 5, 2, 1)), ("usage", 83.3),
}  # fmt: skip


def test_only_what_somebody_claims_is_a_number_of_its_own() -> None:
    fixed = {
        (name, tuple(value) if isinstance(value, list) else value)
        for folder in FOLDERS
        for name, prediction in LoadedLesson(folder).lesson.predictions.items()
        for value in (wrong.when.get("value", 0) for wrong in prediction.wrong)
        if value != 0 and not isinstance(value, str)
    }
    assert fixed == CLAIMS


@each_lesson
def test_recorded_runs_are_small_and_belong_to_a_scenario(folder: Path) -> None:
    loaded = LoadedLesson(folder)
    wanted = {loaded.trace_path(scenario.name) for scenario in loaded.lesson.scenarios}
    found = set(folder.glob("trace*"))
    assert found == wanted
    assert sum(path.stat().st_size for path in found) < MAX_TRACE_BYTES


def test_the_readme_lists_every_check_and_every_misconception() -> None:
    assert list_of_checks().strip() in README
    assert list_of_misconceptions() in README
