"""Tokens as a reader can tell them apart: the exact bytes, made visible and never broken.

A token is a run of bytes and may end inside a character, so that

    F0 9F | 91 A8          two tokens, one person: each shows its bytes, hovering shows the whole
    ␣the                   a space is part of the token that follows it
    ◌̸                      a mark without its letter gets a dotted circle to sit on

No sign stands for something else: what cannot be drawn is written as its code point.
"""

import functools
import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

SIGNS = {" ": "␣", "\n": "↵", "\t": "⇥", "\r": "␍"}
MAX_CHARACTER_BYTES = 4  # UTF-8
STRETCH = 64  # tokens that are read together
LONG_RUN = 6  # that many equal signs in a row become one and a count
INVISIBLE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zs", "Zl", "Zp"})
MARKS = frozenset({"Mn", "Me", "Mc"})
# What nobody sees in a text: controls, and white space that no word stands on both sides of.
UNREAD = re.compile(r"(?:[\x00-\x1f\x7f-\x9f\u2028\u2029]|(?<!\S)\s|\s(?!\S))+")

PLAIN, SIGN, BYTES, CODE = "", "sign", "bytes", "code"
Run = tuple[str, str]  # text, kind


class Piece(NamedTuple):
    """What one token shows, and the characters that it shares with its neighbours."""

    runs: tuple[Run, ...]
    shared: str = ""

    @property
    def label(self) -> str:
        return "".join(text for text, _ in self.runs)


class _Character(NamedTuple):
    start: int
    stop: int
    char: str | None  # None: a byte that belongs to no character


@functools.lru_cache(maxsize=1024)
def pieces(token_bytes: tuple[bytes, ...]) -> tuple[Piece, ...]:
    """One Piece per token; what the pieces stand for, joined, is the text again."""
    text = b"".join(token_bytes)
    stops = list(accumulate(map(len, token_bytes)))
    characters = list(_characters(text))
    found, first = [], 0
    for stop, bytes_ in zip(stops, token_bytes, strict=True):
        start = stop - len(bytes_)
        while first < len(characters) and characters[first].stop <= start:
            first += 1
        found.append(_piece(text, characters, first, (start, stop)))
    return tuple(found)


def drawn_runs(piece: Piece) -> str | list[list[str]]:
    """A plain token is just its text; one with signs or bytes is a list of [text, kind]."""
    if len(piece.runs) == 1 and piece.runs[0][1] == PLAIN:
        return piece.runs[0][0]
    return [[text, kind] for text, kind in piece.runs]


@functools.lru_cache(maxsize=256)
def text_runs(text: str) -> str | list[list[str]]:
    """A whole text for reading: a space between two words stays one, all other white space is drawn
    as signs, and a line still ends where it ended."""
    runs: list[list[str]] = []
    at = 0
    for found in UNREAD.finditer(text):
        if found.start() > at:
            runs.append([text[at : found.start()], PLAIN])
        signs: list[Run] = []
        for place, char in enumerate(found.group(), found.start() + 1):
            _add(signs, *_drawn(char, True))
            if char == "\n" and place < len(text):
                _add(signs, char, SIGN)
        runs += [[drawn, kind] for drawn, kind in signs]
        at = found.end()
    if not runs:
        return text
    return [*runs, [text[at:], PLAIN]] if at < len(text) else runs


def pieces_between(token_bytes: Sequence[bytes], start: int, stop: int) -> tuple[Piece, ...]:
    """The pieces of tokens `start` to `stop - 1`, at a cost that does not grow with the text.

    Read in stretches that begin at fixed places, so that the next picture finds them again.
    """
    if start >= stop:
        return ()
    begins = range(start - start % STRETCH, stop, STRETCH)
    stretches = (_stretch(token_bytes, at, min(at + STRETCH, len(token_bytes))) for at in begins)
    found = tuple(piece for stretch in stretches for piece in stretch)
    return found[start - begins.start : stop - begins.start]


def _stretch(token_bytes: Sequence[bytes], start: int, stop: int) -> tuple[Piece, ...]:
    """Reading begins at a byte that no character reaches across, and ends where the last is whole."""
    first, last, ahead = start, stop, 0
    while first > 0 and (not token_bytes[first] or _goes_on(token_bytes[first][0])):
        first -= 1
        if sum(map(len, token_bytes[first:start])) >= MAX_CHARACTER_BYTES:
            break
    while last < len(token_bytes) and ahead < MAX_CHARACTER_BYTES:
        ahead += len(token_bytes[last])
        last += 1
    return pieces(tuple(token_bytes[first:last]))[start - first : stop - first]


def _goes_on(byte: int) -> bool:
    """Whether the byte belongs to a character that began before it (UTF-8)."""
    return 0x80 <= byte < 0xC0


def request_pieces(token_ids: Sequence[int], token_bytes: Sequence[bytes]) -> tuple[Piece, ...]:
    """The pieces of a request's tokens; their ids where the source does not know the bytes."""
    if len(token_ids) == len(token_bytes) and any(token_bytes):
        return pieces(tuple(token_bytes))
    return tuple(Piece(((str(token_id), CODE),)) for token_id in token_ids)


def _characters(text: bytes) -> Iterator[_Character]:
    at = 0
    while at < len(text):
        length = _length(text[at])
        try:
            yield _Character(at, at + length, text[at : at + length].decode())
        except UnicodeDecodeError:
            length = 1
            yield _Character(at, at + 1, None)
        at += length


def _length(lead: int) -> int:
    """How many bytes a character has that begins with this one (UTF-8)."""
    return 4 if lead >= 0xF0 else 3 if lead >= 0xE0 else 2 if lead >= 0xC0 else 1


def _piece(
    text: bytes, characters: Sequence[_Character], first: int, span: tuple[int, int]
) -> Piece:
    start, stop = span
    runs: list[Run] = []
    shared = []
    for start_, stop_, char in characters[first:]:
        if start_ >= stop:
            break
        if char is None or start_ < start or stop_ > stop:
            _add(runs, text[max(start, start_) : min(stop, stop_)].hex(" ").upper(), BYTES)
            shared.append(char or "")
        else:
            _add(runs, *_drawn(char, bool(runs)))
    return Piece(_shortened(runs), "".join(shared))


def _drawn(char: str, has_base: bool) -> Run:
    """One whole character: as it is, as a sign, or as its code point."""
    if char in SIGNS:
        return SIGNS[char], SIGN
    category = unicodedata.category(char)
    if category in INVISIBLE or 0xFE00 <= ord(char) <= 0xFE0F:
        return f"U+{ord(char):04X}", CODE
    if category in MARKS and not has_base:
        return f"◌{char}", PLAIN
    return char, PLAIN


def _add(runs: list[Run], text: str, kind: str) -> None:
    if runs and runs[-1][1] == kind:
        gap = " " if kind in (BYTES, CODE) else ""
        runs[-1] = (f"{runs[-1][0]}{gap}{text}", kind)
    else:
        runs.append((text, kind))


def _shortened(runs: list[Run]) -> tuple[Run, ...]:
    """`␣␣␣␣␣␣␣␣` becomes `␣×8`."""
    short = []
    for text, kind in runs:
        if kind == SIGN and len(text) >= LONG_RUN and len(set(text)) == 1:
            text = f"{text[0]}×{len(text)}"
        short.append((text, kind))
    return tuple(short)
