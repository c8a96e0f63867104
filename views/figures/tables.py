"""Block tables: logical index -> physical block, one row per request and KV-cache group."""

from typing import Any

from engine.trace.entries import RequestState
from engine.trace.state import NULL_BLOCK_ID, State
from views.figures.moment import ROOMY_BLOCKS, Moment, block_state, folded
from views.figures.requests import token_spans
from views.text import Text

HEAD, TAIL = 20, 12
MAX_ROWS = 24


def tables(moment: Moment, text: Text) -> dict[str, Any]:
    """Rows of requests that hold blocks, in order of arrival."""
    state, touched = moment.state, moment.touched_blocks
    holding = [request for request in state.requests.values() if any(request.block_tables)]
    rows = [
        _row(state, request, group_id, touched)
        for request in holding[:MAX_ROWS]
        for group_id in range(len(state.groups))
    ]
    return {
        "title": text("tables.title"),
        "hint": text("tables.hint"),
        "rows": rows,
        "empty": "" if rows else text("tables.empty"),
        "more": text.count("rows.more", len(holding) - MAX_ROWS) if len(holding) > MAX_ROWS else "",
        "hidden_word": text("tables.hidden"),
        "cell_label": text("tables.cell"),
        "hit_label": text("tables.cell_hit"),
        "roomy": state.num_blocks <= ROOMY_BLOCKS,
    }


def _row(
    state: State, request: RequestState, group_id: int, touched: frozenset[int]
) -> dict[str, Any]:
    table = request.block_tables[group_id]
    num_hits = token_spans(state, request)[0] // state.group_block_sizes[group_id]
    cells = [
        _cell(state, block_id, index, hit=index < num_hits, touched=block_id in touched)
        for index, block_id in enumerate(table)
    ]
    head, tail = folded(cells, HEAD, TAIL)
    group = state.groups[group_id]["type"] if len(state.groups) > 1 else ""
    return {
        "request": request.request_id,
        "group": group,
        "head": head,
        "tail": tail,
        "num_hidden": len(cells) - len(head) - len(tail),
    }


def _cell(state: State, block_id: int, index: int, *, hit: bool, touched: bool) -> dict[str, Any]:
    block = state.blocks.get(block_id)
    cell: dict[str, Any] = {
        "block": block_id,
        "index": index,
        "state": block_state(state, block_id),
    }
    if block and block.ref_cnt > 1:
        cell["ref"] = block.ref_cnt
    if hit and block_id != NULL_BLOCK_ID:
        cell["hit"] = True
    if touched:
        cell["touched"] = True
    return cell
