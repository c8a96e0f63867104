"""The timeline: all blocks and all requests over the whole run, or over what is near the cursor."""

from collections.abc import Iterable
from typing import Any

from engine.trace.block_log import BLOCK_STATES
from engine.trace.history import History, history_of
from engine.trace.state import Cursor
from engine.trace.trace import Trace
from views.figures.time.strip import Cut, Runs, Strip, packed_block, run_strip, window_strip
from views.text import Text

ZOOMS = ("run", "near")
NEAR = 120  # positions
STATUSES = ("WAITING", "RUNNING", "PREEMPTED", "FINISHED")
MAX_OWN_LANES = 12  # more requests share lanes, one after the other
MAX_LANES = 24
WORDS = (
    "cursor",
    "keys",
    "block",
    "hover",
    "hover_many",
    "hover_state",
    "hover_lane",
    "hover_step",
    "evicted",
    "axis",
)


def timeline(
    trace: Trace, cursor: Cursor, text: Text, *, zoom: str = "run", selected: int | None = None
) -> dict[str, Any]:
    """`targets` is where a click on a column goes; `cells` is `Strip.packed`.

    `lanes` and `takers` hold runs [column, value, ..]: indices into `statuses`, numbers in `names`.
    """
    history = history_of(trace)
    position = trace.position(cursor)
    strip = _strip(trace, position, zoom)
    cut, takers = strip.cut, strip.takers
    targets = cut.last_positions(history.last_position)
    lanes, num_left_out = _lanes(history, cut)
    numbers = {number for runs in takers or () for number in runs[1::2]}
    numbers.update(number for lane in lanes for number, _ in lane)
    return {
        "title": text("timeline.title"),
        "hint": _hint(history, cut, text),
        "zooms": _zooms(history, zoom, text),
        "at": cut.column(position),
        "targets": targets,
        "steps": [history.cursor_at(target).step for target in targets],
        "cells": strip.packed(),
        "num_rows": len(strip.rows),
        "takers": takers and [list(runs) for runs in takers],
        "per_row": cut.blocks_per_row,
        "num_used": history.blocks.num_used_blocks,
        "own": _own_row(history, selected, cut),
        "lanes": lanes,
        "left_out": text.count("timeline.left_out", num_left_out) if num_left_out else "",
        "names": {number: history.request_ids[number] for number in sorted(numbers)},
        "states": [[name, text.named("block_state", name)] for name in BLOCK_STATES],
        "statuses": [text.named("timeline_status", name) for name in STATUSES],
        "words": {name: text.named("timeline_word", name) for name in WORDS},
        "empty": "" if history.request_ids else text("timeline.empty"),
    }


def _is_all_near(history: History) -> bool:
    return history.last_position < NEAR


def _strip(trace: Trace, position: int, zoom: str) -> Strip:
    """Near the cursor the window moves by halves, so that it stands still for most steps."""
    history = history_of(trace)
    if zoom != "near" or _is_all_near(history):
        return run_strip(trace)
    half = NEAR // 2
    first = position // half * half - half // 2
    first = max(0, min(first, history.last_position + 1 - NEAR))
    return window_strip(history, first, first + NEAR - 1)


def _zooms(history: History, zoom: str, text: Text) -> list[list[Any]]:
    """[name, word, is chosen]; none where the whole run is near the cursor."""
    if _is_all_near(history):
        return []
    return [[name, text.named("timeline_zoom", name), name == zoom] for name in ZOOMS]


def _hint(history: History, cut: Cut, text: Text) -> str:
    parts = [text.count("timeline.blocks", history.blocks.num_used_blocks)]
    if cut.blocks_per_row > 1:
        parts.append(text("timeline.per_row", n=cut.blocks_per_row))
    if cut.stride > 1:
        parts.append(text("timeline.per_column", n=cut.stride))
    return text.listed(parts)


def _own_row(history: History, selected: int | None, cut: Cut) -> dict[str, Any] | None:
    """The selected block where its row is not its own."""
    is_used = selected is not None and 1 <= selected <= history.blocks.num_used_blocks
    if selected is None or not is_used or cut.blocks_per_row == 1:
        return None
    return {"block": selected, "cells": packed_block(history, selected, cut)}


def _lanes(history: History, cut: Cut) -> tuple[list[list[tuple[int, Runs]]], int]:
    """Requests in lanes, and how many found no place. Few have a lane each; many follow each other."""
    lanes: list[list[tuple[int, Runs]]] = []
    free_from: list[int] = []  # the first free column of each lane
    num_left_out = 0
    seen = list(_seen(history, cut))
    for number, runs in seen:
        place = len(lanes)
        if len(seen) > MAX_OWN_LANES:
            fitting = (lane for lane, free in enumerate(free_from) if free < runs[0])
            place = next(fitting, place)
        if place == MAX_LANES:
            num_left_out += 1
            continue
        if place == len(lanes):
            lanes.append([])
            free_from.append(0)
        lanes[place].append((number, runs))
        is_over = runs[-1] == STATUSES.index("FINISHED")
        free_from[place] = runs[-2] + 1 if is_over else cut.num_columns
    return lanes, num_left_out


def _seen(history: History, cut: Cut) -> Iterable[tuple[int, Runs]]:
    """Requests that are there in these columns, in order of arrival, with the runs of their lanes."""
    for number, request_id in enumerate(history.request_ids):
        runs: Runs = []
        for position, status in history.lanes[request_id]:
            column = cut.column(position)
            if column >= cut.num_columns:
                break
            if runs and runs[-2] == max(0, column):
                del runs[-2:]
            runs += (max(0, column), STATUSES.index(status.split("_")[0]))
        if runs and runs != [0, STATUSES.index("FINISHED")]:
            yield number, runs
