"""Two texts beside each other, so that a reader sees what makes them two.

    café (U+00E9)    café (U+0065 U+0301)     one letter, or a letter and a mark
    acme             acme␣ (U+0020)

Hashes are made of bytes: nothing is stripped or normalised, and two spellings are two salts.
"""

import unicodedata
from itertools import takewhile

from views.figures.cache.tokens import pieces
from views.text import Text, quoted

MAX_SPELLED = 6  # code points
LEAD = 12  # characters that stay in front of the difference in a long text
LONG = 32


def side_by_side(one: str, other: str, text: Text) -> tuple[str, str]:
    """Both as drawn, in quotes; with the code points of what differs, unless that can be seen: signs
    of ASCII, or a text beside none."""
    at, parts = _parts(one, other)
    is_ascii = all("!" <= char <= "~" for part in parts for char in part)
    is_plain = is_ascii or not one or not other
    return (
        _shown(one, at, "" if is_plain else parts[0], text),
        _shown(other, at, "" if is_plain else parts[1], text),
    )


def looks_alike(one: str, other: str) -> bool:
    """Whether only the form differs: composed or not, wide or not, with something invisible."""
    return _shape(one) == _shape(other)


def spelled_part(one: str, other: str) -> str:
    """The code points of what `one` has where `other` has something else."""
    return spelled(_parts(one, other)[1][0])


def drawn(text: str) -> str:
    """Spaces as signs, and what cannot be seen as its code point."""
    return "".join(piece.label for piece in pieces((text.encode("utf-8", "surrogatepass"),)))


def spelled(text: str) -> str:
    points = [f"U+{ord(char):04X}" for char in text[:MAX_SPELLED]]
    return " ".join([*points, *("…" for _ in text[MAX_SPELLED : MAX_SPELLED + 1])])


def _shown(given: str, at: int, part: str, text: Text) -> str:
    first = at - LEAD if len(given) > LONG and at > LEAD else 0
    label = text.in_quotes(quoted(("…" if first else "") + drawn(given[first:])))
    return f"{label} ({spelled(part)})" if part else label


def _parts(one: str, other: str) -> tuple[int, tuple[str, str]]:
    """Where two texts begin to differ, and what each has until they are equal again."""
    head = _num_equal(one, other)
    tail = _num_equal(one[head:][::-1], other[head:][::-1])
    return head, (one[head : len(one) - tail], other[head : len(other) - tail])


def _num_equal(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other)))


def _shape(text: str) -> str:
    whole = unicodedata.normalize("NFKC", text)
    return "".join(
        char for char in whole if not char.isspace() and unicodedata.category(char) != "Cf"
    )
