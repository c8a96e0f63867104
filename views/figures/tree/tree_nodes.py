"""What each node of the prefix trees shows: its tokens, its hash, its blocks, who ends there."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from engine.trace.state import State
from views.figures.moment import block_state, num_sharing, short_hash
from views.figures.tree.node_label import COLUMNS, Label, NodeLabels, columns_of, cut
from views.figures.tree.prefix_forest import Link, Node, PrefixForest, Root, link_hash, link_node
from views.figures.tree.prefix_walk import Walk
from views.figures.tree.tree_layout import FOLD, HASH, REST, Drawn
from views.figures.why.side_by_side import drawn as drawn_text
from views.figures.why.side_by_side import looks_alike, spelled_part
from views.text import Text

MAX_TEXTS = 120  # nodes up to which all tokens of their blocks are sent, for the hover
MAX_BLOCKS = 3  # of the twins in a node
MAX_CHIPS = 3  # requests that end at a node
CHARACTER, NODE, CHIP = 6.7, 40, 19  # px: width of a character, height of a node and of a chip
HASH_WIDTH, WIDE_EDGES, NARROW_EDGES = 50, 17, 11  # px: a short hash, borders and padding
SLIM_NODE, MAX_BESIDE = 22, 150  # px: height of a node in one line; room for a chip beside it
CACHED, UNWRITTEN, ABSENT, MIXED = "cached", "unwritten", "absent", "mixed"

Payload = dict[str, Any]


class Sheet(NamedTuple):
    """Everything that the nodes of one picture are made from."""

    state: State
    forest: PrefixForest
    walk: Walk | None
    ends: Sequence[Link]  # of the chains of requests
    drawn: Sequence[Drawn]
    on_path: Collection[Node]  # of the walked request


def node_payloads(sheet: Sheet, text: Text, none_hash: str) -> list[Payload]:
    """One for each drawn node, without its place. `none_hash`: hex, empty where it is unknown."""
    labels = NodeLabels(sheet.state)
    links = [_link(sheet, drawn) for drawn in sheet.drawn]
    chips, skips = _chips(sheet, text), _shared_starts(sheet.drawn, links, labels)
    payloads = []
    for drawn, link in zip(sheet.drawn, links, strict=True):
        if link is None:
            payload = _root(sheet, drawn, text, none_hash)
        elif drawn.kind == REST:
            payload = _rest(drawn, text)
        else:
            label = labels.label(link, skips.get(drawn.parent, 0))
            is_one = drawn.kind == HASH
            payload = _hash(sheet, link, label) if is_one else _fold(sheet, drawn, label, text)
        if link is not None:
            payload["hash"] = link_hash(sheet.state, link)
        payload |= {"kind": drawn.kind, "parent": drawn.parent}
        if drawn.kind != REST and drawn.nodes[0] in sheet.on_path:
            payload["path"] = True
        ending = chips.get(drawn.nodes[-1], []) if drawn.kind != REST else []
        if ending:
            payload["requests"] = ending[:MAX_CHIPS]
        if len(ending) > MAX_CHIPS:
            payload["more_requests"] = text("tree.more", n=len(ending) - MAX_CHIPS)
        payloads.append(payload)
    return payloads


class NodeSize(NamedTuple):
    """In px; texts stand in a font whose width is known. A narrow node may lack its short hash.

    A slim one is one line, and where nothing follows it, the requests that end there stand beside it.
    """

    wide: int
    narrow: int
    narrow_with_hash: int
    height: int
    slim: int
    slim_height: int
    beside: int


def node_size(payload: Payload, *, is_last: bool) -> NodeSize:
    blocks, requests = payload.get("blocks", ()), payload.get("requests", ())
    columns = own = payload.pop("columns")
    for request_id, rest, _ in requests:
        columns = max(columns, min(len(request_id) + len(rest) + 1, COLUMNS + 1))
    chips = sum(
        12 + max(18, 7 * len(str(id_)) + (5 * len(f"×{ref}") if ref else 0))
        for id_, _, ref in blocks
    )
    chips += 22 if "more" in payload else 0
    foot = chips + (HASH_WIDTH if "short" in payload else 0)
    words = columns * CHARACTER
    num_chips = len(requests) + ("more_requests" in payload)
    beside = [min(MAX_BESIDE, 20 + CHARACTER * (len(id_) + len(rest))) for id_, rest, _ in requests]
    return NodeSize(
        round(max(words, foot) + WIDE_EDGES),
        round(max(words, chips) + NARROW_EDGES),
        foot + NARROW_EDGES,
        NODE + CHIP * num_chips,
        round(own * CHARACTER + chips + NARROW_EDGES),
        SLIM_NODE + (0 if is_last else CHIP * num_chips),
        round(sum(beside)) + 4 + (30 if num_chips > len(requests) else 0) if is_last else 0,
    )


def _root(sheet: Sheet, drawn: Drawn, text: Text, none_hash: str) -> Payload:
    root, groups = drawn.nodes[0], sheet.state.groups
    assert isinstance(root, Root)
    roots = [each.nodes[0] for each in sheet.drawn if isinstance(each.nodes[0], Root)]
    names = _told_apart(root.lora_name, [each.lora_name for each in roots])
    salts = _told_apart(root.cache_salt, [each.cache_salt for each in roots])
    short_keys, keys = (
        [text("tree.lora", name=name)] * bool(name) + [text("tree.salt", salt=salt)] * bool(salt)
        for name, salt in zip(names, salts, strict=True)
    )
    label = text("tree.none_hash")
    if len(groups) > 1:
        label = text("tree.group", group=root.group_id, type=groups[root.group_id]["type"])
    below = ", ".join(short_keys) or (f"#{short_hash(none_hash)}" if none_hash else "")
    words = ", ".join(keys) or text("tree.no_keys")
    return {
        "k": repr(tuple(root)),
        **_words(label, below),
        "title": text("tree.root", hash=none_hash or "?", keys=words, group=root.group_id),
    }


def _told_apart(own: str | None, every: Iterable[str | None]) -> tuple[str, str]:
    """For the node, and to read on: code points where another root's looks the same."""
    if not own:
        return "", ""
    twins = (each for each in every if each and each != own and looks_alike(each, own))
    part = spelled_part(own, next(twins, own))
    return (f"…{part}", f"{drawn_text(own)} ({part})") if part else (drawn_text(own),) * 2


def _hash(sheet: Sheet, link: Link, label: Label) -> Payload:
    state = sheet.state
    node = str(link_node(state, link))
    block_ids = state.cached.get(node, ())
    payload: Payload = {
        "k": _key(node),
        "short": f"#{short_hash(link_hash(state, link))}",
        "place": link.place,
        "state": _state(state, block_ids),
        "label": label.short,
        "columns": label.columns,
        "blocks": [_block(state, id_) for id_ in block_ids[:MAX_BLOCKS]],
    }
    if len(block_ids) > MAX_BLOCKS:
        payload["more"] = len(block_ids) - MAX_BLOCKS
    if len(sheet.drawn) <= MAX_TEXTS:
        payload["text"] = label.whole
    if sheet.walk and node in sheet.walk.marks:
        payload["mark"] = list(sheet.walk.marks[node])
    return payload


def _block(state: State, block_id: int) -> list[int | str]:
    """[block, its state, how many share it]"""
    return [block_id, block_state(state, block_id), num_sharing(state, block_id)]


def _state(state: State, block_ids: Sequence[int]) -> str:
    """Of the oldest block, which is the one that a lookup returns."""
    if not block_ids:
        return ABSENT
    return CACHED if state.blocks[block_ids[0]].kv_valid else UNWRITTEN


def _fold(sheet: Sheet, drawn: Drawn, label: Label, text: Text) -> Payload:
    """How the run begins, how long it is, and how much of it is cached if that is not all."""
    num_hashes, marks = drawn.num_hashes, sheet.walk.marks if sheet.walk else {}
    num_cached = sum(node in sheet.state.cached for node in drawn.nodes)
    is_mixed = 0 < num_cached < num_hashes
    below = text("tree.fold", n=num_hashes)
    if is_mixed:
        below = text("tree.fold_cached", n=num_hashes, cached=num_cached)
    payload: Payload = {
        "k": f"fold {_key(str(drawn.nodes[0]))}",
        "label": label.short,
        "below": below,
        "columns": max(label.columns, columns_of(below)),
        "state": MIXED if is_mixed else CACHED if num_cached else ABSENT,
        "title": text("tree.fold_title", n=num_hashes, cached=num_cached),
    }
    walked = [marks[node] for node in drawn.nodes if node in marks]
    if walked:
        payload["mark"] = [walked[0].kind, walked[0].number, walked[-1].number]
    return payload


def _rest(drawn: Drawn, text: Text) -> Payload:
    return {
        "k": f"rest {_key(str(drawn.nodes[0]))}",
        **_words(
            text.count("tree.branches", len(drawn.nodes)),
            text.count("tree.hashes", drawn.num_hashes),
        ),
        "title": text("tree.rest_title"),
    }


def _link(sheet: Sheet, drawn: Drawn) -> Link | None:
    """Of its first hash; a root has none."""
    first = drawn.nodes[0]
    return None if isinstance(first, Root) else sheet.forest.link(sheet.state, first)


def _words(label: str, below: str) -> Payload:
    """The two lines of a node that is no single hash."""
    label, below = cut(label, COLUMNS), cut(below, COLUMNS)
    return {"label": label, "below": below, "columns": max(columns_of(label), columns_of(below))}


def _key(node: str) -> str:
    """Enough of a cache key to tell nodes apart: the end of the hash, and the group."""
    return node[-24:]


def _chips(sheet: Sheet, text: Text) -> dict[Node, list[list[str]]]:
    """Node -> [request, what its last block still lacks, its status] of those who end there."""
    chips: dict[Node, list[list[str]]] = defaultdict(list)
    for link in sheet.ends:
        request, size = link.request, sheet.state.group_block_sizes[link.group_id]
        num_more = request.num_tokens - (link.place + 1) * size
        rest = f"+{num_more}" if num_more else ""
        status = text.named("status", request.status)
        chips[link_node(sheet.state, link)].append([request.request_id, rest, status])
    return chips


def _shared_starts(
    every: Sequence[Drawn], links: Sequence[Link | None], labels: NodeLabels
) -> dict[int, int]:
    """Place of a parent -> how many tokens its branches have in common at their start."""
    branches: dict[int, list[Link]] = defaultdict(list)
    for drawn, link in zip(every, links, strict=True):
        if link is not None and drawn.kind in (HASH, FOLD):
            branches[drawn.parent].append(link)
    return {
        parent: _num_shared(labels.token_ids(link) for link in links)
        for parent, links in branches.items()
        if len(links) > 1
    }


def _num_shared(blocks: Iterable[Sequence[int]]) -> int:
    columns = zip(*blocks, strict=True)
    return sum(1 for _ in takewhile(lambda ids: len(set(ids)) == 1, columns))
