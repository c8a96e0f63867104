"""The questions that people ask about vLLM's cache, and the lessons that answer them."""

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from lessons.errors import LessonError
from lessons.library import LANGUAGE, ROOT, lesson_folders
from lessons.schema import Table, check_thread, read_lesson
from lessons.text import TITLE, Paragraphs, Words, read_words

FILE_NAME = "questions.toml"


class Entry(Table, frozen=True, kw_only=True):
    number: int
    threads: tuple[str, ...] = ()


class _File(Table, frozen=True, kw_only=True):
    questions: tuple[Entry, ...]


class Question(NamedTuple):
    number: int
    question: str
    answer: Paragraphs
    threads: tuple[str, ...]
    lessons: tuple[str, ...]  # folder names, in their order


def read_entries(root: Path = ROOT) -> tuple[Entry, ...]:
    """LessonError where the file is wrong."""
    path = root / FILE_NAME
    try:
        entries = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), _File).questions
    except (OSError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise LessonError(f"{FILE_NAME}: {error}") from error
    numbers = [entry.number for entry in entries]
    if numbers != list(range(1, len(numbers) + 1)):
        raise LessonError(f"{FILE_NAME}: questions are numbered from 1 without a gap: {numbers}")
    for entry in entries:
        for thread in entry.threads:
            check_thread(thread, f"{FILE_NAME}: question {entry.number}")
    return entries


def all_questions(language: str = LANGUAGE, root: Path = ROOT) -> tuple[Question, ...]:
    """In the language asked for, or in English; LessonError where something is missing."""
    entries, words = read_entries(root), _words(language, root)
    _check_keys(entries, words)
    answering = _answering(entries, root)
    return tuple(
        Question(
            entry.number,
            words.plain(f"q{entry.number}.question", {}),
            words.filled(f"q{entry.number}.answer", {}),
            entry.threads,
            tuple(answering[entry.number]),
        )
        for entry in entries
    )


def _words(language: str, root: Path) -> Words:
    path = root / f"questions.{language}.md"
    return read_words(path if path.exists() else root / f"questions.{LANGUAGE}.md")


def _check_keys(entries: Iterable[Entry], words: Words) -> None:
    needed = {f"q{each.number}.{part}" for each in entries for part in ("question", "answer")}
    for key in sorted(needed):
        if not words.texts.get(key):
            raise LessonError(f"{words.place}: the text {key} is missing: write '## {key}'")
    for key in words.texts.keys() - needed - {TITLE}:
        raise LessonError(f"{words.place}:{words.lines[key]}: nobody shows the text {key}")


def _answering(entries: Iterable[Entry], root: Path) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {entry.number: [] for entry in entries}
    for folder in lesson_folders(root):
        for number in read_lesson(folder).answers:
            if number not in found:
                raise LessonError(
                    f"{folder.name}/lesson.toml: answers: there is no question {number}; "
                    f"{FILE_NAME} has {len(found)}"
                )
            found[number].append(folder.name)
    return found
