"""What later versions do otherwise, computed: no lesson that it touches is without its badge."""

import shutil
from pathlib import Path

import pytest

from lessons.errors import LessonError
from lessons.later import SETTINGS, changed_numbers, later_traces, without_badge
from lessons.library import ROOT, LoadedLesson, lesson_folders, load_lesson
from lessons.verification import verify

OF_42656 = {"01", "02", "08", "10", "12", "13", "14", "16", "19", "21", "22"}
OF_48860 = {"15", "18", "20"}


@pytest.mark.parametrize(
    ("setting", "numbers"),
    [("reuse_unhashed_first", OF_42656), ("count_lookups_once", OF_48860)],
)
def test_these_lessons_show_other_numbers_in_later_versions_and_each_says_so(setting, numbers):
    touched = {}
    for folder in lesson_folders():
        loaded = LoadedLesson(folder)
        if changed_numbers(loaded, setting):
            touched[folder.name[:2]] = [badge.change for badge in loaded.lesson.badges]
    assert touched.keys() == numbers
    assert all(SETTINGS[setting] in changes for changes in touched.values())


def test_three_answers_of_lesson_2_change_with_the_order_of_the_queue():
    changed = changed_numbers(load_lesson("2"), "reuse_unhashed_first")
    assert [name for name in changed if name.startswith("the answer of")] == [
        "the answer of block_of_j",
        "the answer of docs_block",
        "the answer of docs_slot",
    ]


def test_the_numbers_that_lesson_15_gives_for_later_versions_are_theirs():
    loaded = load_lesson("15")
    later = later_traces(loaded, "count_lookups_once")
    then = [loaded.value(name, later) for name in ("preempted_queries", "preempted_hits")]
    assert then == [loaded.value("later_queries"), loaded.value("later_hits")] == [13, 8]


def copied(tmp_path: Path) -> Path:
    return Path(
        shutil.copytree(ROOT / "12-freed-not-forgotten", tmp_path / "12-freed-not-forgotten")
    )


def test_a_lesson_without_its_badge_is_told_which_one_is_missing(tmp_path):
    folder = copied(tmp_path)
    path = folder / "lesson.toml"
    content = path.read_text(encoding="utf-8")
    begin = content.index("[[badges]]")
    path.write_text(content[:begin] + content[content.index("[[sources]]") :], encoding="utf-8")
    for words in folder.glob("??.md"):  # its text in every language
        prose = words.read_text(encoding="utf-8")
        words.write_text(prose[: prose.index("## badge.")], encoding="utf-8")
    (problem,) = verify(folder).problems
    assert problem == (
        "12-freed-not-forgotten: vllm#42656 (reuse_unhashed_first) changes queue_before, "
        "queue_after: write a badge that says so, with change = 'vllm#42656'"
    )


def test_a_lesson_with_its_badge_is_told_nothing():
    assert list(without_badge(load_lesson("12"))) == []


@pytest.mark.parametrize("since", ['since = "lately"', 'since = "by May"', ""])
def test_a_badge_says_since_when(tmp_path, since):
    folder = copied(tmp_path)
    path = folder / "lesson.toml"
    content = path.read_text(encoding="utf-8")
    path.write_text(content.replace('since = "2026-05"', since), encoding="utf-8")
    with pytest.raises(LessonError, match="since"):
        LoadedLesson(folder)
