"""The real K and V of a block as a heat map: rows are slots, columns the dimensions of one head.

The numbers are in the cache tensors, not in the trace, and those hold what was written last. So a slot
is drawn only while nothing was written to it after the cursor. What its holder appended later is left
out, and said; once a slot of those that had been written is written again, nothing is drawn: a
picture of two requests' numbers would be true of no moment.
"""

import base64
import math
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

from engine.trace.history import history_of
from engine.trace.state import Cursor
from engine.trace.trace import Trace
from views.text import Text

QUANTILE = (
    0.98  # of the absolute values: beyond it the colour is full, or a few would pale the rest
)

Matrix = Sequence[Sequence[float]]  # [block_size][head_size]


class Sight(NamedTuple):
    """What of a block can still be read."""

    num_slots: int = 0  # written at the cursor
    group_id: int = 0
    overwritten_at: Cursor | None = None
    appended_at: Cursor | None = None  # the first of the slots behind them, if it is intact

    @property
    def is_intact(self) -> bool:
        return self.num_slots > 0 and self.overwritten_at is None


class Place(NamedTuple):
    """Which part of a block's K and V."""

    layer: int = 0
    head: int = 0

    @classmethod
    def from_browser(cls, sent: Any) -> "Place":
        """What a browser sent; 0 for everything that is no index."""
        fields = sent if isinstance(sent, dict) else {}
        return cls(_index(fields.get("layer")), _index(fields.get("head")))


def _index(given: Any) -> int:
    is_number = isinstance(given, int) and not isinstance(given, bool)
    return given if is_number and given >= 0 else 0


FIRST = Place()


class Cache(NamedTuple):
    """What a live run's cache tensors hold for the blocks of one KV-cache group."""

    layers: tuple[int, ...]
    num_kv_heads: int

    def nearest(self, asked: Place) -> Place:
        """`asked`, or what comes closest: layers of another group lie in other blocks."""
        layer = min(self.layers, key=lambda layer: abs(layer - asked.layer))
        return Place(layer, min(asked.head, self.num_kv_heads - 1))


def sight(trace: Trace, cursor: Cursor, block_id: int) -> Sight:
    """Slots that are appended later do no harm and are left out; the first that is written again does."""
    block = trace.at(cursor).blocks.get(block_id)
    if block is None or not block.num_written_slots:
        return Sight()
    history = history_of(trace)
    here, num_slots = trace.position(cursor), block.num_written_slots
    over = history.overwritten_at(block_id, here, num_slots)
    if over is not None:
        return Sight(num_slots, block.group_id, overwritten_at=history.cursor_at(over))
    later = history.appended_at(block_id, here, num_slots)
    where = None if later is None else history.cursor_at(later)
    return Sight(num_slots, block.group_id, appended_at=where)


def kv(
    seen: Sight,
    text: Text,
    *,
    cache: Cache | None = None,
    place: Place = FIRST,
    numbers: tuple[Matrix, Matrix] | None = None,
    is_coming_back: bool = False,
    ran_model: bool = True,
) -> dict[str, Any]:
    """`cache` is None for a run that is not live, or not yet: `is_coming_back`. `numbers` are those of `place`, K and V."""
    payload: dict[str, Any] = {"title": text("kv.title"), "why_not": "", "pictures": []}
    if not seen.num_slots:
        return payload | {"why_not": text("kv.not_computed")}
    if not ran_model:
        return payload | {"why_not": text("kv.scripted")}
    if is_coming_back:
        return payload | {"why_not": text("kv.repeating")}
    if cache is None:
        return payload | {"why_not": text("kv.not_in_file")}
    if seen.overwritten_at is not None:
        return payload | {"why_not": text("kv.overwritten", step=seen.overwritten_at.step)}
    assert numbers is not None, "the numbers are there and were not read"
    names = (text("kv.keys"), text("kv.values"))
    return payload | {
        "pictures": [_picture(*named, seen.num_slots) for named in zip(names, numbers)],
        "choosers": [
            ["layer", text("kv.layer"), list(cache.layers), place.layer],
            ["head", text("kv.head"), list(range(cache.num_kv_heads)), place.head],
        ],
        "hover": text("kv.hover"),
        "span": text("kv.span"),
        "range": text("kv.range"),
        "keys": text("kv.arrow_keys"),
        "not_written": text("kv.slot_not_written"),
        "hint": text.told(_hint(seen, text)),
    }


def _hint(seen: Sight, text: Text) -> list[str]:
    said = [text.count("kv.hint", seen.num_slots)]
    if seen.appended_at is not None:
        said.append(text("kv.later", slot=seen.num_slots, step=seen.appended_at.step))
    return said


def _picture(name: str, matrix: Matrix, num_slots: int) -> dict[str, Any]:
    """All slots of the block, in float32; those that were not written are NaN."""
    width = len(matrix[0])
    unwritten = [math.nan] * width
    rows = [row if slot < num_slots else unwritten for slot, row in enumerate(matrix)]
    values = array("f", [value for row in rows for value in row])
    finite = sorted(value for value in values if math.isfinite(value))
    sizes = sorted(map(abs, finite)) or [0.0]
    return {
        "name": name,
        "rows": len(rows),
        "columns": width,
        "values": base64.b64encode(values.tobytes()).decode(),  # little-endian on all we run on
        "lowest": finite[0] if finite else 0.0,
        "highest": finite[-1] if finite else 0.0,
        "full": sizes[min(len(sizes) - 1, int(QUANTILE * len(sizes)))],
    }
