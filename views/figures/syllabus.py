"""All lessons in their order, and the questions that people ask, with the lessons that answer them."""

from collections.abc import Collection, Sequence
from typing import Any

from lessons.library import LoadedLesson
from lessons.schema import PARTS
from views.text import Text

NUM_QUESTIONS = 32


def syllabus(lessons: Sequence[LoadedLesson], done: Collection[int], text: Text) -> dict[str, Any]:
    """Cards by part; the first that is not done is where to go on."""
    first = next((each.name for each in lessons if each.lesson.number not in done), None)
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
        "questions": [
            row for n in range(1, NUM_QUESTIONS + 1) if (row := _question(n, lessons, text))
        ],
        "go": text("learn.begin" if not done else "learn.resume"),
        "first": first,
    }


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


def _question(number: int, lessons: Sequence[LoadedLesson], text: Text) -> dict[str, Any] | None:
    """A question that some lesson answers; the others are not shown."""
    answered_by = [each for each in lessons if number in each.lesson.answers]
    if not answered_by:
        return None
    return {
        "text": text.named("asked", str(number)),
        "lessons": [
            [each.name, text("learn.in_lesson", n=each.lesson.number)] for each in answered_by
        ],
    }
