"""The prose beside the stage: one text of a lesson, its question, the way on."""

from functools import partial
from typing import Any

from lessons.changed import changeable
from lessons.grading import Grade, answer_of
from views import session, studying
from views.components.piece import piece
from views.covering import KEYS
from views.figures.learning.lesson import (
    Asked,
    Later,
    badges,
    bars,
    drawn,
    ending,
    lesson_head,
    nothing_to_predict,
    open_question,
    progress,
    sentence_in_own_run,
    verdict,
)
from views.figures.moment import Moment
from views.own_words import (
    holds_in_own_run,
    in_words_of_the_form,
    over_later,
    over_own_run,
    over_recorded,
)
from views.study import Study
from views.text import Text
from views.widgets.linked import light

SENDS = (
    "answered",
    "changed",
    "later",
    "left_lesson",
    "lesson",
    "picked",
    "recalled",
    "recorded",
    "repeated",
    "selected",
    "skipped",
    "turned",
)


def lesson(study: Study, moment: Moment, text: Text) -> None:
    payload = lesson_payload(study, text) | {"lit": light(moment)}
    sent = {f"on_{what}_change": partial(session.note, "lesson", what) for what in SENDS}
    piece("lesson", payload, **sent)


def lesson_payload(study: Study, text: Text) -> dict[str, Any]:
    loaded, here = study.loaded, study.here
    words, values = loaded.words(text.language), loaded.values(study.traces)
    question = None
    if study.is_open and study.question and study.prediction:
        asked = Asked(
            study.question,
            study.prediction,
            list(study.picks),
            study.options,
            study.typed,
            study.complaint,
        )
        question = open_question(asked, words, values, text)
    remark = text("learn.written") if study.is_changed else ""
    later = Later(study.told, study.can_switch, study.variants, remark)
    is_alone = not study.is_over and set(here.hides) == set(KEYS)
    return {
        "page": f"{loaded.name}/{study.chunk}/{study.is_over}",
        "index": study.chunk + study.is_over,
        "head": lesson_head(loaded, words, text),
        "marks": progress(loaded, -1 if study.is_over else study.chunk, study.answers),
        "mark_words": {name: text.named("learn_mark", name) for name in MARKS},
        "reach": studying.reach(study),
        "text": [] if study.is_over else drawn(words.filled(here.id, values)),
        "bars": [] if study.is_over else bars(here, values, text),
        "question": question,
        "written": over_own_run(study, text)
        or over_later(study, text)
        or over_recorded(study, text),
        "verdict": _verdict(study, text, is_alone=is_alone),
        "badges": badges(loaded, later, words=words, values=values, text=text),
        "ending": ending(loaded, study.answers, text) if study.is_over else None,
        "change": change_form(study, text),
        "next": _next(study, text),
        "is_alone": is_alone,
        "asks_in_pool": study.asks_in_pool,
        "progress": _to_keep(study),
        "words": {name: text.named("learn_word", name) for name in WORDS},
    }


def _verdict(study: Study, text: Text, *, is_alone: bool) -> dict[str, Any] | None:
    name, loaded = study.question, study.loaded
    if name in study.unanswered and not study.is_over:
        return nothing_to_predict(text)
    found = study.answers.get(name) if name else None
    if name is None or found is None or study.is_over:
        return None
    words, values = loaded.words(text.language), loaded.values(study.traces)
    unseen = answer_of(loaded.lesson, name, study.traces) if is_alone else None
    told = verdict(name, found, words=words, values=values, text=text, unseen=unseen)
    if isinstance(found, Grade) and study.is_changed and not holds_in_own_run(study, name, found):
        told["sentence"] = sentence_in_own_run(found, text)
    return told


def _to_keep(study: Study) -> dict[str, Any]:
    """What the browser keeps for a reader who comes back without the link: of runs of their own the
    forms, with which they are run again."""
    return {
        "lesson": study.loaded.name,
        "chunk": study.chunk + study.is_over,
        "recalls": study.recalls,
        "done": studying.done_code(session.choices().done),
        "changes": study.changes,
        "answers": {name: _given(found) for name, found in study.answers.items()},
    }


def _given(found: Grade | str) -> Any:
    """None: skipped."""
    return found.given if isinstance(found, Grade) else None


def change_form(study: Study, text: Text) -> dict[str, Any] | None:
    """What may be changed before the scenario runs live; None where it is token ids alone."""
    settings, requests = changeable(study.loaded, study.scenario)
    typed = study.typed_change
    if not requests:
        return None
    return {
        "is_own": study.scenario in study.own,
        "settings": [
            [
                name,
                text.named("setting_label", name),
                str(typed.get("settings", {}).get(name, value)),
            ]
            for name, value in settings.items()
        ],
        "requests": [
            [
                each.id,
                typed.get("prompts", {}).get(each.id, each.prompt),
                None
                if study.is_about_a_model
                else typed.get("outputs", {}).get(each.id, each.output),
            ]
            for each in requests
        ],
        "hint": text.named("learn_change", "hint_model" if study.is_about_a_model else "hint"),
        "waits": text.named("learn_change", "waits") if study.ordered is not None else "",
        "for": f"{study.loaded.name}/{study.scenario}/{study.scenario in study.own}",
        "complaint": in_words_of_the_form(study.change_complaint, text),
        "words": {name: text.named("learn_change", name) for name in CHANGE_WORDS},
    }


CHANGE_WORDS = ("title", "title_own", "own", "run", "recorded", "prompt", "output")
MARKS = ("asks", "text", "right", "wrong", "skipped")
WORDS = ("back", "back_hint", "leave", "mark", "marks")


def _next(study: Study, text: Text) -> dict[str, Any]:
    """The button that goes on; while a question is open it says so instead."""
    if study.is_over:
        following = studying.after(study.loaded)
        if following is None:
            return {"word": text("learn.last"), "hint": text("learn.next_hint"), "page": "beat"}
        title = following.words(text.language).plain("title", {})
        word = text("learn.next_lesson", n=following.lesson.number, title=title)
        return {"word": word, "hint": text("learn.next_hint"), "lesson": following.name}
    if study.is_open:
        return {"word": text("learn.answer_first"), "hint": text("learn.answer_hint"), "off": True}
    is_last = study.chunk == len(study.loaded.lesson.chunks) - 1
    key = "learn.finish" if is_last else "learn.next"
    return {"word": text(key), "hint": text("learn.next_hint")}
