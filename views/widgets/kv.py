"""The numbers in a block: read from the cache tensors of a live run, as long as they are still there."""

from typing import Any

from engine.trace.state import Cursor
from views import session
from views.figures.block.kv import Cache, Place, kv, sight
from views.runs import Run
from views.text import Text


def kv_of(
    run: Run, cursor: Cursor, text: Text, *, selected: int | None, place: Place
) -> dict[str, Any]:
    """The payload of `figures.kv.kv`, with numbers only where the block still holds them."""
    if selected is None:
        return {}
    seen = sight(run.trace, cursor, selected)
    shape = run.kv_shape(seen.group_id)
    is_coming_back = run.is_coming_back or session.waits_for_model()
    if shape is None or is_coming_back:
        ran_model = run.live is not None or run.trace.header.model is not None
        return kv(seen, text, is_coming_back=is_coming_back, ran_model=ran_model)
    cache = Cache(*shape)
    place = cache.nearest(place)
    numbers = run.peek_kv(selected, place.layer, place.head) if seen.is_intact else None
    return kv(seen, text, cache=cache, place=place, numbers=numbers)
