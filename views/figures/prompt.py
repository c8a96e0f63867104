"""The prompt form: the text as the model would get it, while it is typed."""

from collections.abc import Sequence
from typing import Any

from views.figures.cache.requests import bytes_words, drawn_runs
from views.figures.cache.tokens import request_pieces
from views.text import Text

MAX_PIECES = 400
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
    drawn = request_pieces(token_ids[:MAX_PIECES], token_bytes[:MAX_PIECES])
    pieces: list[dict[str, Any]] = []
    for place, (token_id, piece) in enumerate(zip(token_ids, drawn)):
        if place and place % block_size == 0:
            pieces.append({"end": True})
        pieces.append(
            {"i": place, "id": token_id, "drawn": drawn_runs(piece), "shared": piece.shared}
        )
        if token_id in special:
            pieces[-1]["special"] = True
    if len(token_ids) > MAX_PIECES:
        pieces.append({"more": text.count("prompt.more", len(token_ids) - MAX_PIECES)})
    full, rest = divmod(len(token_ids), block_size)
    count = text.count("prompt.count", len(token_ids))
    blocks = text.count(
        "prompt.blocks", full, size=block_size, rest=text.count("count.tokens", rest)
    )
    return {
        "count": f"{count}: {blocks}",
        "pieces": pieces,
        "legend_bytes": bytes_words((piece.shared for piece in drawn), text),
    }
