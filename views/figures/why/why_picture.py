"""A verdict as a picture: the blocks up to where the lookup stopped, and two requests side by side."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from engine.questions import reasons
from engine.questions.miss import Miss
from engine.questions.reasons import Parting
from engine.trace.entries import RequestState
from engine.trace.state import NULL_BLOCK_ID, State
from views.figures.cache.requests import drawn_runs
from views.figures.cache.tokens import request_pieces
from views.figures.moment import block_state
from views.figures.why.why_words import parting_of
from views.text import Text

HEAD = 2  # blocks of a prompt that are always drawn
BEFORE, AFTER = 1, 1  # and around the one at which the lookup stopped
MAX_TOKENS_OF_BLOCK = 32
CONTEXT = 5  # tokens on each side of the parting

COMPUTED_AGAIN = (reasons.LastTokenKept, reasons.LastBlockDropped, reasons.NotComputed)
LOST = (reasons.Evicted, reasons.Reset)


class Subject(NamedTuple):
    """Whose tokens are drawn: a request, or what somebody has typed."""

    name: str
    token_ids: Sequence[int]
    token_bytes: Sequence[bytes]
    request_id: str | None = None


def subject_of(request: RequestState, num_tokens: int) -> Subject:
    """A request as it was when it had `num_tokens` tokens."""
    token_bytes = [*request.added.prompt_token_bytes, *request.output_token_bytes]
    ids = request.token_log[:num_tokens]
    return Subject(request.request_id, ids, token_bytes[:num_tokens], request.request_id)


def token_word(subject: Subject, at: int, token_id: int | None, text: Text) -> str:
    """One token as it stands in a sentence; its id where the subject has another by now."""
    if token_id is None or list(subject.token_ids[at : at + 1]) != [token_id]:
        return text.in_quotes(str(token_id))
    (piece,) = request_pieces([token_id], subject.token_bytes[at : at + 1])
    return text.in_quotes(piece.label)


# Blocks -----------------------------------------------------------------------------------------


def strip(state: State, miss: Miss, subject: Subject, text: Text) -> dict[str, Any]:
    """Blocks of group 0 in order: what hit, where it stopped, what was not looked at any more."""
    size = state.group_block_sizes[0]
    stop = miss.found.num_hit_tokens // size
    total = -(-len(subject.token_ids) // size)
    near = {i for i in range(total) if i < HEAD or stop - BEFORE <= i <= stop + AFTER}
    shown = [i for i in range(total) if i in near or {i - 1, i + 1} <= near | {total}]
    cells: list[dict[str, Any]] = []
    last = -1
    for index in [*shown, total]:
        cells += _fold(last + 1, index, stop, text)
        if index < total:
            cell = _cell(miss, subject, index, size=size, stop=stop, text=text)
            cells.append(cell | _chip(state, miss, index, text))
        last = index
    return {
        "label": text("why.blocks", request=subject.name),
        "request": subject.request_id,
        "cells": cells,
    }


def _fold(first: int, end: int, stop: int, text: Text) -> list[dict[str, Any]]:
    """One cell for all blocks from `first` to `end - 1`, none of which is drawn."""
    if first >= end:
        return []
    key = "why.folded.hit" if first < stop else "why.folded.behind"
    return [{"fold": text.count(key, end - first), "mark": "hit" if first < stop else "behind"}]


def _cell(
    miss: Miss, subject: Subject, index: int, *, size: int, stop: int, text: Text
) -> dict[str, Any]:
    start, end = index * size, min((index + 1) * size, len(subject.token_ids))
    hits = miss.found.hit_block_ids[0] if miss.found.hit_block_ids else ()
    block_id = hits[index] if index < len(hits) else None
    mark = _mark(miss, index, stop=stop, is_full=end - start == size, block_id=block_id)
    cell: dict[str, Any] = {
        "index": index,
        "mark": mark,
        "word": text(MARKS[mark]),
        "tokens": _tokens(subject, start, min(end, start + MAX_TOKENS_OF_BLOCK)),
        "hidden": max(0, end - start - MAX_TOKENS_OF_BLOCK),
    }
    parting = parting_of(miss)
    if parting is not None and start <= parting.num_shared_tokens < end and index >= stop:
        cell["parts_at"] = parting.num_shared_tokens - start
    return cell


def _chip(state: State, miss: Miss, index: int, text: Text) -> dict[str, Any]:
    """The block that hit, as it is at this moment; nothing where none did."""
    hits = miss.found.hit_block_ids[0] if miss.found.hit_block_ids else ()
    block_id = hits[index] if index < len(hits) else NULL_BLOCK_ID
    if block_id == NULL_BLOCK_ID:
        return {}
    name, ref_cnt = block_state(state, block_id), state.blocks[block_id].ref_cnt
    words = text("pool.cell", block=block_id, state=text.named("block_state", name), ref=ref_cnt)
    return {"block": block_id, "state": name, "ref": ref_cnt, "label": words}


MARKS = {
    "hit": "why.mark.hit",
    "miss": "why.mark.miss",
    "lost": "why.mark.lost",
    "again": "why.mark.again",
    "behind": "why.mark.behind",
    "rest": "why.mark.rest",
    "out": "why.mark.out",
}


def _mark(miss: Miss, index: int, *, stop: int, is_full: bool, block_id: int | None) -> str:
    if index < stop:
        return "out" if block_id == NULL_BLOCK_ID else "hit"
    if not is_full:
        return "rest"
    if isinstance(miss.reason, COMPUTED_AGAIN) and index < stop + _num_again(miss):
        return "again"
    if index > stop or isinstance(miss.reason, reasons.ReadingSkipped):
        return "behind"
    return "lost" if isinstance(miss.reason, LOST) else "miss"


def _num_again(miss: Miss) -> int:
    """Blocks of the picture that are there and computed all the same."""
    return miss.reason.num_blocks if isinstance(miss.reason, reasons.LastBlockDropped) else 1


def _tokens(subject: Subject, start: int, end: int) -> list[list[Any]]:
    """[drawn, index, id] each."""
    ids = subject.token_ids[start:end]
    pieces = request_pieces(ids, subject.token_bytes[start:end])
    return [
        [drawn_runs(piece), start + place, token_id]
        for place, (piece, token_id) in enumerate(zip(pieces, ids, strict=True))
    ]


# Two side by side -------------------------------------------------------------------------------


def sides(
    other: RequestState,
    parting: Parting,
    subject: Subject,
    text: Text,
    *,
    miss: Miss,
) -> dict[str, Any]:
    """The tokens around the parting, one request under the other. Not all that is the same hit."""
    at = parting.num_shared_tokens
    num_theirs = other.num_tokens if parting.other_token_id is not None else at
    theirs = subject_of(other, num_theirs)
    first = max(0, at - CONTEXT)
    return {
        "label": text("why.sides", at=at),
        "ends": text("why.side_ends"),
        "rows": [_side(row, first, at, miss) for row in (theirs, subject)],
    }


def _side(subject: Subject, first: int, at: int, miss: Miss) -> dict[str, Any]:
    stop = min(at + CONTEXT + 1, len(subject.token_ids))
    tokens = [
        [*token, _side_state(first + place, at, miss), (first + place) % miss.block_size == 0]
        for place, token in enumerate(_tokens(subject, first, stop))
    ]
    return {
        "name": subject.name,
        "request": subject.request_id,
        "before": first > 0,
        "tokens": tokens,
        "after": stop < len(subject.token_ids),
        "ended": len(subject.token_ids) <= at,
    }


def _side_state(index: int, at: int, miss: Miss) -> str:
    if index < miss.found.num_hit_tokens:
        return "hit"
    return "same" if index < at else "parts" if index == at else "behind"
