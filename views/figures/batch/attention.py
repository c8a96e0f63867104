"""Which slots one row's attention reads through the block table of its request.

    block table   [0] -> 5      [1] -> 2      [2] -> 7
    slots          r  r  r  r    r  r  n  n    l  o  o  o     row of position 7, prompt of 9

`r` read, written before this step; `n` read, written in this step, before anybody reads; `l` of a
later row, which the causal mask hides; `o` open. A window or a chunk hides what lies left of it.
"""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from engine.trace.entries import ScheduledRow
from engine.trace.state import NULL_BLOCK_ID, State

Run = tuple[str, int]  # one of SLOT_STATES, number of slots

SLOT_STATES = ("read", "now", "never", "hidden", "later", "open", "hole")


class Query(NamedTuple):
    """One row of the batch, in one KV-cache group."""

    request_id: str
    position: int
    group_id: int


class Seen(NamedTuple):
    """Slots of a table entry, from its first to its last."""

    logical_index: int
    block_id: int
    runs: tuple[Run, ...]


def first_position(group: Mapping[str, Any], position: int) -> int:
    """Of those that the row at `position` attends to; the last is itself.

    vLLM 0.17.1: a window counts the row itself (v1/kv_cache_interface.py SlidingWindowSpec), a
    chunk begins at a multiple of its length (ChunkedLocalAttentionSpec).
    """
    if group["type"] == "sliding":
        return max(0, position - int(group["window"]) + 1)
    if group["type"] == "chunked_local":
        return position - position % int(group["chunk"])
    return 0


def seen_block(state: State, query: Query, logical_index: int) -> Seen:
    """One entry of the block table, slot by slot, as the row sees it."""
    block_id = state.requests[query.request_id].block_tables[query.group_id][logical_index]
    size = state.group_block_sizes[query.group_id]
    if block_id == NULL_BLOCK_ID:
        return Seen(logical_index, block_id, (("hole", size),))
    states = _slot_states(state, query, logical_index, block_id)
    runs = tuple((name, len(list(same))) for name, same in groupby(states))
    return Seen(logical_index, block_id, runs)


def _slot_states(state: State, query: Query, logical_index: int, block_id: int) -> Iterator[str]:
    size = state.group_block_sizes[query.group_id]
    first = first_position(state.groups[query.group_id], query.position)
    row = state.scheduled[query.request_id]
    for position in range(logical_index * size, (logical_index + 1) * size):
        if position > query.position:
            end = row.num_computed_tokens + row.num_scheduled_tokens
            yield "later" if position < end else "open"
        elif position < first:
            yield "hidden"
        elif position >= row.num_computed_tokens:
            yield "now"
        else:
            yield _shared_slot_state(state, block_id, position)


def _shared_slot_state(state: State, block_id: int, position: int) -> str:
    """A slot that was there before this step, or that another request fills in it (SEMANTICS 13)."""
    block = state.blocks[block_id]
    size = state.group_block_sizes[block.group_id]
    if block.kv_valid or position % size < block.num_written_slots:
        return "read"
    row = state.scheduled.get(block.request_id or "")
    return "now" if row is not None and _computes(row, position) else "never"


def _computes(row: ScheduledRow, position: int) -> bool:
    return 0 <= position - row.num_computed_tokens < row.num_scheduled_tokens
