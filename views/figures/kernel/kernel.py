"""The kernel's walk for one row of a step: source, launch, block table, tiles, and the steps through them.

Everything is the arithmetic of engine/runner/attention/tiling.py and paged_triton.py on the batch that
the trace has; scores stand there where a live run still has K and V of all that the row reads.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from engine.runner.attention.tiling import AttentionSizes
from engine.trace.state import Cursor, State
from engine.trace.trace import Trace
from views.figures.batch.attention import first_position
from views.figures.batch.batch import group_choices, place_of
from views.figures.batch.batch_rows import DrawnRows, Place, Share, shares_of, tokens_of
from views.figures.kernel.kernel_numbers import Fold, Numbers
from views.figures.kernel.kernel_source import kernel_source
from views.figures.kernel.kernel_steps import COLUMNS, shown_visits, steps_of
from views.figures.kernel.kernel_walk import (
    Launch,
    Program,
    Spot,
    is_walkable,
    launch_of,
    program_of,
    spots,
    window_of,
)
from views.figures.moment import block_state, num_finished_steps
from views.figures.selection import NOTHING, Selection
from views.text import Text

# Of the default model, where no model ran: SmolLM2-135M in bfloat16.
DEFAULT_SIZES = AttentionSizes(num_heads=9, num_kv_heads=3, head_size=64, itemsize=2)
GRID_AROUND = 15  # programs drawn on both sides of the row's own
TABLE_ENDS = 4  # entries of a block table drawn at both ends of what is read
DIGITS = 5
WORDS = (
    "back",
    "forward",
    "place",
    "walk",
    "source",
    "grid",
    "table",
    "rows",
    "head",
    "kv_head",
    "layer",
    "groups",
    "top",
    "total",
    "fade",
    "result",
    "read",
    "later",
    "outside",
    "hidden",
    "step_back",
    "step_forward",
    "run_next",
)


class Walk(NamedTuple):
    """One row of one step, as the kernel has it."""

    state: State  # right after schedule()
    shares: Sequence[Share]
    place: Place
    launch: Launch
    program: Program
    group_id: int


class Look(NamedTuple):
    """What a visitor chose beside the moment and the row."""

    group_id: int = 0
    kv_head: int = 0


FIRST_LOOK = Look()


def walk_of(
    trace: Trace,
    step: int,
    *,
    selection: Selection = NOTHING,
    look: Look = FIRST_LOOK,
    sizes: AttentionSizes = DEFAULT_SIZES,
) -> Walk | None:
    """None: nothing was scheduled in this step, or the group's mask is none of the kernel's."""
    state = trace.at(trace.after_schedule(step))
    group_id = look.group_id if look.group_id < len(state.groups) else 0
    if not state.is_scheduled or not state.scheduled or not is_walkable(state.groups[group_id]):
        return None
    shares = shares_of(state, group_id)
    place = place_of(shares, selection)
    launch = launch_of(
        shares,
        sizes,
        block_size=state.group_block_sizes[group_id],
        window=window_of(state.groups[group_id]),
    )
    kv_head = min(look.kv_head, sizes.num_kv_heads - 1)
    program = program_of(launch, shares, place.share, position=place.position, kv_head=kv_head)
    return Walk(state, shares, place, launch, program, group_id)


def kernel(
    trace: Trace, cursor: Cursor, text: Text, *, walk: Walk | None, can_go_on: bool = False
) -> dict[str, Any]:
    """What does not need K and V; `numbers_payload` is the rest."""
    step = trace.cursor_at(trace.position(cursor)).step
    source = kernel_source()
    payload: dict[str, Any] = {
        "title": text("kernel.title", step=step),
        "words": {name: text.named("kernel_word", name) for name in WORDS},
        "source": {"path": source.path, "lines": source.lines},
        "step": _step(trace, step, can_go_on=can_go_on),
    }
    if walk is None:
        return payload | {"empty": _why_empty(trace, step, text)}
    return payload | _about(walk, text)


def _about(walk: Walk, text: Text) -> dict[str, Any]:
    place, launch = walk.place, walk.launch
    drawn = DrawnRows(walk.state, walk.shares, launch.block_size, place)
    return {
        "beside": text(
            "kernel.row",
            row=place.share.first_row + walk.program.own_query,
            request=place.share.request.request_id,
            position=place.position,
        ),
        "sequences": drawn.sequences(text),
        "chosen": [place.share.request.request_id, place.position],
        "first_new": place.share.start,
        "groups": group_choices(walk.state, text),
        "group": walk.group_id,
        "grid": _grid(walk),
        "table": _table(walk, text),
        "columns": [
            [name, text.named("kernel_column", name), text.named("kernel_hint", name)]
            for name in COLUMNS
        ],
        "visits": [_visit(walk, visit, text) for visit in shown_visits(walk.program)],
        "steps": [
            each.to_payload()
            for each in steps_of(launch, walk.program, text, num_blocks=walk.state.num_blocks)
        ],
        "sizes": text(
            "kernel.sizes",
            heads=launch.sizes.num_heads,
            kv_heads=launch.sizes.num_kv_heads,
            size=launch.sizes.head_size,
            bytes=launch.sizes.itemsize,
        ),
        "kv_heads": [launch.sizes.num_kv_heads, walk.program.kv_head],
        "heads": _heads(walk),
    }


def _step(trace: Trace, step: int, *, can_go_on: bool) -> dict[str, Any]:
    """Where one can go from here; beyond what has run only where the engine can."""
    finished = num_finished_steps(trace)
    return {
        "number": step,
        "back": step - 1 if step > 0 else None,
        "forward": step + 1 if step + 1 < finished else None,
        "run": finished if can_go_on and step + 1 >= finished else None,
    }


def _why_empty(trace: Trace, step: int, text: Text) -> str:
    state = trace.at(trace.after_schedule(step))
    if not state.is_scheduled:
        return text("kernel.not_yet", step=step)
    return text("kernel.nothing" if not state.scheduled else "kernel.chunked", step=step)


def _heads(walk: Walk) -> list[int]:
    """Query heads of the group, by their number in the model."""
    group = walk.launch.sizes.group
    return list(range(walk.program.kv_head * group, (walk.program.kv_head + 1) * group))


def _grid(walk: Walk) -> dict[str, Any]:
    """The programs of the launch around the row's own; `kin`: of the same sequence."""
    launch, program = walk.launch, walk.program
    across, down = launch.num_programs
    own = program.tile * launch.num_splits
    first = max(0, min(own - GRID_AROUND, across - 2 * GRID_AROUND))
    last = min(across, max(own + launch.num_splits, first + 2 * GRID_AROUND))
    sequence = launch.tiles[program.tile][0]
    kin = [launch.tiles[each // launch.num_splits][0] == sequence for each in range(first, last)]
    return {
        "first": first,
        "kin": kin,
        "across": across,
        "down": down,
        "own": own,
        "split_of_visit": [program.visits[each][0] for each in shown_visits(program)],
        "kv_head": program.kv_head,
    }


def _table(walk: Walk, text: Text) -> list[Any]:
    """[entry, block, state] of the request's block table, long stretches folded."""
    table, size = walk.place.share.table, walk.launch.block_size
    first, last = walk.program.begin // size, (walk.program.end - 1) // size
    kept = {0, len(table) - 1}
    kept |= {*range(first - 1, first + TABLE_ENDS), *range(last - TABLE_ENDS, last + 2)}
    drawn: list[Any] = []
    index = 0
    while index < len(table):
        gap = index
        while gap < len(table) and gap not in kept:
            gap += 1
        if gap - index > 1:
            drawn.append({"fold": text.count("kernel.more_entries", gap - index)})
            index = gap
        else:
            drawn.append([index, table[index], block_state(walk.state, table[index])])
            index += 1
    return drawn


def _visit(walk: Walk, visit: int, text: Text) -> dict[str, Any]:
    split, tile = walk.program.visits[visit]
    loaded = spots(walk.launch, walk.program, tile)
    begin, end = tile * walk.launch.tiling.kv, (tile + 1) * walk.launch.tiling.kv
    first, stop = loaded[0].position, loaded[-1].position + 1
    tokens = tokens_of(walk.place.share, first, stop)
    rows: list[Any] = [_row(walk, spot, token) for spot, token in zip(loaded, tokens, strict=True)]
    if first > begin:
        rows.insert(0, _fold(begin, first, text))
    if end > stop:
        rows.append(_fold(stop, end, text))
    key = "kernel.tile_split" if walk.launch.num_splits > 1 else "kernel.tile"
    title = text(key, tile=tile, split=split, first=begin, last=end - 1)
    return {"title": title, "rows": rows}


def _fold(first: int, stop: int, text: Text) -> dict[str, str]:
    return {"fold": text.count("kernel.not_loaded", stop - first, first=first, last=stop - 1)}


def _row(walk: Walk, spot: Spot, token: list[Any]) -> list[Any]:
    """[position, drawn, kind, logical, block, its state, offset, slot, where its K begins, sight]"""
    drawn, _, kind = token
    _, _, stride_head = walk.launch.sizes.strides(walk.launch.block_size)
    at = spot.row_at + walk.program.kv_head * stride_head
    shown = block_state(walk.state, spot.physical)
    return [
        *(spot.position, drawn, kind, spot.logical, spot.physical, shown),
        *(spot.offset, spot.slot, at, spot.sight),
    ]


def first_read(walk: Walk) -> int:
    """The first position that the row itself reads."""
    return first_position(walk.state.groups[walk.group_id], walk.place.position)


def numbers_payload(walk: Walk, numbers: Numbers) -> dict[str, Any]:
    """By shown tile and head of the group; null stands for -inf."""
    return {
        "folds": [
            [_folded(fold) for fold in numbers.folds[visit]] for visit in shown_visits(walk.program)
        ],
        "out": [[_rounded(number) for number in out[:4]] for out in numbers.out],
    }


def _folded(fold: Fold) -> dict[str, Any]:
    return {
        "scores": [_rounded(score) for score in fold.scores],
        "weights": [_rounded(weight) for weight in fold.weights],
        "top": [_rounded(top) for top in fold.top],
        "total": [_rounded(total) for total in fold.total],
        "fade": _rounded(fold.fade),
    }


def _rounded(number: float) -> float | None:
    return float(f"{number:.{DIGITS}g}") if math.isfinite(number) else None
