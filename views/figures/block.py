"""Everything about one block at the cursor: content, hash, parent, references, K and V."""

from typing import Any

from engine.trace.entries import BlockState
from engine.trace.state import NULL_BLOCK_ID, State, cache_key
from views.figures.moment import Moment, block_state, known_bytes, short_hash
from views.figures.requests import drawn_runs
from views.figures.tokens import Piece, request_pieces
from views.text import Text

MAX_TOKENS = 64


def block(moment: Moment, text: Text, *, selected: int | None) -> dict[str, Any]:
    """Facts as [word, value]; without a selection, the invitation to click."""
    state = moment.state
    payload: dict[str, Any] = {"title": text("block.none"), "hint": text("block.hint")}
    if selected is None or not 0 <= selected < state.num_blocks:
        return payload
    payload |= {
        "title": text("block.title", block=selected),
        "block": selected,
        "state": block_state(state, selected),
        "word": text.named("block_state", block_state(state, selected)),
        "close": text("block.close"),
        "hint": "",
    }
    entry = state.blocks.get(selected)
    if selected == NULL_BLOCK_ID:
        payload["facts"] = [[text("block.purpose"), text("block.null_block")]]
    elif entry is None:
        payload["facts"] = [[text("block.content"), text("block.never_used")]]
    else:
        payload["tokens"] = _tokens(state, selected, entry)
        payload["facts"] = _facts(state, selected, entry, text)
    return payload


def _tokens(state: State, block_id: int, entry: BlockState) -> list[list[Any]]:
    ids = state.block_tokens(block_id)[:MAX_TOKENS]
    return [
        [drawn_runs(piece), token_id, piece.shared]
        for token_id, piece in zip(ids, _pieces(state, entry, ids), strict=True)
    ]


def _pieces(state: State, entry: BlockState, ids: tuple[int, ...]) -> tuple[Piece, ...]:
    """Cut out of the whole request, so that a character across two blocks is known whole."""
    request = state.requests.get(entry.request_id or "")
    start = entry.logical_index * state.group_block_sizes[entry.group_id]
    if request and tuple(request.tokens_between(start, start + len(ids))) == ids:
        bytes_ = [*request.added.prompt_token_bytes, *request.output_token_bytes]
        return request_pieces(request.token_ids, bytes_)[start : start + len(ids)]
    known = known_bytes(state)
    return request_pieces(ids, [known.get(id_, b"") for id_ in ids])


def _facts(state: State, block_id: int, entry: BlockState, text: Text) -> list[list[str]]:
    holders = state.holders(block_id)
    size = state.group_block_sizes[entry.group_id]
    facts = [
        [text("block.ref_cnt"), str(entry.ref_cnt)],
        [text("block.holders"), ", ".join(holders) or text("block.nobody")],
        [
            text("block.taken_by"),
            text("block.taker", request=entry.request_id, index=entry.logical_index),
        ],
        [text("block.hash"), entry.block_hash or text("block.no_hash", size=size)],
    ]
    if entry.block_hash:
        facts.append([text("block.parent"), _parent(state, entry, text)])
        twins = state.cached.get(cache_key(entry.block_hash, entry.group_id), ())
        if len(twins) > 1:
            others = text.ids(id_ for id_ in twins if id_ != block_id)
            facts.append([text("block.twins"), others])
    facts.append([text("block.kv"), _kv(entry, size, text)])
    return facts


def _parent(state: State, entry: BlockState, text: Text) -> str:
    parent = entry.parent_block_hash
    if parent is None:
        return text("block.no_parent")
    block_ids = state.cached.get(cache_key(parent, entry.group_id), ())
    if not block_ids:
        return text("block.parent_gone", hash=short_hash(parent))
    return text("block.parent_at", hash=short_hash(parent), blocks=text.ids(block_ids))


def _kv(entry: BlockState, size: int, text: Text) -> str:
    if entry.kv_valid:
        return text("block.kv_valid", n=size)
    if entry.block_hash:
        return text("block.kv_unwritten")
    return text("block.kv_written", n=entry.num_written_slots, size=size)
