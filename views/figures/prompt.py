"""The prompt form: the text as the model would get it, while it is typed."""

from collections.abc import Iterator, Sequence
from typing import Any

from views.figures.cache.requests import bytes_words, drawn_runs
from views.figures.cache.tokens import Piece, pieces_between, request_pieces
from views.text import Text

HEAD, TAIL = 72, 12  # pieces of a long prompt that are drawn
MAX_LIVE_CHARACTERS = 20_000
WORDS = (
    "title",
    "label",
    "placeholder",
    "mode",
    "mode_chat",
    "mode_raw",
    "mode_chat_hint",
    "mode_raw_hint",
    "special",
    "add",
    "add_hint",
    "max_tokens",
    "max_tokens_hint",
    "temperature",
    "temperature_hint",
    "seed",
    "seed_hint",
    "language_hint",
    "token",
    "piece",
)


def prompt_form(text: Text) -> dict[str, Any]:
    """The form without tokens."""
    return {
        "words": {word: text.named("prompt", word) for word in WORDS},
        "pieces": [],
        "count": "",
    }


def prompt_tokens(
    token_ids: Sequence[int],
    token_bytes: Sequence[bytes],
    text: Text,
    *,
    special: Sequence[int] = (),
    block_size: int,
) -> dict[str, Any]:
    """How many tokens and blocks, and the pieces with a cut where a block ends."""
    tail = max(HEAD, len(token_ids) - TAIL)
    shown = [*_between(token_ids, token_bytes, 0, min(HEAD, len(token_ids)))]
    shown += _between(token_ids, token_bytes, tail, len(token_ids))
    pieces: list[dict[str, Any]] = []
    for place, piece in shown:
        if HEAD < tail == place:
            pieces.append({"more": text.count("prompt.more", tail - HEAD)})
        if place and place % block_size == 0:
            pieces.append({"end": True})
        about = {"i": place, "id": token_ids[place], "drawn": drawn_runs(piece)}
        pieces.append(about | {"shared": piece.shared})
        if token_ids[place] in special:
            pieces[-1]["special"] = True
    full, rest = divmod(len(token_ids), block_size)
    count = text.count("prompt.count", len(token_ids))
    blocks = text.count(
        "prompt.blocks", full, size=block_size, rest=text.count("count.tokens", rest)
    )
    return {
        "count": f"{count}: {blocks}",
        "pieces": pieces,
        "legend_bytes": bytes_words((piece.shared for _, piece in shown), text),
    }


def _between(
    token_ids: Sequence[int], token_bytes: Sequence[bytes], start: int, stop: int
) -> Iterator[tuple[int, Piece]]:
    """Places and their pieces; a character that reaches over the end of them is known whole."""
    if len(token_ids) == len(token_bytes) and any(token_bytes):
        return zip(range(start, stop), pieces_between(token_bytes, start, stop))
    return zip(range(start, stop), request_pieces(token_ids[start:stop], ()))
