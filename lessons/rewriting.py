"""What may be written otherwise in a prompt of "Beat the pool", so that it still asks the same.

The words of each part stay, in their order; a word is letters and digits. Capitals and all that
stands between the words is free. A prompt may get shorter and never longer than it was given: what
is padded in one part has to be saved in another.
"""

import re
import unicodedata
from collections.abc import Sequence

from lessons.errors import LessonError

_WORD = re.compile(r"[^\W_]+")


def words_of(text: str) -> list[str]:
    """In small letters; what stands between them is no word."""
    return _WORD.findall(text.casefold())


def shortest(text: str) -> str:
    """The same words with one space between them, which is the least that keeps them apart."""
    return " ".join(_WORD.findall(text))


def check_rewritten(id_: str, given: str, written: str, *, most: int) -> None:
    """LessonError where the part of prompt `id_` does not say the same any more. `most`: characters
    of the whole prompt as it was given."""
    if len(written) > most:
        raise LessonError.of(
            "beat.too_much",
            "prompt {request} may have {most} characters in all, and this part alone has {n}: "
            "write it shorter",
            request=id_,
            n=len(written),
            most=most,
        )
    unseen = next((c for c in written if not c.isprintable() or _is_unseen(c)), None)
    if unseen is not None:
        raise LessonError.of(
            "beat.unseen",
            "prompt {request}: the sign U+{code} cannot be seen: take it out",
            request=id_,
            code=f"{ord(unseen):04X}",
        )
    if words_of(written) != words_of(given):
        raise LessonError.of(
            "beat.other_words",
            "prompt {request} must go on asking the same: its words here are {words}, in this order. "
            "Capitals, spaces and signs between them are free",
            request=id_,
            words=" ".join(words_of(given)),
        )


def _is_unseen(char: str) -> bool:
    """Marks that change another letter, and controls that turn text around."""
    return unicodedata.category(char) in ("Mn", "Me", "Cf", "Cs", "Co", "Cn")


def check_length(id_: str, given: Sequence[str], written: Sequence[str]) -> None:
    """LessonError where the whole prompt is longer than it was given."""
    most, now = sum(map(len, given)), sum(map(len, written))
    if now > most:
        raise LessonError.of(
            "beat.too_long",
            "prompt {request} would have {n} tokens, and it was given with {most}: "
            "take out signs or spaces before you add others",
            request=id_,
            n=now,
            most=most,
        )
