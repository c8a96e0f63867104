"""Hash chains: each full block's hash stands for all tokens up to its end."""

from typing import Any

from engine.trace.entries import Lookup, RequestState
from engine.trace.state import State, cache_key
from views.figures.moment import Moment, folded, short_hash
from views.text import Text

HEAD, TAIL = 12, 6
MAX_ROWS = 16


def chains(moment: Moment, text: Text, *, selected: int | None = None) -> dict[str, Any]:
    """One row per request: its links, which were hit, where the lookup stopped and why."""
    state = moment.state
    every = sorted(state.requests.values(), key=lambda request: request.is_finished)
    rows = [_row(state, request, text) for request in every[:MAX_ROWS]]
    return {
        "title": text("chains.title"),
        "hint": text("chains.hint"),
        "rows": rows,
        "empty": "" if rows else text("chains.empty"),
        "more": text.count("rows.more", len(every) - MAX_ROWS) if len(every) > MAX_ROWS else "",
        "legend": [[name, text.named("link_state", name)] for name in ("hit", "cached", "absent")],
        "link_label": text("chains.link"),
        "stop_word": text("chains.stop"),
        "hidden_word": text("tables.hidden"),
        "selected": selected,
    }


def _row(state: State, request: RequestState, text: Text) -> dict[str, Any]:
    hashes = request.block_hashes
    size = state.block_size
    num_hits = _num_hit_links(state, request)
    links = [_link(state, request, index, hit=index < num_hits) for index in range(len(hashes))]
    head, tail = folded(links, HEAD, TAIL)
    num_partial = request.num_tokens - len(hashes) * size
    return {
        "request": request.request_id,
        "finished": request.is_finished,
        "head": head,
        "tail": tail,
        "num_hidden": len(links) - len(head) - len(tail),
        "partial": text("chains.partial", n=num_partial, size=size) if num_partial else "",
        "sentence": _sentence(request, len(hashes), size, text),
    }


def _num_hit_links(state: State, request: RequestState) -> int:
    """Hits of the admission that is in force, or of a lookup in this step."""
    lookup = request.lookup
    is_fresh = lookup is not None and lookup.step == state.step and state.in_step
    if request.status == "RUNNING" or request.is_finished:
        return request.num_hit_tokens // state.block_size
    if is_fresh and lookup is not None and request.request_id not in state.preempted:
        return lookup.num_hit_tokens // state.block_size
    return 0


def _link(state: State, request: RequestState, index: int, *, hit: bool) -> dict[str, Any]:
    block_hash = request.hash_log[index]
    block_ids = state.cached.get(cache_key(block_hash, 0), ())
    link: dict[str, Any] = {
        "hash": short_hash(block_hash),
        "full": block_hash,
        "index": index,
        "state": "hit" if hit else "cached" if block_ids else "absent",
        "blocks": list(block_ids[:8]),
    }
    if request.lookup is not None and block_hash == request.lookup.missed_hash:
        link["stop"] = True
    return link


def _sentence(request: RequestState, num_hashes: int, size: int, text: Text) -> str:
    """Of a request that goes on; a finished one only shows what is left of its chain."""
    lookup = request.lookup
    if request.is_finished:
        return ""
    if lookup is None:
        return text("chains.not_looked_up")
    return text(
        "chains.found",
        step=lookup.step,
        hit=lookup.num_hit_tokens // size,
        of=num_hashes,
        reason=_reason(lookup, text),
    )


def _reason(lookup: Lookup, text: Text) -> str:
    missed = short_hash(lookup.missed_hash) if lookup.missed_hash else ""
    return text(f"chain_stop.{lookup.stop_reason}", hash=missed)
