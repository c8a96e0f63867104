"""The block table of the chosen row's request, slot by slot, as its attention reads it."""

from collections.abc import Iterable
from typing import Any

from engine.trace.entries import ScheduledRow
from engine.trace.state import State
from views.figures.batch.attention import SLOT_STATES, Query, Seen, first_position, seen_block
from views.figures.moment import block_state, num_sharing
from views.text import Text

ENDS = 2  # blocks at both ends of the table that are always drawn
BEFORE, AFTER = 4, 2  # blocks around the row's own and around the first that it reads


def reads(
    state: State, row: ScheduledRow, position: int, *, group_id: int, now: State, text: Text
) -> dict[str, Any]:
    """A strip of the block table; of a long one the places where what is read begins and ends.

    `state`: of the forward pass, which says what is read; `now`: of the moment that is looked at.
    """
    query = Query(row.request_id, position, group_id)
    size = state.group_block_sizes[group_id]
    table = state.requests[row.request_id].block_tables[group_id]
    first = first_position(state.groups[group_id], position)
    own = position // size
    blocks = list(_blocks(state, query, len(table), now=now, text=text))
    shown = {name for block in blocks for name, _ in block.get("runs", ())}
    return {
        "title": text("reads.title", request=row.request_id, position=position),
        "sentence": text(
            "reads.sentence",
            slots=text.count("reads.slots", position - first + 1),
            blocks=text.count("reads.blocks", own - first // size + 1),
        ),
        "mask": _mask(state.groups[group_id], first, position, text),
        "comma": text("list.comma"),
        "writes": text("reads.writes", slot=table[own] * size + position % size),
        "blocks": blocks,
        "own": own,
        "at": position % size,
        "legend": [[name, text.named("slot_state", name)] for name in SLOT_STATES if name in shown],
    }


def _mask(group: dict[str, Any], first: int, position: int, text: Text) -> str:
    span = text.count("reads.span", position - first + 1, first=first, last=position)
    if group["type"] == "sliding":
        return text("reads.sliding", n=group["window"], span=span)
    if group["type"] == "chunked_local":
        return text("reads.chunked", n=group["chunk"], span=span)
    return text("reads.causal", span=span)


def _blocks(
    state: State, query: Query, num_blocks: int, *, now: State, text: Text
) -> Iterable[dict[str, Any]]:
    size = state.group_block_sizes[query.group_id]
    own = query.position // size
    first = first_position(state.groups[query.group_id], query.position) // size
    kept = {
        *range(ENDS),
        *range(first - 1, first + AFTER),
        *range(own - BEFORE, own + AFTER + 1),
        *range(num_blocks - ENDS, num_blocks),
    }
    index = 0
    while index < num_blocks:
        gap = index
        while gap < num_blocks and gap not in kept:
            gap += 1
        if gap - index > 1:
            words = "reads.fold_read" if first <= index <= own else "reads.fold_unread"
            yield {"fold": text.count(words, gap - index)}
            index = gap
        else:
            yield _block(now, seen_block(state, query, index), size, text)
            index += 1


def _block(now: State, seen: Seen, size: int, text: Text) -> dict[str, Any]:
    first = seen.block_id * size
    return {
        "index": seen.logical_index,
        "block": seen.block_id,
        "state": block_state(now, seen.block_id),
        "ref": num_sharing(now, seen.block_id),
        "runs": [list(run) for run in seen.runs],
        "hint": text(
            "reads.block",
            index=seen.logical_index,
            block=seen.block_id,
            first=first,
            last=first + size - 1,
        ),
    }
