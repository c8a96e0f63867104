"""Block tables: logical index -> physical block, for each request and KV-cache group."""

from collections.abc import Collection, Sequence
from typing import Any

from engine.trace.entries import RequestState
from engine.trace.state import NULL_BLOCK_ID, State
from views.figures.cache.request_tokens import token_spans
from views.figures.moment import ROOMY_BLOCKS, Moment, block_state, kept
from views.text import Text

HEAD, TAIL = 6, 12  # places of a long table that are drawn
AT_WINDOW = 3  # places drawn where a run of holes ends
MAX_LIT = 4
MAX_ROWS = 24


def tables(moment: Moment, text: Text, *, lit: Collection[int] = ()) -> dict[str, Any]:
    """Requests that hold blocks, in order of arrival; the blocks of `lit` stay in sight."""
    state, touched = moment.state, moment.touched_blocks
    holding = [request for request in state.requests.values() if any(request.block_tables)]
    names = group_names(state, text) if len(state.groups) > 1 else [""]
    rows = []
    for request in holding[:MAX_ROWS]:
        groups = [
            {"name": name, "items": _items(state, request, group_id, touched, lit=lit)}
            for group_id, name in enumerate(names)
        ]
        rows.append({"request": request.request_id, "groups": groups})
    return {
        "title": text("tables.title"),
        "hint": text("tables.hint"),
        "rows": rows,
        "empty": "" if rows else text("tables.empty"),
        "more": text.count("rows.more", len(holding) - MAX_ROWS) if len(holding) > MAX_ROWS else "",
        "hidden_word": text("tables.hidden"),
        "holes_word": text("tables.holes"),
        "cell_label": text("tables.cell"),
        "hole_label": text("tables.hole"),
        "hit_label": text("tables.cell_hit"),
        "roomy": state.num_blocks <= ROOMY_BLOCKS,
    }


def group_names(state: State, text: Text) -> list[str]:
    """What each KV-cache group attends to, and its block size where groups differ."""
    names = []
    for group in state.groups:
        reach = group.get("window") or group.get("chunk") or 0
        name = text(f"kv_group.{group['type']}", n=reach)
        if len(set(state.group_block_sizes)) > 1:
            name = text("tables.group_size", name=name, size=group["block_size"])
        names.append(name)
    return names


def _items(
    state: State,
    request: RequestState,
    group_id: int,
    touched: frozenset[int],
    *,
    lit: Collection[int],
) -> list[dict[str, Any]]:
    """Cells, and what stands for those between them that are not drawn."""
    table = request.block_tables[group_id]
    num_hits = token_spans(state, request)[0] // state.group_block_sizes[group_id]
    items: list[dict[str, Any]] = []
    end = 0
    for part in [*_parts(table, lit), range(len(table), len(table))]:
        if part.start > end:
            holes = not any(table[end : part.start])
            items.append({"holes" if holes else "hidden": part.start - end})
        for index in part:
            cell = _cell(state, table[index], index, hit=index < num_hits)
            items.append(cell | ({"touched": True} if table[index] in touched else {}))
        end = part.stop
    return items


def _parts(table: Sequence[int], lit: Collection[int]) -> list[range]:
    num_holes = next((index for index, id_ in enumerate(table) if id_), len(table))
    found = [index for index, id_ in enumerate(table) if id_ in lit] if lit else []
    return kept(
        len(table),
        range(2 if num_holes > 2 else HEAD),
        range(num_holes - 1, num_holes + AT_WINDOW) if num_holes else range(0),
        range(len(table) - TAIL, len(table)),
        *(range(index, index + 1) for index in found[:MAX_LIT]),
    )


def _cell(state: State, block_id: int, index: int, *, hit: bool) -> dict[str, Any]:
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
    return cell
