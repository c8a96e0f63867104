"""The pool map: one cell per block, coloured by what the block is doing."""

import base64
from typing import Any

from engine.trace.state import State
from views.figures.moment import Moment, block_state
from views.text import Text
from views.theme import BLOCK_STATES

MAX_CELLS = 256  # more are one image: 131,928 buttons would take seconds
WORDS = (
    "hover",
    "hashed",
    "unwritten",
    "keys",
    "zoom_in",
    "zoom_out",
    "zoom_reset",
    "tile",
    "far",
    "near",
    "tiled",
    "lined",
)
MAX_REF = 63  # what six bits can say: more is drawn as 63+
UNWRITTEN, VALID = 1 << 6, 2 << 6  # a hash whose K and V are not computed yet, or are


def pool(
    moment: Moment, text: Text, *, reset: dict[str, Any] | None = None, counts: bool = True
) -> dict[str, Any]:
    """Cells for a small pool; one byte per block that was ever used, in base64, for a large one.

    `reset`: the button of a run that is live (`reset_button`). Without `counts` nobody is told how
    many blocks are used or free: that may be what is being asked.
    """
    state = moment.state
    payload: dict[str, Any] = {
        "num_blocks": state.num_blocks,
        "touched": sorted(moment.touched_blocks),
        "title": text("pool.title"),
        "summary": _summary(state, text) if counts else "",
        "hint": text("pool.hint"),
        "reset": reset,
        "legend": [[name, text.named("block_state", name)] for name in BLOCK_STATES],
        "legend_touched": text("pool.touched"),
        "legend_hashed": text("pool.hashed"),
        "legend_unwritten": text("pool.unwritten"),
    }
    if state.num_blocks <= MAX_CELLS:
        payload["cells"] = [_cell(state, id_, text) for id_ in range(state.num_blocks)]
    else:
        payload["codes"] = base64.b64encode(_codes(state)).decode()
        payload["max_ref"] = MAX_REF
        payload["words"] = {word: text.named("pool_word", word) for word in WORDS}
    return payload


def reset_button(text: Text, *, has_cache: bool, is_past: bool) -> dict[str, Any]:
    """What a reset of the prefix cache does from here, or why there is nothing to reset.

    It is offered while blocks are in use as well: then the engine refuses, and says why.
    """
    granted = "pool.reset_past" if is_past else "pool.reset_now"
    hint = text(granted if has_cache else "pool.reset_off")
    return {"word": text("pool.reset"), "hint": hint, "off": not has_cache}


def _summary(state: State, text: Text) -> str:
    return text.count(
        "pool.summary",
        len(state.cached),
        used=state.num_used_blocks,
        free=state.num_free_blocks,
        usable=state.num_blocks - 1,
    )


def _cell(state: State, block_id: int, text: Text) -> dict[str, Any]:
    name = block_state(state, block_id)
    block = state.blocks.get(block_id)
    ref_cnt = block.ref_cnt if block else 0
    cell: dict[str, Any] = {"state": name, "ref": ref_cnt}
    label = text("pool.cell", block=block_id, state=text.named("block_state", name), ref=ref_cnt)
    if block and block.block_hash:
        cell["hash"] = "valid" if block.kv_valid else "unwritten"
        label += text("pool.cell_hashed" if block.kv_valid else "pool.cell_unwritten")
    cell["label"] = label
    return cell


def _codes(state: State) -> bytes:
    """Ref count and hash of each block up to the last that was used; all behind it never were."""
    codes = bytearray(state.next_unused)
    for block_id, block in state.blocks.items():
        ref_cnt = block.ref_cnt
        code = ref_cnt if ref_cnt < MAX_REF else MAX_REF
        if block.block_hash is not None:
            code |= VALID if block.kv_valid else UNWRITTEN
        codes[block_id] = code
    return bytes(codes)
