"""What people ask, linked with the lessons that answer it."""

from pathlib import Path

import pytest

from lessons.errors import LessonError
from lessons.library import load_lesson
from lessons.questions import all_questions
from lessons.schema import thread_url
from views.text import LANGUAGES


def test_all_32_questions_are_answered_by_a_lesson() -> None:
    questions = all_questions()
    assert [question.number for question in questions] == list(range(1, 33))
    assert [question.number for question in questions if not question.lessons] == []


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_every_question_is_asked_and_answered_in_every_language(language: str) -> None:
    english, translated = all_questions(), all_questions(language)
    assert [each.number for each in translated] == [each.number for each in english]
    for mine, theirs in zip(translated, english, strict=True):
        assert mine.question != theirs.question
        assert mine.answer != theirs.answer


def test_question_and_lesson_name_each_other() -> None:
    for question in all_questions():
        for name in question.lessons:
            assert question.number in load_lesson(name).lesson.answers


def test_question_5_is_about_the_usage_and_lesson_12() -> None:
    question = all_questions()[4]
    assert question.question == "The usage falls to zero after my request. Is the cache gone?"
    assert question.lessons == ("12-freed-not-forgotten",)
    assert thread_url(question.threads[0]) == "https://github.com/vllm-project/vllm/issues/5176"


def write(root: Path, toml: str, words: str) -> Path:
    (root / "questions.toml").write_text(toml, encoding="utf-8")
    (root / "questions.en.md").write_text(words, encoding="utf-8")
    return root


ONE = "[[questions]]\nnumber = 1\n"


@pytest.mark.parametrize(
    ("toml", "words", "sentence"),
    [
        ("[[questions]]\nnumber = 2\n", "# Q\n", "numbered from 1 without a gap"),
        (ONE + 'threads = ["x"]\n', "# Q\n", "question 1: 'x' is no thread"),
        (ONE, "# Q\n## q1.question\nWhy?\n", "the text q1.answer is missing"),
        (
            ONE,
            "# Q\n## q1.question\nWhy?\n## q1.answer\nSo.\n## q2.answer\nNo.\n",
            "nobody shows the text q2.answer",
        ),
    ],
)
def test_what_is_wrong_is_a_sentence(tmp_path: Path, toml: str, words: str, sentence: str) -> None:
    with pytest.raises(LessonError, match=sentence):
        all_questions(root=write(tmp_path, toml, words))
