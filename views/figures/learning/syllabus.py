"""All lessons in their order, and the questions that people ask, with the lessons that answer them."""

from collections.abc import Collection, Sequence
from typing import Any

from lessons.library import LoadedLesson
from lessons.questions import Question
from lessons.schema import PARTS, thread_url
from views.figures.learning.lesson import drawn, questions
from views.text import Text


def syllabus(
    lessons: Sequence[LoadedLesson],
    done: Collection[int],
    text: Text,
    left_at: tuple[str, int] | None = None,
) -> dict[str, Any]:
    """Cards by part. Where to go on: at the text that was read last, behind a lesson's last one at
    the lesson that follows, else at the first lesson not done."""
    first = next((each.name for each in lessons if each.lesson.number not in done), None)
    first = left_at[0] if left_at else first
    parts = [
        {
            "title": text.named("learn_part", part),
            "cards": [
                _card(each, text, is_done=each.lesson.number in done, is_next=each.name == first)
                for each in lessons
                if each.lesson.part == part
            ],
        }
        for part in PARTS
    ]
    return {
        "parts": [part for part in parts if part["cards"]],
        "questions_title": text("learn.asked_title"),
        "questions": [_question(each, lessons, text) for each in questions(text.language)],
        "go": _way_on(lessons, done, left_at, first=first, text=text),
        "first": first is not None,
        "done": sum(1 << number for number in done),
        "knows_place": left_at is not None,
    }


def _way_on(
    lessons: Sequence[LoadedLesson],
    done: Collection[int],
    left_at: tuple[str, int] | None,
    *,
    first: str | None,
    text: Text,
) -> str:
    name, chunk = left_at or (first or "", 0)
    if not first or not (done or left_at):
        return text("learn.begin")
    number = next(each.lesson.number for each in lessons if each.name == name)
    key = "learn.resume_at" if chunk else "learn.resume"
    return text(key, n=number, chunk=chunk + 1)


def _card(loaded: LoadedLesson, text: Text, *, is_done: bool, is_next: bool) -> dict[str, Any]:
    words = loaded.words(text.language)
    return {
        "name": loaded.name,
        "number": loaded.lesson.number,
        "title": words.plain("title", {}),
        "goal": words.plain("goal", loaded.values()),
        "done": text("learn.done") if is_done else "",
        "is_next": is_next,
        "asks": text.count("learn.asks", len(loaded.lesson.predictions)),
    }


def _question(asked: Question, lessons: Sequence[LoadedLesson], text: Text) -> dict[str, Any]:
    """With its short answer, the lessons that show it, and where people asked."""
    return {
        "text": asked.question,
        "answer": drawn(asked.answer),
        "lessons": [
            [each.name, text("learn.in_lesson", n=each.lesson.number)]
            for each in lessons
            if each.name in asked.lessons
        ],
        "threads": [[reference, thread_url(reference)] for reference in asked.threads],
    }
