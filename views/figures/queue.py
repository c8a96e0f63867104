"""The free queue, from the block that is taken next to the one that was freed last."""

from typing import Any

from engine.trace import events
from engine.trace.state import State
from views.figures.moment import ROOMY_BLOCKS, Moment, block_state, known_bytes, short_hash
from views.figures.tokens import request_pieces
from views.text import Text

HEAD, TAIL = 14, 8


def queue(moment: Moment, text: Text) -> dict[str, Any]:
    """The ends of the list, who leaves next and what is forgotten with it, who just left."""
    state = moment.state
    head, tail = state.free_queue_ends(HEAD, TAIL)
    touched = moment.touched_blocks
    return {
        "title": text("queue.title"),
        "count": text.count("queue.count", state.num_free_blocks),
        "head": [_node(state, id_, touched) for id_ in head],
        "tail": [_node(state, id_, touched) for id_ in tail],
        "more": _more(state, len(head) + len(tail), text),
        "roomy": state.num_blocks <= ROOMY_BLOCKS,
        "head_word": text("queue.head"),
        "tail_word": text("queue.tail"),
        "victim": _victim(state, head[0] if head else None, text),
        "moves": _moves(moment, text),
    }


def _node(state: State, block_id: int, touched: frozenset[int]) -> dict[str, Any]:
    block = state.blocks.get(block_id)
    node: dict[str, Any] = {"block": block_id, "state": block_state(state, block_id)}
    if block and block.block_hash:
        node["hash"] = short_hash(block.block_hash)
    if block_id in touched:
        node["touched"] = True
    return node


def _more(state: State, num_shown: int, text: Text) -> str:
    num_hidden = state.num_free_blocks - num_shown
    return text("queue.more", n=num_hidden) if num_hidden else ""


def _victim(state: State, block_id: int | None, text: Text) -> str:
    if block_id is None:
        return text("queue.empty")
    block = state.blocks.get(block_id)
    if block is None or block.block_hash is None:
        return text("queue.victim", block=block_id)
    bytes_of = known_bytes(state)
    shown = request_pieces(block.token_ids, [bytes_of.get(id_, b"") for id_ in block.token_ids])
    content = " ".join(piece.label for piece in shown[:16])
    return text(
        "queue.victim_cached", block=block_id, hash=short_hash(block.block_hash), content=content
    )


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
