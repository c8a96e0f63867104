"""Which words of a lesson may be said of its reader's own run, and what is said of it besides."""

import re

from lessons.changed import SETTINGS
from lessons.errors import FactError
from lessons.grading import Grade, answer_of
from lessons.happenings import kinds_before
from lessons.library import LANGUAGE
from lessons.recorded_words import names_recorded
from views.study import Study
from views.text import Text


def holds_in_own_run(study: Study, question: str, found: Grade) -> bool:
    """Whether the sentence about an answer is computed from this run: it names no letter, count or
    value of the recorded one, and it names the answer, or the answer is the recorded one too."""
    loaded = study.loaded
    words = loaded.words(LANGUAGE)
    if names_recorded(loaded.lesson, words, found.text, loaded.missing(study.traces)):
        return False
    if any(name == "answer" for name, _ in words.placeholders(found.text)):
        return True
    return bool(found.answer == answer_of(loaded.lesson, question, loaded.traces))


def scene(study: Study, text: Text) -> str:
    """The name of the run on the stage, where a lesson has several."""
    key = f"scenario.{study.scenario}"
    words = study.loaded.words(text.language)
    return words.plain(key, study.loaded.values(study.traces)) if key in words.texts else ""


def scene_on_stage(study: Study, text: Text) -> str:
    """The same as the stage is headed by it: marked where it is that of later versions, or the
    reader's own."""
    name = scene(study, text)
    if study.scenario in study.own:
        return text("learn.scene_own", scene=name) if name else text("learn.scene_yours")
    is_later = any(study.scenario in b.later.values() for b in study.loaded.lesson.badges)
    return text("learn.scene_later", scene=name) if name and is_later else name


def over_later(study: Study, text: Text) -> str:
    """What stands over a text, which speaks of 0.17.1, beside a run of later versions."""
    on = [b for b in study.loaded.lesson.badges if study.scenario in b.later.values()]
    if study.is_over or not on:
        return ""
    return text("learn.shows_later", change=on[0].change, scene=scene(study, text))


def over_recorded(study: Study, text: Text) -> str:
    """What stands over the text with which a reader's own run ends and a recorded one begins."""
    lesson = study.loaded.lesson
    if study.is_over or study.chunk == 0 or study.scenario in study.own:
        return ""
    if lesson.scenario_of_chunk(lesson.chunks[study.chunk - 1]) not in study.own:
        return ""
    return text("learn.own_ends", scene=scene(study, text))


def lacks_something(study: Study) -> bool:
    """Whether something that had happened by this text's moment in the recorded run has not in the
    own one: then whatever the text tells of it is not true there."""
    loaded, here = study.loaded, study.here
    told = loaded.lesson.scenario_of_chunk(here)
    if told not in study.own:
        return False
    recorded, own = loaded.traces[told], study.own[told]
    before = kinds_before(recorded, loaded.place(here, here.at))
    return not before <= kinds_before(own, loaded.place(here, here.at, study.traces))


def over_own_run(study: Study, text: Text) -> str:
    """What stands over a text that may not hold beside a run that it was not written for."""
    if study.is_over or not study.is_changed:
        return ""
    loaded, here = study.loaded, study.here
    try:
        loaded.place(here, here.at, study.traces)
    except FactError:
        return text("learn.written_elsewhere")
    if lacks_something(study):
        return text("learn.written_before")
    words, missing = loaded.words(LANGUAGE), loaded.missing(study.traces)
    keys = [here.id, *([f"{here.predict}.question"] if here.predict else [])]
    if any(names_recorded(loaded.lesson, words, key, missing) for key in keys):
        return text("learn.written")
    return ""


def in_words_of_the_form(said: str, text: Text) -> str:
    """A sentence about settings with the words that stand at their fields, vLLM's name beside them."""
    for name in SETTINGS:
        label = text.named("setting_label", name)
        mention = re.compile(rf"(?<![A-Za-z0-9_]){name}(=[^\s:：,，。]+)?(?![A-Za-z0-9_=])")
        first = mention.search(said)
        if first is not None:
            rest = mention.sub(text("learn_change.field_again", label=label), said[first.end() :])
            field = text("learn_change.field", label=label, name=first[0])
            said = said[: first.start()] + field + rest
    return said
