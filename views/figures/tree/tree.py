"""The prefix trees of everything in the cache, with the requests as paths through them.

A node is a hash and shows the blocks that are cached under it; the parent of all first blocks is at
the left. A request's name stands at its last full block. The lookup of one request is numbered from
hit to hit up to where it stopped.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from engine.trace.state import State
from engine.trace.trace import Trace
from views.figures.moment import Moment, block_words
from views.figures.selection import NOTHING, Selection
from views.figures.tree.hash_inputs import find_link, first_parent
from views.figures.tree.hash_recipe import recipe
from views.figures.tree.prefix_forest import (
    Counts,
    Link,
    Node,
    PrefixForest,
    Root,
    forest_of,
    last_link,
    link_node,
)
from views.figures.tree.prefix_walk import HELD, HIT, HOLE, MISS, Walk, walk
from views.figures.tree.tree_layout import (
    GAP_X,
    NARROW_GAP_X,
    SLIM_GAP,
    Wish,
    boxes,
    drawn_nodes,
)
from views.figures.tree.tree_nodes import Sheet, node_payloads, node_size
from views.text import Text

MAX_TREE = 5_000  # hashes; of more only the counts per depth and the chosen path are drawn
MAX_PENDING = 4_000  # hashes of live requests that the tree looks after
MAX_DEPTHS = 24  # rows of counts

LEGEND = {
    "cached": "tree.cached",
    "unwritten": "tree.unwritten",
    "absent": "tree.absent",
    "twins": "tree.twins",
    "request": "tree.request",
}
MARKS = {HIT: "tree.hit", HOLE: "tree.hole", MISS: "tree.miss", HELD: "tree.held"}


def tree(
    moment: Moment, text: Text, *, trace: Trace, selection: Selection = NOTHING
) -> dict[str, Any]:
    """The payload. A chosen request is walked; a chosen hash or block gets its recipe."""
    state = moment.state
    walked = walk(moment, text, selection.request_id)
    block_hash = _chosen_hash(state, selection)
    chosen = find_link(state, block_hash) if block_hash else None
    is_large = len(state.cached) > MAX_TREE
    nodes: list[dict[str, Any]] = []
    lock, forest = forest_of(trace)
    with lock:
        if state.config["enable_prefix_caching"]:
            sheet = _sheet(state, forest, walked=walked, chosen=chosen)
            none_hash = first_parent(trace.header)
            nodes = _placed(node_payloads(sheet, text, none_hash.hex() if none_hash else ""), sheet)
        counts = forest.counts(state) if state.cached else None
    return {
        "title": text("tree.title"),
        "summary": _summary(counts, text),
        "sentence": walked.sentence if walked else text("tree.hint") if nodes else "",
        "walked": walked.request.request_id if walked else None,
        "nodes": nodes,
        "focus": _focus(nodes, block_hash, _asked(moment, selection)),
        "gaps": [GAP_X, NARROW_GAP_X, SLIM_GAP],
        "empty": "" if nodes or is_large else _empty(state, text),
        "depths": _depths(counts, text) if counts and is_large else None,
        "recipe": recipe(state, trace.header, block_hash, text) if block_hash else None,
        "legend": [[name, text(key)] for name, key in LEGEND.items()],
        "signs": sorted(_signs(nodes)),
        "marks": {name: text(key) for name, key in MARKS.items()},
        "node_label": text("tree.node"),
        "block_label": text("tree.block"),
        "block_words": block_words(text),
        "request_label": text("tree.request_ends"),
    }


def _signs(nodes: Sequence[dict[str, Any]]) -> set[str]:
    """Which entries of the legend there is something to see of."""
    signs = {str(node.get("state")) for node in nodes} & set(LEGEND)
    signs |= {"twins" for node in nodes if len(node.get("blocks", ())) > 1}
    return signs | {"request" for node in nodes if node.get("requests")}


def _chosen_hash(state: State, selection: Selection) -> str | None:
    if selection.block_id is None:
        return selection.block_hash
    block = state.blocks.get(selection.block_id)
    return block.block_hash if block else None


def _ends(state: State, walked: Walk | None, *, only_walked: bool) -> list[Link]:
    """The last full block of each live request, per group; of very many, the first ones."""
    requests = [] if only_walked else list(state.live_requests().values())
    if walked and walked.request.request_id not in [r.request_id for r in requests]:
        requests.insert(0, walked.request)
    ends: list[Link] = []
    num_pending = 0
    for request in requests:
        if num_pending <= MAX_PENDING:
            num_pending += request.num_block_hashes
            ends += [last_link(state, request, group) for group in range(len(state.groups))]
    return ends


def _sheet(
    state: State, forest: PrefixForest, *, walked: Walk | None, chosen: Link | None
) -> Sheet:
    is_large = len(state.cached) > MAX_TREE
    ends = _ends(state, walked, only_walked=is_large)
    pins = [*ends, chosen] if chosen else ends
    forest.move(state, pins, with_cached=not is_large)
    paths = [end for end in ends if walked and end.request is walked.request]
    on_path = {node for end in paths for node in forest.path(link_node(state, end))}
    alone: set[Node] = set()
    if chosen:
        alone.add(link_node(state, chosen))
    kept = {node for one in alone for node in forest.path(one)} | on_path
    if walked:
        alone |= {node for node, mark in walked.marks.items() if mark.kind in (MISS, HELD)}
    wish = Wish(_order(state, forest), kept, alone, {link_node(state, end) for end in ends})
    return Sheet(state, forest, walked, ends, drawn_nodes(forest, wish), frozenset(on_path))


def _order(state: State, forest: PrefixForest) -> Callable[[Node], tuple[int | str, ...]]:
    """Branches stand in the order in which the requests arrived that made them."""
    arrival = {request_id: place for place, request_id in enumerate(state.requests)}

    def order(node: Node) -> tuple[int | str, ...]:
        if isinstance(node, Root):
            return node.group_id, node.lora_name or "", node.cache_salt or ""
        return arrival[forest.link(state, node).request.request_id], node

    return order


def _placed(nodes: Sequence[dict[str, Any]], sheet: Sheet) -> list[dict[str, Any]]:
    """Each node three times: in its wide box, as [left, width, whether its short hash fits] in a narrow
    one of the same row, and as [left, top, width, height, room for the requests beside it] in one
    line. The page takes the first that it has room for."""
    parents = {drawn.parent for drawn in sheet.drawn}
    sizes = [node_size(node, is_last=i not in parents) for i, node in enumerate(nodes)]
    wide = boxes(sheet.drawn, [(size.wide, size.height) for size in sizes])
    narrow = boxes(sheet.drawn, [(size.narrow, size.height) for size in sizes], NARROW_GAP_X)
    in_line = [(size.slim, size.slim_height) for size in sizes]
    slim = boxes(sheet.drawn, in_line, SLIM_GAP, SLIM_GAP)
    return [
        node
        | {"x": box.left, "y": box.top, "w": box.width, "h": size.height}
        | {"narrow": [small.left, small.width, size.narrow_with_hash <= small.width]}
        | {"slim": [line.left, line.top, line.width, size.slim_height, size.beside]}
        for node, size, box, small, line in zip(nodes, sizes, wide, narrow, slim, strict=True)
    ]


def _focus(
    nodes: Sequence[dict[str, Any]], block_hash: str | None, request_id: str | None
) -> str | None:
    """What should be in sight: the chosen hash, else the place where the lookup stopped, else the
    end of the chain of `request_id`."""
    for node in nodes:
        if block_hash and node.get("hash") == block_hash:
            return str(node["k"])
    marked = [node for node in nodes if "mark" in node]
    stops = [node for node in marked if node["mark"][0] in (MISS, HELD)]
    path = [node for node in nodes if "path" in node]
    ends = [n for n in nodes if any(name == request_id for name, *_ in n.get("requests", ()))]
    found = [*stops[:1], *marked[-1:], *ends[:1], *path[-1:]]
    return str(found[0]["k"]) if found else None


def _asked(moment: Moment, selection: Selection) -> str | None:
    """Whose chain should be in sight: the chosen request's, else that of the sub-step."""
    named = [getattr(event, "request_id", None) for event in moment.events]
    known = [id_ for id_ in (selection.request_id, *named) if id_ in moment.state.requests]
    return known[0] if known else None


def _summary(counts: Counts | None, text: Text) -> str:
    if counts is None:
        return ""
    blocks = text.count("count.blocks", counts.num_blocks)
    return text.count("tree.summary", len(counts.cached), blocks=blocks)


def _empty(state: State, text: Text) -> str:
    if not state.config["enable_prefix_caching"]:
        return text("tree.off")
    return text("tree.empty")


def _depths(counts: Counts, text: Text) -> dict[str, Any]:
    """Of a cache that is too large to draw: how many hashes stand at which place of a chain."""
    width = -(-(max(counts.per_place) + 1) // MAX_DEPTHS)
    bars: Counter[int] = Counter()
    for place, count in counts.per_place.items():
        bars[place // width] += count
    most = max(bars.values())
    rows = []
    for bar in range(max(bars) + 1):
        first, last = bar * width, (bar + 1) * width - 1
        name = str(first) if width == 1 else text("tree.depth", first=first, last=last)
        rows.append([name, f"{bars[bar]:,}", round(bars[bar] / most, 4)])
    return {"title": text("tree.depths", n=f"{len(counts.cached):,}"), "rows": rows}
