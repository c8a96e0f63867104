"""Bytes of sampled tokens to text that is never taken back, and the stop strings in it."""

import codecs
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from engine.runner.tokenizer import Tokenizer


class NewText(NamedTuple):
    """What one token added to the stream."""

    text: str
    stopped: bool = False  # a stop string was completed; `text` ends before it


class Detokenizer:
    """One request's stream of text.

    A token may end inside a character: its bytes wait for the rest. Text that could still become
    a stop string waits as well. Control tokens write nothing.

        stop = ("END",)   tokens "the", " E", "N", "d"   text "the", " ", "", "ENd"

    vLLM 0.17.1: v1/engine/detokenizer.py IncrementalDetokenizer
    """

    def __init__(self, tokenizer: Tokenizer, stop: Sequence[str] = ()) -> None:
        self.tokenizer = tokenizer
        self.stop = tuple(stop)
        self.num_tokens = 0
        self.stopped = False
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._held = ""  # readable, but perhaps the start of a stop string

    def append(self, token_id: int, *, is_last: bool = False) -> NewText:
        """The newly readable text; with `is_last` also what was held back for a stop string.

        The bytes of a character that never got complete stay unread.
        """
        self.num_tokens += 1
        if self.stopped:
            return NewText("", stopped=True)
        if token_id not in self.tokenizer.special_token_ids:
            self._held += self._decoder.decode(self.tokenizer.bytes_of(token_id))
        end = _first_stop(self._held, self.stop)
        if end is not None:
            self.stopped = True
            text, self._held = self._held[:end], ""
            return NewText(text, stopped=True)
        keep = 0 if is_last else _num_held_back(self._held, self.stop)
        cut = len(self._held) - keep
        text, self._held = self._held[:cut], self._held[cut:]
        return NewText(text)

    def replay(self, token_ids: Iterable[int]) -> None:
        """Catch up with tokens whose text somebody has read already."""
        for token_id in token_ids:
            self.append(token_id)


def _first_stop(text: str, stop: Sequence[str]) -> int | None:
    """Where the earliest stop string of `text` begins."""
    found = [index for index in (text.find(word) for word in stop) if index >= 0]
    return min(found, default=None)


def _num_held_back(text: str, stop: Sequence[str]) -> int:
    """Length of the longest end of `text` with which some stop string begins."""
    longest = max((len(word) for word in stop), default=1) - 1
    for length in range(min(longest, len(text)), 0, -1):
        if any(word.startswith(text[-length:]) for word in stop):
            return length
    return 0
