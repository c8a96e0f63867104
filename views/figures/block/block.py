"""Everything about one block at the cursor: content, hash, parent, references, life, K and V."""

from collections.abc import Iterable
from typing import Any

from engine.trace.entries import BlockState
from engine.trace.state import NULL_BLOCK_ID, Cursor, State, cache_key
from engine.trace.trace import Trace
from views.figures.block.absent import absent
from views.figures.block.life import life
from views.figures.cache.tokens import Piece, drawn_runs, pieces_between, request_pieces
from views.figures.moment import (
    Moment,
    block_state,
    known_bytes,
    moment_at,
    num_sharing,
    short_hash,
)
from views.figures.selection import NOTHING, Selection
from views.text import Text

MAX_TOKENS = 64
MAX_NAMED = 12  # holders or twins: more are counted

Fact = list[Any]  # a word, and what it is: texts and things that can be chosen, in order


def block(moment: Moment, text: Text, *, selected: int | None) -> dict[str, Any]:
    """The card beside another picture; without a selection, the invitation to click.

    Each fact is [word, [part, ..]]. A part is a text, {"block", "state"}, {"request"} or
    {"hash", "text"}.
    """
    return _about(moment.state, selected, text, is_whole=False)


def block_page(
    trace: Trace,
    cursor: Cursor,
    text: Text,
    *,
    selected: int | None,
    kv: dict[str, Any],
    selection: Selection = NOTHING,
) -> dict[str, Any]:
    """The same with all digits of the hash, the block's life, and its K and V (`figures.kv.kv`).

    Where `selection` has no block at the cursor: where it gets one (`figures.absent`).
    """
    state = moment_at(trace, cursor).state
    payload = _about(state, selected, text, is_whole=True)
    if selected is None:
        return payload | absent(trace, cursor, selection, text)
    if selected == NULL_BLOCK_ID or "block" not in payload:
        return payload
    return payload | {"life": life(trace, cursor, selected, text), "kv": kv}


def _about(state: State, selected: int | None, text: Text, *, is_whole: bool) -> dict[str, Any]:
    if selected is None or not 0 <= selected < state.num_blocks:
        return {"title": text("block.none"), "hint": text("block.hint"), "facts": []}
    name = block_state(state, selected)
    payload: dict[str, Any] = {
        "title": text("block.title", block=selected),
        "block": selected,
        "state": name,
        "word": text.named("block_state", name),
        "close": text("block.close"),
        "hash_end": text("block.hash_end"),
        "hint": "",
    }
    entry = state.blocks.get(selected)
    if selected == NULL_BLOCK_ID:
        return payload | {"facts": [[text("block.purpose"), [text("block.null_block")]]]}
    if not is_whole:
        payload["whole"] = {"word": text("block.whole"), "hint": text("block.whole_hint")}
    if entry is None:
        return payload | {"facts": [[text("block.content"), [text("block.never_used")]]]}
    payload["tokens"] = _tokens(state, selected, entry)
    payload["facts"] = [*_about_holders(state, selected, entry, text)]
    payload["facts"] += _about_content(state, selected, entry, text)
    if entry.block_hash:
        end = short_hash(entry.block_hash)
        shown = entry.block_hash if is_whole else f"#{end}"
        named = {"hash": entry.block_hash, "text": shown, "end": end if is_whole else ""}
        payload["facts"].append([text("block.hash"), [named]])
    return payload


def _tokens(state: State, block_id: int, entry: BlockState) -> list[list[Any]]:
    """[what is drawn, token id, shared characters, request id or None, place in that request]."""
    ids = state.block_tokens(block_id)[:MAX_TOKENS]
    start = entry.logical_index * state.group_block_sizes[entry.group_id]
    request = state.requests.get(entry.request_id or "")
    if request is None or tuple(request.tokens_between(start, start + len(ids))) != ids:
        known = known_bytes(state)
        return _drawn(ids, request_pieces(ids, [known.get(id_, b"") for id_ in ids]), None, start)
    bytes_ = [*request.added.prompt_token_bytes, *request.output_token_bytes]
    if len(bytes_) == request.num_tokens and any(bytes_):
        pieces = pieces_between(bytes_, start, start + len(ids))
    else:
        pieces = request_pieces(ids, [])
    return _drawn(ids, pieces, request.request_id, start)


def _drawn(
    ids: tuple[int, ...], pieces: tuple[Piece, ...], request_id: str | None, start: int
) -> list[list[Any]]:
    return [
        [drawn_runs(piece), token_id, piece.shared, request_id, place]
        for place, (token_id, piece) in enumerate(zip(ids, pieces, strict=True), start)
    ]


def _about_holders(state: State, block_id: int, entry: BlockState, text: Text) -> list[Fact]:
    requests = [{"request": request_id} for request_id in state.holders(block_id)]
    taker = text("block.taker", index=entry.logical_index)
    return [
        [text("block.ref_cnt"), [str(entry.ref_cnt)]],
        [text("block.holders"), _named(requests, text) or [text("block.nobody")]],
        [text("block.taken_by"), [{"request": entry.request_id}, taker]],
    ]


def _about_content(state: State, block_id: int, entry: BlockState, text: Text) -> list[Fact]:
    size = state.group_block_sizes[entry.group_id]
    facts: list[Fact] = [[text("block.kv"), [_kv(entry, size, text)]]]
    if len(state.groups) > 1:
        kind = state.groups[entry.group_id].get("type", "full")
        facts.append([text("block.group"), [text("block.group_is", n=entry.group_id, kind=kind)]])
    if not entry.block_hash:
        return [*facts, [text("block.hash"), [text("block.no_hash", size=size)]]]
    facts.append([text("block.parent"), _parent(state, entry, text)])
    twins = state.cached.get(cache_key(entry.block_hash, entry.group_id), ())
    if len(twins) > 1:
        others = _blocks(state, (id_ for id_ in twins if id_ != block_id))
        facts.append([text("block.twins"), _named(others, text)])
    return facts


def _named(things: list[dict[str, Any]], text: Text) -> list[Any]:
    if len(things) <= MAX_NAMED:
        return [*things]
    return [*things[:MAX_NAMED], text("block.more", n=len(things) - MAX_NAMED)]


def _blocks(state: State, block_ids: Iterable[int]) -> list[dict[str, Any]]:
    return [
        {"block": id_, "state": block_state(state, id_), "ref": num_sharing(state, id_)}
        for id_ in block_ids
    ]


def _parent(state: State, entry: BlockState, text: Text) -> list[Any]:
    parent = entry.parent_block_hash
    if parent is None:
        return [text("block.no_parent")]
    named = {"hash": parent, "text": f"#{short_hash(parent)}"}
    block_ids = state.cached.get(cache_key(parent, entry.group_id), ())
    if not block_ids:
        return [named, text("block.parent_gone")]
    return [named, text("block.parent_at"), *_named(_blocks(state, block_ids), text)]


def _kv(entry: BlockState, size: int, text: Text) -> str:
    if entry.kv_valid:
        return text("block.kv_valid", n=size)
    if entry.block_hash and not entry.num_written_slots:
        return text("block.kv_unwritten")
    return text("block.kv_written", n=entry.num_written_slots, size=size)
