"""Block tables: logical index -> physical block, for each request and KV-cache group.

A long table is cut into lines of `columns` entries, as a dump of memory is: an entry's index is the
number at the line plus the one above the column. All tables together take about as many lines as
the screen has beside pool and queue; what is folded for that unfolds by a click.
"""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from engine.trace.entries import RequestState
from engine.trace.state import NULL_BLOCK_ID, State
from views.figures.cache.request_tokens import token_spans
from views.figures.moment import ROOMY_BLOCKS, Moment, block_state, kept
from views.text import Text

NUM_LINES = 10  # of all tables together, as long as each has its two
MAX_UNFOLDED = 600  # entries of one table
FOLD_WIDTH = 2  # columns
MAX_LIT = 4
MAX_ROWS = 24


class Look(NamedTuple):
    """How tables are cut: entries a line, lines a table, and which blocks no fold may hide."""

    columns: int
    num_lines: int
    lit: Collection[int]
    unfolded: Collection[str]  # keys of the requests whose tables are drawn to the end


def tables(
    moment: Moment, text: Text, *, lit: Collection[int] = (), unfolded: Collection[str] = ()
) -> dict[str, Any]:
    """Requests that hold blocks, in order of arrival; the blocks of `lit` stay in sight."""
    state = moment.state
    holding = [request for request in state.requests.values() if any(request.block_tables)]
    names = group_names(state, text) if len(state.groups) > 1 else [""]
    shown = holding[:MAX_ROWS]
    num_lines = max(2, NUM_LINES // max(1, len(shown) * len(names)))
    look = Look(_columns(state.num_blocks), num_lines, lit, unfolded)
    rows = []
    for request in shown:
        groups = [
            {"name": name, "items": _items(moment, request, group_id, look)}
            for group_id, name in enumerate(names)
        ]
        row: dict[str, Any] = {"request": request.request_id, "key": key_of(request)}
        row["groups"] = groups
        rows.append(row | ({"unfolded": True} if key_of(request) in unfolded else {}))
    is_roomy = state.num_blocks <= ROOMY_BLOCKS
    return {
        "title": text("tables.title"),
        "hint": text("tables.hint" if is_roomy else "tables.hint_lines"),
        "columns": 0 if is_roomy else look.columns,
        "who": max((len(request.request_id) for request in shown), default=0),
        "rows": rows,
        "empty": "" if rows else text("tables.empty"),
        "more": text.count("rows.more", len(holding) - MAX_ROWS) if len(holding) > MAX_ROWS else "",
        "hidden_word": text("tables.hidden"),
        "holes_word": text("tables.holes"),
        "cell_label": text("tables.cell"),
        "hole_label": text("tables.hole"),
        "hit_label": text("tables.cell_hit"),
        "unfold_hint": text("tables.unfold"),
        "fold_word": text("tables.fold"),
        "roomy": is_roomy,
    }


def key_of(request: RequestState) -> str:
    """Under which the page remembers that this table is unfolded; a card of the request has its id."""
    return f"table {request.request_id}"


def _columns(num_blocks: int) -> int:
    """As many as fit with the longest block number, its ref count and the sign of a hit."""
    return 8 if num_blocks <= 100 else 5


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
    moment: Moment, request: RequestState, group_id: int, look: Look
) -> list[dict[str, Any]]:
    """Cells, and what stands for those between them that are not drawn."""
    state, touched = moment.state, moment.touched_blocks
    table = request.block_tables[group_id]
    num_hits = token_spans(state, request)[0] // state.group_block_sizes[group_id]
    items: list[dict[str, Any]] = []
    end = 0
    parts = _unfolded(table, look) if key_of(request) in look.unfolded else _parts(table, look)
    for part in [*parts, range(len(table), len(table))]:
        if part.start > end:
            holes = not any(table[end : part.start])
            items.append({"holes" if holes else "hidden": part.start - end})
        for index in part:
            cell = _cell(state, table[index], index, hit=index < num_hits)
            items.append(cell | ({"touched": True} if table[index] in touched else {}))
        end = part.stop
    return items


def _unfolded(table: Sequence[int], look: Look) -> list[range]:
    num = len(table)
    return kept(num, range(MAX_UNFOLDED - FOLD_WIDTH), range(num - look.columns, num))


def _parts(table: Sequence[int], look: Look) -> list[range]:
    """Whole lines from either end, so that the last line ends where the table does; of the holes that
    a window leaves, two and the last."""
    num, columns = len(table), look.columns
    num_holes = next((index for index, id_ in enumerate(table) if id_), num)
    has_holes = num_holes > columns
    if num <= look.num_lines * columns and not has_holes:
        return [range(num)]
    num_first = 1 if has_holes else max(1, look.num_lines // 2)
    first = range(2 if has_holes else num_first * columns - FOLD_WIDTH)
    start = num - (look.num_lines - num_first) * columns
    found = [index for index, id_ in enumerate(table) if id_ in look.lit] if look.lit else []
    return kept(
        num,
        first,
        range(num_holes - 1, num_holes) if has_holes else range(0),
        range(max(start, num_holes - 1) if has_holes else start, num),
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
