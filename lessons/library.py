"""All lessons of the folder, each with its words and its recorded runs."""

import difflib
import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from engine.trace.codec import read_trace, without_times
from engine.trace.state import Cursor
from engine.trace.trace import Trace
from lessons.checks import Value, parse_check
from lessons.errors import FactError, LessonError
from lessons.places import find_place
from lessons.scenario import Script, needs_model, script_of, whole_scenario
from lessons.schema import FILE_NAME, Chunk, Lesson, read_lesson
from lessons.text import Words, read_words
from lessons.validation import check_lesson, check_words

ROOT = Path(__file__).parent
LANGUAGE = "en"  # the one that every lesson has
_LANGUAGE = re.compile(r"[a-z]{2}")


class LoadedLesson:
    """A lesson that holds together. Runs are read when somebody looks; nothing of it changes."""

    def __init__(self, folder: Path) -> None:
        """LessonError where lesson.toml or a text is wrong."""
        self.folder = folder
        self.lesson: Lesson = read_lesson(folder)
        check_lesson(self.lesson, folder)
        paths = {_language(path): path for path in sorted(folder.glob("*.md"))}
        if LANGUAGE not in paths:
            raise LessonError(f"{folder.name}: {LANGUAGE}.md is missing, the file of its texts")
        self._words = {language: read_words(path) for language, path in paths.items()}
        for words in self._words.values():
            check_words(self.lesson, words)

    @property
    def name(self) -> str:
        """The folder's: it stands in addresses."""
        return self.folder.name

    @property
    def languages(self) -> tuple[str, ...]:
        return tuple(self._words)

    def words(self, language: str) -> Words:
        """The texts in this language, or in English where they are not written yet."""
        return self._words.get(language, self._words[LANGUAGE])

    # Runs -------------------------------------------------------------------------------------

    def trace_path(self, scenario: str) -> Path:
        is_first = scenario == self.lesson.scenarios[0].name
        return self.folder / ("trace.jsonl" if is_first else f"trace.{scenario}.jsonl")

    def script(self, scenario: str) -> Script:
        """The scenario's workload, to be run or changed."""
        return script_of(self.lesson, scenario, self.folder)

    @functools.cached_property
    def traces(self) -> Mapping[str, Trace]:
        """Scenario -> recorded run. LessonError if one is missing or damaged."""
        return {each.name: self._read(each.name) for each in self.lesson.scenarios}

    def _read(self, scenario: str) -> Trace:
        path = self.trace_path(scenario)
        loaded = read_trace(path)
        if loaded.trace is None or loaded.problem is not None:
            option = " --model" if needs_model(whole_scenario(self.lesson, scenario)) else ""
            raise LessonError(
                f"{self.name}/{path.name}: {loaded.problem}: "
                f"run python -m lessons record{option} {self.name}"
            )
        return loaded.trace

    # What the page asks -----------------------------------------------------------------------

    def cursor(self, chunk: Chunk, traces: Mapping[str, Trace] | None = None) -> Cursor:
        """Where the chunk is, in the recorded run or in another one of the same scenario."""
        return self.place(chunk, chunk.at, traces)

    def place(self, chunk: Chunk, text: str, traces: Mapping[str, Trace] | None = None) -> Cursor:
        """Any place of the chunk's run. FactError where a changed run does not have it."""
        trace = (traces or self.traces)[self.lesson.scenario_of_chunk(chunk)]
        return find_place(trace, text)

    def selection(self, chunk: Chunk, traces: Mapping[str, Trace] | None = None) -> dict[str, Any]:
        """What the chunk lights up, in the words of a click: block, hash, request, token."""
        chosen = {
            name: self.value(given, traces)
            if name != "request" and isinstance(given, str)
            else given
            for name, given in chunk.select.items()
        }
        if "hash_of" in chosen:
            trace = (traces or self.traces)[self.lesson.scenario_of_chunk(chunk)]
            block = trace.at(self.cursor(chunk, traces)).blocks.get(chosen["hash_of"])
            return {"hash": block.block_hash} if block and block.block_hash else {}
        return chosen

    def value(self, name: str, traces: Mapping[str, Trace] | None = None) -> Value:
        call = self.lesson.values[name]
        check = parse_check(call, self.lesson.scenarios[0].name, f"{self.name}: values.{name}")
        return check.of(traces or self.traces)

    def values(self, traces: Mapping[str, Trace] | None = None) -> dict[str, Value]:
        """All numbers of the text. What a changed run does not hold is told of the recorded one."""
        return {name: self._told(name, traces) for name in self.lesson.values}

    def missing(self, traces: Mapping[str, Trace]) -> frozenset[str]:
        """The values that these runs, changed as they may be, do not hold."""
        return frozenset(name for name in self.lesson.values if not self._holds(name, traces))

    def _holds(self, name: str, traces: Mapping[str, Trace]) -> bool:
        try:
            self.value(name, traces)
        except FactError:
            return False
        return True

    def _told(self, name: str, traces: Mapping[str, Trace] | None) -> Value:
        try:
            return self.value(name, traces)
        except FactError:
            return self.value(name)


def _language(path: Path) -> str:
    """Of a file of texts; LessonError where its name is none."""
    if not _LANGUAGE.fullmatch(path.stem):
        raise LessonError(
            f"{path.parent.name}/{path.name}: a file of texts is named by its language, two small "
            f"letters, such as ja.md: notes belong elsewhere"
        )
    return path.stem


def lesson_folders(root: Path = ROOT) -> list[Path]:
    """In the order of their numbers."""
    return sorted(path.parent for path in root.glob(f"*/{FILE_NAME}"))


def all_lessons(root: Path = ROOT) -> Iterator[LoadedLesson]:
    """LessonError at the first one that does not hold together."""
    for folder in lesson_folders(root):
        yield LoadedLesson(folder)


def load_lesson(name: str, root: Path = ROOT) -> LoadedLesson:
    """By its folder's name or its number."""
    for folder in lesson_folders(root):
        if name == folder.name or (
            name.isdecimal() and folder.name.startswith(f"{int(name):02d}-")
        ):
            return LoadedLesson(folder)
    known = [folder.name for folder in lesson_folders(root)]
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(known) or 'none'}"
    raise LessonError(f"there is no lesson {name}: {hint}")


def first_difference(recorded: Trace, fresh: Trace) -> str | None:
    """One sentence about where two runs part; times and dates are not compared."""
    one, two = ({**_header(trace), **trace.header.config} for trace in (recorded, fresh))
    for name in one | two:
        if one.get(name) != two.get(name):
            return f"{name} was {one.get(name)!r} and is {two.get(name)!r}"
    pairs = zip(recorded.events_from(0), fresh.events_from(0), strict=False)
    for place, (was, now) in enumerate(pairs):
        if without_times(was) != without_times(now):
            return f"event {place} was {was} and is {now}"
    if recorded.num_events != fresh.num_events:
        return f"it had {recorded.num_events} events and has {fresh.num_events}"
    return None


def _header(trace: Trace) -> dict[str, Any]:
    header = trace.header
    return {name: getattr(header, name) for name in ("model", "none_hash", "title")}
