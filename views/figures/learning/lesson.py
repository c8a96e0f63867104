"""A lesson's text and its open question, as the component `lesson` draws them."""

import functools
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from lessons.grading import Grade
from lessons.library import LoadedLesson
from lessons.questions import Question, all_questions
from lessons.schema import Badge, Chunk, Prediction, thread_url
from lessons.text import Paragraph, Paragraphs, Span, Words, shown
from views.text import Text

SOURCE_URL = "https://github.com/vllm-project/vllm/blob/v0.17.1/vllm/"
Value = Any
Values = Mapping[str, Value]


@functools.cache
def questions(language: str) -> tuple[Question, ...]:
    """Read once: nothing of them changes."""
    return all_questions(language)


def asked(number: int, language: str) -> Question:
    """They are numbered from 1."""
    return questions(language)[number - 1]


def drawn(paragraphs: Paragraphs) -> list[dict[str, Any]]:
    """Kinds and texts, never markup."""
    return [
        {"kind": kind, "spans": [[span.kind, span.text] for span in spans]}
        for kind, spans in paragraphs
    ]


def lesson_head(loaded: LoadedLesson, words: Words, text: Text) -> dict[str, Any]:
    """What stands over every text of a lesson."""
    lesson = loaded.lesson
    return {
        "number": text("learn.number", n=lesson.number),
        "title": words.plain("title", {}),
        "goal": drawn(words.filled("goal", loaded.values())),
    }


def progress(loaded: LoadedLesson, chunk: int, answers: Mapping[str, Grade | str]) -> list[str]:
    """One mark for each text: where one is, what was answered rightly or wrongly."""
    marks = []
    for index, each in enumerate(loaded.lesson.chunks):
        found = answers.get(each.predict) if each.predict else None
        kind = "asks" if each.predict else "text"
        if isinstance(found, Grade):
            kind = "right" if found.is_right else "wrong"
        elif found is not None:
            kind = "skipped"
        marks.append(f"{kind} here" if index == chunk else kind)
    return marks


def bars(chunk: Chunk, values: Values, text: Text) -> list[dict[str, Any]]:
    """Rows that are filled in part, all to one scale: widths are shares of the longest."""
    longest = max((values[bar.whole] for bar in chunk.bars), default=1)
    return [
        {
            "label": bar.label,
            "part": values[bar.part] / longest,
            "whole": values[bar.whole] / longest,
            "words": text("learn.bar", part=values[bar.part], whole=values[bar.whole]),
        }
        for bar in chunk.bars
    ]


class Asked(NamedTuple):
    """An open question and what its reader has done about it so far."""

    name: str
    prediction: Prediction
    picks: list[int]
    options: tuple[Value, ...]
    typed: str
    complaint: str


def open_question(asked: Asked, words: Words, values: Values, text: Text) -> dict[str, Any]:
    """The card that takes the place of the step button."""
    name, prediction = asked.name, asked.prediction
    is_choice = prediction.kind == "choice"
    labels = [
        [option, words.plain(f"{name}.option.{option}", values) if is_choice else str(option)]
        for option in asked.options
    ]
    return {
        "kind": prediction.kind,
        "id": name,
        "text": drawn(words.filled(f"{name}.question", values)),
        "how": text.named("learn_how", _how(prediction)),
        "unit": text.named("learn_unit", prediction.unit) if prediction.unit else "",
        "options": labels,
        "picks": asked.picks,
        "typed": asked.typed,
        "complaint": asked.complaint,
        "is_ready": bool(asked.picks),
        "words": {word: text.named("learn_word", word) for word in CARD_WORDS},
    }


CARD_WORDS = ("commit", "skip", "skip_hint", "question", "your_order", "take_back", "answer")


def _how(prediction: Prediction) -> str:
    """Which sentence says what to do."""
    if prediction.kind == "order":
        return "order_among" if prediction.among is not None else "order_pool"
    return prediction.kind


def sentence_in_own_run(found: Grade, text: Text) -> list[dict[str, Any]]:
    """In the place of one whose words hold in the recorded run only."""
    key = "learn.own_right" if found.is_right else "learn.own_wrong"
    return [{"kind": "paragraph", "spans": [["plain", text(key)]]}]


def nothing_to_predict(text: Text) -> dict[str, Any]:
    """In the place of a question to which its reader's own run has no answer."""
    return {"kind": "skipped", "asked": [], "title": text("learn.no_answer"), "sentence": []}


def verdict(
    question: str,
    found: Grade | str,
    *,
    words: Words,
    values: Values,
    text: Text,
    unseen: Value = None,
) -> dict[str, Any]:
    """What the engine did, beside what the reader said, and one sentence about this answer.

    `unseen`: the answer, where no stage is there to show it to whoever skipped the question.
    """
    asked = drawn(words.filled(f"{question}.question", values))
    if not isinstance(found, Grade):
        said = (
            text("learn.skipped")
            if unseen is None
            else text("learn.skipped_unseen", answer=_shown(question, unseen, words, values))
        )
        return {"kind": "skipped", "asked": asked, "title": said, "sentence": []}
    filled = {**values, "answer": found.answer, "given": found.given}
    shown = {
        "answer": _shown(question, found.answer, words, values),
        "given": _shown(question, found.given, words, values),
    }
    key = "learn.right" if found.is_right else "learn.wrong"
    return {
        "kind": "right" if found.is_right else "wrong",
        "asked": asked,
        "title": text(key, **shown),
        "sentence": drawn(words.filled(found.text, filled)),
    }


def _shown(question: str, value: Value, words: Words, values: Values) -> str:
    """An option by its text, blocks as a list, anything else as it is."""
    option = f"{question}.option.{value}"
    if isinstance(value, str) and option in words.texts:
        return words.plain(option, values)
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return f"{value:.1f}" if isinstance(value, float) else shown(value)


class Later(NamedTuple):
    """What a reader may hear of later versions: how it changed, or only what changed and when."""

    told: Collection[str]  # badges by id
    can_switch: Collection[str]
    shown: Collection[str]  # those that are on
    remark: str = ""  # stands under what is told


def badges(
    loaded: LoadedLesson, later: Later, *, words: Words, values: Values, text: Text
) -> list[dict[str, Any]]:
    """What changed after 0.17.1, with a switch where a run shows it."""
    return [
        {
            "id": badge.id,
            "title": _changed(badge, text),
            "what": words.plain(f"badge.{badge.id}.what", values),
            "text": _told_of(badge, later, words, values) if badge.id in later.told else [],
            "url": thread_url(badge.change),
            "switch": _switch(badge.id in later.shown, text)
            if badge.id in later.can_switch
            else None,
        }
        for badge in loaded.lesson.badges
    ]


def _told_of(badge: Badge, later: Later, words: Words, values: Values) -> list[dict[str, Any]]:
    remark = Paragraph("paragraph", (Span("plain", later.remark),))
    told = words.filled(f"badge.{badge.id}", values)
    return drawn((*told, remark) if later.remark else told)


def _changed(badge: Badge, text: Text) -> str:
    _, is_bound, month = badge.since.rpartition("by ")
    key = "learn.changed_by" if is_bound else "learn.changed"
    return text(key, since=month, change=badge.change)


def _switch(is_on: bool, text: Text) -> dict[str, Any]:
    return {"is_on": is_on, "word": text("learn.later_off" if is_on else "learn.later_on")}


def ending(loaded: LoadedLesson, answers: Mapping[str, Grade | str], text: Text) -> dict[str, Any]:
    """What stands behind the last text: the sum, the real source, where people asked."""
    lesson = loaded.lesson
    grades = [found for found in answers.values() if isinstance(found, Grade)]
    questions = [_answered(asked(number, text.language)) for number in lesson.answers]
    told = {reference for question in questions for reference, _ in question["threads"]}
    others = [reference for reference in lesson.threads if reference not in told]
    return {
        "sum": _sum(grades, len(lesson.predictions), text),
        "sources_title": text("learn.sources"),
        "sources": [
            [f"{source.function}", SOURCE_URL + source.file, source.file]
            for source in lesson.sources
        ],
        "threads_title": text("learn.threads") if others else "",
        "threads": [[reference, thread_url(reference)] for reference in others],
        "questions_title": text("learn.questions") if questions else "",
        "questions": questions,
    }


def _sum(grades: Sequence[Grade], num_questions: int, text: Text) -> str:
    """What was skipped, or never asked of whoever came by a link, is neither right nor wrong."""
    num_right, left_out = sum(found.is_right for found in grades), num_questions - len(grades)
    if not grades:
        return text.count("learn.sum_none", num_questions)
    if left_out:
        return text("learn.sum_some", right=num_right, of=len(grades), left_out=left_out)
    return text("learn.sum", right=num_right, of=num_questions)


def _answered(question: Question) -> dict[str, Any]:
    """With its short answer, to be opened by whoever wants to check their own, and where people asked."""
    return {
        "text": question.question,
        "answer": drawn(question.answer),
        "threads": [[reference, thread_url(reference)] for reference in question.threads],
    }
