"""The words of a lesson, one Markdown-like file per language, read into plain pieces.

    # Title
    ## key                      what follows belongs to this key
    A paragraph with *emphasis*, **strong**, `code` and {value} or {value:percent}.

    - an item

Nothing else is markup, and nothing becomes HTML: a page gets kinds and texts. Digits stand in code
only; a number that a run decides is a {value}, computed by a check of lesson.toml.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from lessons.errors import LessonError

Value = Any
TITLE = "title"

_INLINE = re.compile(r"\*\*(?P<strong>[^*]+)\*\*|\*(?P<emphasis>[^*]+)\*|`(?P<code>[^`]+)`")
_PLACEHOLDER = re.compile(r"\{(\w+)(?::(\w+))?\}")
_KEY = re.compile(r"[a-z0-9_]+(?:\.[a-z0-9_]+)*")


class Span(NamedTuple):
    """A piece of a line; its kind is one of plain, strong, emphasis and code."""

    kind: str
    text: str


class Paragraph(NamedTuple):
    """Its kind is one of paragraph, item (of a list) and heading."""

    kind: str
    spans: tuple[Span, ...]


Paragraphs = tuple[Paragraph, ...]


class Words(NamedTuple):
    """All texts of one lesson in one language, by key, with their placeholders still in them."""

    place: str  # the file's name, for sentences about it
    texts: dict[str, Paragraphs]
    lines: dict[str, int]  # key -> line of its heading

    def filled(self, key: str, values: Mapping[str, Value]) -> Paragraphs:
        """The text with its numbers in place."""
        return tuple(
            Paragraph(kind, tuple(Span(s.kind, _fill(s.text, values)) for s in spans))
            for kind, spans in self.texts[key]
        )

    def plain(self, key: str, values: Mapping[str, Value]) -> str:
        """The text as one line without markup, for a label."""
        paragraphs = self.filled(key, values)
        return " ".join("".join(span.text for span in p.spans) for p in paragraphs)

    def placeholders(self, key: str) -> Iterator[tuple[str, str]]:
        """Names and formats in the text."""
        for paragraph in self.texts[key]:
            for span in paragraph.spans:
                for found in _PLACEHOLDER.finditer(span.text):
                    yield found[1], found[2] or ""


# Numbers ---------------------------------------------------------------------------------------


def shown(value: Value, form: str = "") -> str:
    """A value as prose shows it. ValueError for a form that does not fit the value."""
    return FORMS[form](value)


def _as_it_is(value: Value) -> str:
    if isinstance(value, tuple):
        return f"[{_listed(value)}]"
    if isinstance(value, bool) or not isinstance(value, int):
        return str(value)
    return f"{value:,}"


def _listed(value: Value) -> str:
    return ", ".join(map(str, value))


FORMS: dict[str, Callable[[Value], str]] = {
    "": _as_it_is,
    "list": _listed,
    "bare": str,  # a whole number as code has it, without commas
    "percent": lambda value: f"{value * 100:.0f}%",
    "percent1": lambda value: f"{value * 100:.1f}%",
    "percent2": lambda value: f"{value * 100:.2f}%",
    "decimal1": lambda value: f"{value:.1f}",
    "gib": lambda value: f"{value / 2**30:.3f} GiB",
    "hash": lambda value: f"#{value[-6:]}",  # as the page shows it
    "count": lambda value: f"{len(value)}",
}


def _fill(text: str, values: Mapping[str, Value]) -> str:
    return _PLACEHOLDER.sub(lambda found: shown(values[found[1]], found[2] or ""), text)


# Reading ---------------------------------------------------------------------------------------


def read_words(path: Path) -> Words:
    place = f"{path.parent.name}/{path.name}"
    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LessonError(f"{place}: it cannot be read: {error}") from error
    return parse_words(content, place)


def parse_words(content: str, place: str) -> Words:
    texts: dict[str, list[tuple[int, str]]] = {}
    lines: dict[str, int] = {}
    key = ""
    for number, line in enumerate(content.splitlines(), 1):
        if line.startswith("# ") and not key:
            key, lines[TITLE] = TITLE, number
            texts[key] = [(number, line[2:].strip())]
        elif line.startswith("## "):
            key = line[3:].strip()
            _check_heading(key, lines, f"{place}:{number}")
            texts[key], lines[key] = [], number
        elif key:
            texts[key].append((number, line.rstrip()))
        elif line.strip():
            raise LessonError(f'{place}:{number}: the file begins with its title: "# Title"')
    return Words(place, {key: _paragraphs(lines_, place) for key, lines_ in texts.items()}, lines)


def _check_heading(key: str, lines: Mapping[str, int], where: str) -> None:
    if TITLE not in lines:
        raise LessonError(f'{where}: the file begins with its title: "# Title"')
    if not _KEY.fullmatch(key):
        raise LessonError(f"{where}: {key!r} is no key: use small letters, digits, _ and dots")
    if key in lines:
        raise LessonError(f"{where}: the key {key} stands in line {lines[key]} already")


def _paragraphs(lines: list[tuple[int, str]], place: str) -> Paragraphs:
    """Lines that follow each other are one paragraph; an item or a heading begins its own."""
    blocks: list[tuple[int, str, str]] = []  # line, kind, text
    is_open = False
    for number, line in lines:
        if not line.strip():
            is_open = False
        elif line.startswith(("- ", "### ")):
            mark, _, text = line.partition(" ")
            blocks.append((number, "item" if mark == "-" else "heading", text))
            is_open = mark == "-"
        elif is_open:
            start, kind, text = blocks[-1]
            blocks[-1] = (start, kind, _joined(text, line.strip()))
        else:
            blocks.append((number, "paragraph", line.strip()))
            is_open = True
    return tuple(
        Paragraph(kind, tuple(_spans(text, f"{place}:{number}"))) for number, kind, text in blocks
    )


def _joined(line: str, next_line: str) -> str:
    """Two lines of one paragraph; scripts without spaces get none where they meet."""
    meet = (line[-1], next_line[0])
    return f"{line}{'' if all(map(_is_wide, meet)) else ' '}{next_line}"


def _is_wide(sign: str) -> bool:
    """Of Chinese and Japanese writing, their punctuation included."""
    return unicodedata.east_asian_width(sign) in "WF"


def _spans(text: str, where: str) -> Iterator[Span]:
    end = 0
    for found in _INLINE.finditer(text):
        if found.start() > end:
            yield _checked(Span("plain", text[end : found.start()]), where)
        kind = found.lastgroup or "plain"
        yield _checked(Span(kind, found[kind]), where)
        end = found.end()
    if end < len(text):
        yield _checked(Span("plain", text[end:]), where)


def _checked(span: Span, where: str) -> Span:
    """No number typed into prose, and no mark that would be shown as it is."""
    bare = _PLACEHOLDER.sub("", span.text)
    if any(mark in bare for mark in "{}"):
        raise LessonError(f"{where}: a brace without its partner, or a {{value}} with other signs")
    if span.kind == "code":
        return span
    if "*" in bare or "`" in bare:
        raise LessonError(f"{where}: a * or ` without its partner near {bare.strip()!r}")
    digits = re.search(r"(?<![A-Za-z0-9_-])\d+(?:[.,]\d+)*", bare)
    if digits:
        raise LessonError(
            f"{where}: the number {digits[0]} is typed into the prose: make it a {{value}} of "
            f"lesson.toml, or write it as `code` if it is part of a name"
        )
    return span
