"""The free queue, from the block that is taken next to the one that was freed last.

Blocks leave anywhere and join at the tail (later versions of vLLM put those without a hash at the
head). So the list before this sub-step, with ghosts where blocks left it, between those that joined
at its ends, shows what happened as well as what is.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from engine.trace import events
from engine.trace.entries import BlockState
from engine.trace.state import State
from views.figures.cache.tokens import request_pieces
from views.figures.moment import (
    ROOMY_BLOCKS,
    Moment,
    block_state,
    kept,
    known_bytes,
    named_blocks,
    short_hash,
)
from views.text import Text

HEAD, TAIL = 10, 8
NEAR = 1  # neighbours drawn on both sides of a block that left, or is lit
MAX_NEAR = 4  # such blocks in one picture
MAX_CONTENT = 16  # tokens of a forgotten block


def queue(
    moment: Moment, text: Text, *, lit: Collection[int] = (), tells_next: bool = True
) -> dict[str, Any]:
    """The list with its middle folded, who leaves next and what is forgotten with it.

    Without `tells_next` only the list: somebody is being asked which block comes next.
    """
    state = moment.state
    victim = next(iter(state.free_queue_ends(1, 0)[0]), None) if tells_next else None
    return {
        "title": text("queue.title"),
        "count": text.count("queue.count", state.num_free_blocks),
        "items": _items(moment, text, lit),
        "victim_block": victim,
        "roomy": state.num_blocks <= ROOMY_BLOCKS,
        "head_word": text("queue.head"),
        "tail_word": text("queue.tail"),
        "victim": _victim(state, victim, text) if tells_next else "",
        "moves": _moves(moment, text),
    }


class _Order:
    """The places of a free queue, without writing down the range of blocks that were never used."""

    def __init__(self, state: State) -> None:
        self.parts: tuple[Sequence[int], ...] = (
            state.at_head[::-1],
            range(state.next_unused, state.num_blocks),
            list(state.freed),
        )

    def join(self, at_head: Sequence[int], at_tail: Sequence[int]) -> None:
        self.parts = (at_head, *self.parts, at_tail)

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __getitem__(self, place: int) -> int:
        for part in self.parts:
            if place < len(part):
                return part[place]
            place -= len(part)
        raise IndexError(place)

    def place(self, block_id: int) -> int:
        before = 0
        for part in self.parts:
            if block_id in part:
                return before + part.index(block_id)
            before += len(part)
        raise ValueError(f"block {block_id} stands nowhere in the queue")


def _items(moment: Moment, text: Text, lit: Collection[int]) -> list[dict[str, Any]]:
    state, before = moment.state, moment.before or moment.state
    named = dict.fromkeys(id_ for event in moment.events for id_ in named_blocks(event))
    left = [id_ for id_ in named if before.is_free(id_) and not state.is_free(id_)]
    joined = {id_ for id_ in named if state.is_free(id_) and not before.is_free(id_)}
    order = _Order(before)
    if joined:
        at_head = [id_ for id_ in reversed(state.at_head) if id_ in joined]
        order.join(at_head, [id_ for id_ in state.freed if id_ in joined])
    near = [id_ for id_ in (*left, *lit) if id_ in joined or before.is_free(id_)]
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
            case events.BlocksFreed() | events.HolesMade():
                moves += _joined(moment.state, event, text)
    return moves


def _joined(state: State, event: events.BlocksFreed | events.HolesMade, text: Text) -> list[str]:
    ids = [id_ for id_ in event.block_ids if _references(state, id_) == 0]
    to_tail = [id_ for id_ in ids if id_ not in event.to_head]
    if not ids:
        return [text("queue.joined_nothing", blocks="")]
    moves = [text("queue.joined_head", blocks=text.ids(event.to_head))] if event.to_head else []
    return moves + ([text("queue.joined_tail", blocks=text.ids(to_tail))] if to_tail else [])


def _references(state: State, block_id: int) -> int | None:
    block = state.blocks.get(block_id)
    return block.ref_cnt if block else None
