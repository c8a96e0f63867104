"""The free queue, from the block that is taken next to the one that was freed last.

Blocks leave anywhere and join only at the tail. So the list before this sub-step, with ghosts where
blocks left it, followed by those that joined, shows what happened as well as what is.
"""

from collections.abc import Collection, Iterable
from typing import Any

from engine.trace import events
from engine.trace.entries import BlockState
from engine.trace.state import State
from views.figures.moment import (
    ROOMY_BLOCKS,
    Moment,
    block_state,
    kept,
    known_bytes,
    named_blocks,
    short_hash,
)
from views.figures.tokens import request_pieces
from views.text import Text

HEAD, TAIL = 10, 8
NEAR = 1  # neighbours drawn on both sides of a block that left, or is lit
MAX_NEAR = 4  # such blocks in one picture
MAX_CONTENT = 16  # tokens of a forgotten block


def queue(moment: Moment, text: Text, *, lit: Collection[int] = ()) -> dict[str, Any]:
    """The list with its middle folded, who leaves next and what is forgotten with it."""
    state = moment.state
    victim = next(iter(state.free_queue_ends(1, 0)[0]), None)
    return {
        "title": text("queue.title"),
        "count": text.count("queue.count", state.num_free_blocks),
        "items": _items(moment, text, lit),
        "victim_block": victim,
        "roomy": state.num_blocks <= ROOMY_BLOCKS,
        "head_word": text("queue.head"),
        "tail_word": text("queue.tail"),
        "victim": _victim(state, victim, text),
        "moves": _moves(moment, text),
    }


class _Order:
    """The places of a free queue, without writing down the range of blocks that were never used."""

    def __init__(self, state: State) -> None:
        self.unused = range(state.next_unused, state.num_blocks)
        self.freed = list(state.freed)

    def __len__(self) -> int:
        return len(self.unused) + len(self.freed)

    def __getitem__(self, place: int) -> int:
        num_unused = len(self.unused)
        return self.unused[place] if place < num_unused else self.freed[place - num_unused]

    def place(self, block_id: int) -> int:
        if block_id in self.unused:
            return block_id - self.unused.start
        return len(self.unused) + self.freed.index(block_id)


def _is_free(state: State, block_id: int) -> bool:
    return block_id in state.freed or state.next_unused <= block_id < state.num_blocks


def _items(moment: Moment, text: Text, lit: Collection[int]) -> list[dict[str, Any]]:
    state, before = moment.state, moment.before or moment.state
    named = dict.fromkeys(id_ for event in moment.events for id_ in named_blocks(event))
    left = [id_ for id_ in named if _is_free(before, id_) and not _is_free(state, id_)]
    joined = {id_ for id_ in named if _is_free(state, id_) and not _is_free(before, id_)}
    order = _Order(before)
    ids = [*order.freed, *(id_ for id_ in state.freed if id_ in joined)] if joined else order.freed
    order.freed = ids
    near = [id_ for id_ in (*left, *lit) if id_ in joined or _is_free(before, id_)]
    return _folded(state, order, _parts(order, near), text, gone=set(left), joined=joined)


def _parts(order: _Order, near: Iterable[int]) -> list[range]:
    places = [order.place(id_) for id_ in list(near)[:MAX_NEAR]]
    return kept(
        len(order),
        range(HEAD),
        range(len(order) - TAIL, len(order)),
        *(range(place - NEAR, place + NEAR + 1) for place in places),
    )


def _folded(
    state: State,
    order: _Order,
    parts: list[range],
    text: Text,
    *,
    gone: Collection[int],
    joined: Collection[int],
) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    bytes_of = known_bytes(state)
    end = 0
    for part in [*parts, range(len(order), len(order))]:
        if part.start > end:
            items.append({"more": text("queue.more", n=part.start - end)})
        for place in part:
            node = _node(state, order[place], bytes_of, text)
            if node["block"] in gone:
                node |= {"ghost": True, "label": text("queue.ghost", block=node["block"])}
            if node["block"] in joined:
                node["joined"] = True
            items.append(node)
        end = part.stop
    return items


def _node(state: State, block_id: int, bytes_of: dict[int, bytes], text: Text) -> dict[str, Any]:
    block = state.blocks.get(block_id)
    name = block_state(state, block_id)
    label = text("queue.node", block=block_id, state=text.named("block_state", name))
    node: dict[str, Any] = {"block": block_id, "state": name, "label": label}
    if block and block.block_hash:
        node["hash"] = block.block_hash
        node["label"] += text(
            "queue.node_cached",
            hash=short_hash(block.block_hash),
            content=_content(block, bytes_of),
        )
    return node


def _content(block: BlockState, bytes_of: dict[int, bytes]) -> str:
    shown = block.token_ids[:MAX_CONTENT]
    drawn = request_pieces(shown, [bytes_of.get(id_, b"") for id_ in shown])
    return " ".join(piece.label for piece in drawn)


def _victim(state: State, block_id: int | None, text: Text) -> str:
    if block_id is None:
        return text("queue.empty")
    block = state.blocks.get(block_id)
    if block is None or block.block_hash is None:
        return text("queue.victim", block=block_id)
    hash_, content = short_hash(block.block_hash), _content(block, known_bytes(state))
    return text("queue.victim_cached", block=block_id, hash=hash_, content=content)


def _moves(moment: Moment, text: Text) -> list[str]:
    """Where blocks left and entered the queue in this sub-step."""
    moves = []
    for event in moment.events:
        ids: list[int] = []
        match event:
            case events.BlocksTaken(block_ids=block_ids):
                moves.append(text("queue.left_head", blocks=text.ids(block_ids)))
            case events.BlocksTouched(block_ids=block_ids):
                ids = [id_ for id_ in block_ids if _references(moment.state, id_) == 1]
                key = "queue.left_middle" if ids else "queue.left_nothing"
                moves.append(text(key, blocks=text.ids(ids)))
            case events.BlocksFreed(block_ids=block_ids) | events.HolesMade(block_ids=block_ids):
                ids = [id_ for id_ in block_ids if _references(moment.state, id_) == 0]
                key = "queue.joined_tail" if ids else "queue.joined_nothing"
                moves.append(text(key, blocks=text.ids(ids)))
    return moves


def _references(state: State, block_id: int) -> int | None:
    block = state.blocks.get(block_id)
    return block.ref_cnt if block else None
