"""The lookup of one request, walked from hash to hash: hit, hit, hit, and where it stopped and why."""

from typing import NamedTuple

from engine.trace.entries import Lookup, RequestState
from engine.trace.events import PrefixLookedUp
from engine.trace.state import NULL_BLOCK_ID, State
from views.figures.moment import Moment, short_hash
from views.figures.tree.prefix_forest import Link, Node, link_node, num_links
from views.text import Text

HIT, HOLE, MISS, HELD = "hit", "hole", "miss", "held"


class Mark(NamedTuple):
    """What the lookup did at a node.

    HIT: counted, as number `number`; HOLE: left out, because no later token looks that far back;
    MISS: asked for and not there; HELD: perhaps there, but not taken for another reason.
    """

    kind: str
    number: int


class Walk(NamedTuple):
    """The request that is looked at, and its last lookup."""

    request: RequestState
    marks: dict[Node, Mark]
    sentence: str


def walk(moment: Moment, text: Text, request_id: str | None) -> Walk | None:
    """Of the chosen request, else of the one whose lookup just happened."""
    state = moment.state
    if request_id not in state.requests:
        asked = [e.request_id for e in moment.events if isinstance(e, PrefixLookedUp)]
        request_id = asked[-1] if asked else None
    request = state.requests.get(request_id or "")
    if request is None:
        return None
    marks: dict[Node, Mark] = {}
    if request.lookup is not None and request.lookup.stop_reason != "skipped":
        for group_id in range(len(state.groups)):
            marks |= _marks(state, request, request.lookup, group_id)
    return Walk(request, marks, _sentence(state, request, text))


def _marks(state: State, request: RequestState, lookup: Lookup, group_id: int) -> dict[Node, Mark]:
    hits = lookup.hit_block_ids[group_id] if group_id < len(lookup.hit_block_ids) else ()
    marks = {}
    for place in range(min(len(hits) + 1, num_links(state, request, group_id))):
        if place == len(hits):
            kind = MISS if lookup.stop_reason == "miss" else HELD
        else:
            kind = HOLE if hits[place] == NULL_BLOCK_ID else HIT
        marks[link_node(state, Link(request, group_id, place))] = Mark(kind, place + 1)
    return marks


def _sentence(state: State, request: RequestState, text: Text) -> str:
    lookup = request.lookup
    if lookup is None:
        return text("tree.not_looked_up", request=request.request_id)
    if lookup.stop_reason == "end" and not lookup.num_hit_tokens:
        return text("tree.walked_none", request=request.request_id, step=lookup.step)
    missed = short_hash(lookup.missed_hash) if lookup.missed_hash else ""
    return text(
        "tree.walked",
        request=request.request_id,
        step=lookup.step,
        hit=lookup.num_hit_tokens // state.block_size,
        of=min(lookup.num_tokens // state.block_size, request.num_block_hashes),
        reason=text(f"chain_stop.{lookup.stop_reason}", hash=missed),
    )
