"""Which texts of a lesson say something that only the recorded run is known to hold.

A value is computed from whatever run is on the stage. What else a text counts, and the letters that
it names, were true of the run that its author had in front of them; where they are true of every run
of the scenario the lesson says so (`any_run`).
"""

import re
from collections.abc import Collection

from lessons.schema import Lesson
from lessons.text import Words

# `r1` and `block 0` are in every run of the scenario, K and V in every run at all.
_OF_ANY_RUN = re.compile(r"[a-z]+\d*|[Bb]lock 0")
_NUMBERS = (
    r"two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen(th)?|twenty|thirty|hundred|"
    r"both|half|twice|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|twelfth"
)
_COUNT = re.compile(rf"\b({_NUMBERS})\b", re.IGNORECASE)
_VALUE = re.compile(r"\{\w+(:\w+)?\}")
_LETTER = re.compile(
    r"(?<![\w'])(?![KVIA](?![\w']))[A-Z](?![\w'])|(?<![\w'])A to |\ba z\b|\bthe z\b"
)


def names_recorded(lesson: Lesson, words: Words, key: str, missing: Collection[str]) -> bool:
    """Of an English text. `missing`: the values that a changed run does not have
    (LoadedLesson.missing)."""
    if any(name in missing for name, _ in words.placeholders(key)):
        return True
    return key not in lesson.any_run and counts_or_letters(words, key)


def counts_or_letters(words: Words, key: str) -> bool:
    """Whether an English text names a count or a letter that is no value."""
    for span in (span for paragraph in words.texts[key] for span in paragraph.spans):
        if span.kind == "code":
            if re.search(r"\d", span.text) and not _is_computed(span.text):
                return True
            continue
        said = _VALUE.sub("", span.text)  # the name of a value says nothing
        if _COUNT.search(said) or _LETTER.search(said):
            return True
    return False


def _is_computed(code: str) -> bool:
    return "{" in code or _OF_ANY_RUN.fullmatch(code) is not None
