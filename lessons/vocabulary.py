"""What the tokens of a script stand for: letters, or words.

A letter's token id is its code point, so that one letter is one token in every scenario of every
lesson. Words are numbered from 1 in the order in which a scenario first says them.
"""

from collections.abc import Callable, Sequence

from engine.trace.events import Event
from engine.workload import naming_tokens


class Vocabulary:
    """Text to token ids and back; it grows by the words that it has not met."""

    def __init__(self, tokens: str) -> None:
        self.tokens = tokens  # "letters" or "words"
        self.names: dict[int, bytes] = {}
        self._ids: dict[str, int] = {}

    def encode(self, text: str | Sequence[int]) -> tuple[int, ...]:
        """A sequence of numbers is taken as it is: tokens that stand for themselves."""
        if not isinstance(text, str):
            return tuple(text)
        pieces = text.split() if self.tokens == "words" else list(text)
        return tuple(self._id_of(piece) for piece in pieces)

    def _id_of(self, piece: str) -> int:
        if piece not in self._ids:
            id_ = len(self._ids) + 1 if self.tokens == "words" else ord(piece)
            self._ids[piece] = id_
            self.names[id_] = piece.encode()
        return self._ids[piece]

    def naming(self, append: Callable[[Event], None]) -> Callable[[Event], None]:
        """A recorder that writes the names where a tokenizer's bytes would stand."""
        between = b" " if self.tokens == "words" else b""
        return naming_tokens(append, self.names, between=between)
