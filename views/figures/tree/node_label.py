"""The tokens of one block as a few characters of known width."""

import functools
import unicodedata
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from engine.trace.state import State
from views.figures.cache.tokens import BYTES, CODE, PLAIN, SIGN, Piece, Run, request_pieces
from views.figures.tree.prefix_forest import Link

COLUMNS = 12  # of a node, in half-width characters
MAX_TEXT = 90  # characters of all tokens of a block
ELLIPSIS = "…"
BETWEEN_NUMBERS: Run = (" ", CODE)  # of tokens that are known by their number alone
BETWEEN: Run = ("|", SIGN)  # bytes and code points have spaces within a token
DIFFERS = "differs"  # beside the kind of a run: the token in which a branch differs from the others


class NodeLabels:
    """For one picture: the bytes of a request's tokens are put together once."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._bytes: dict[str, list[bytes]] = {}

    def token_ids(self, link: Link) -> list[int]:
        size = self.state.group_block_sizes[link.group_id]
        return link.request.tokens_between(link.place * size, (link.place + 1) * size)

    def label(self, link: Link, first: int) -> "Label":
        """What the node of the link shows; its token `first` is the one that makes it a branch.

        What all branches share is left out where the tokens are too long for a node.
        """
        ids = self.token_ids(link)
        start = link.place * self.state.group_block_sizes[link.group_id]
        return _label(tuple(ids), tuple(self._known(link)[start : start + len(ids)]), first)

    def text(self, link: Link) -> str:
        """All tokens of the block; nothing where only their numbers are known."""
        return self.label(link, 0).whole if self._known(link) else ""

    def _known(self, link: Link) -> list[bytes]:
        """The bytes of all tokens of the request; none where the source does not know them."""
        request = link.request
        if request.request_id not in self._bytes:
            known = [*request.added.prompt_token_bytes, *request.output_token_bytes]
            is_known = len(known) == request.num_tokens and any(known)
            self._bytes[request.request_id] = known if is_known else []
        return self._bytes[request.request_id]


class Label(NamedTuple):
    """`short` as `draw` in base.js takes it, and how wide it is; `whole` to read on."""

    short: str | list[list[str]]
    columns: int
    whole: str


@functools.lru_cache(maxsize=4096)
def _label(token_ids: tuple[int, ...], token_bytes: tuple[bytes, ...], first: int) -> Label:
    pieces = request_pieces(token_ids, token_bytes)
    gap = BETWEEN if any(token_bytes) else BETWEEN_NUMBERS
    whole = "".join(text for text, _ in _joined(pieces, gap))
    whole = whole if len(whole) <= MAX_TEXT else whole[: MAX_TEXT - 1] + ELLIPSIS
    runs = list(_joined(pieces, gap, first or None))
    if sum(columns_of(text) for text, _ in runs) > COLUMNS:
        own = [(ELLIPSIS, PLAIN), *_joined(pieces[first:], gap, 0)] if first else runs
        runs = list(_cut_runs(own, COLUMNS))
    return Label(_drawn(runs), sum(columns_of(text) for text, _ in runs), whole)


def _joined(pieces: Iterable[Piece], gap: Run, differs_at: int | None = None) -> Iterator[Run]:
    """All runs, with the gap where one cannot see otherwise that a token ends: beside spelled ones."""
    before = None
    for place, piece in enumerate(pieces):
        if before is not None and piece.runs and {before, piece.runs[0][1]} & {BYTES, CODE}:
            yield gap
        differs = place == differs_at
        yield from (
            (text, f"{kind} {DIFFERS}".strip() if differs else kind) for text, kind in piece.runs
        )
        before = piece.runs[-1][1] if piece.runs else before


def _cut_runs(runs: Iterable[Run], columns: int) -> Iterator[Run]:
    left = columns
    for text, kind in runs:
        width = columns_of(text)
        if width <= left:
            yield text, kind
            left -= width
        else:
            yield cut(text, max(left, 1)), kind
            return


def _drawn(runs: Iterable[Run]) -> str | list[list[str]]:
    merged: list[list[str]] = []
    for text, kind in runs:
        if merged and merged[-1][1] == kind:
            merged[-1][0] += text
        else:
            merged.append([text, kind])
    if not merged:
        return ""
    return merged[0][0] if len(merged) == 1 and merged[0][1] == PLAIN else merged


def cut(text: str, columns: int) -> str:
    """As much of the text as goes into that many columns, with an ellipsis where it goes on."""
    if columns_of(text) <= columns:
        return text
    left, shown = columns - 1, ""
    for char in text:
        left -= columns_of(char)
        if left < 0:
            break
        shown += char
    return shown + ELLIPSIS


def columns_of(text: str) -> int:
    """How wide a fixed font draws it, in Latin letters."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )
