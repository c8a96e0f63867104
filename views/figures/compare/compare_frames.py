"""A run as a list of pictures, one a step, and what differs between two of them.

The picture of a step is taken as the model runs: blocks are handed out and this step's tokens have
K and V, but nobody has got a token or given a block back yet. One more follows: the end of the run.
"""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from engine.trace.entries import BlockState, RequestState
from engine.trace.events import SlotsWritten
from engine.trace.state import Cursor, State
from engine.trace.trace import Trace
from views.figures.cache.request_tokens import Spans, token_spans
from views.figures.moment import block_state, num_finished_steps
from views.theme import BLOCK_STATES

MAX_CELLS = 256  # blocks of a pool that are drawn
MAX_ENTRIES = 96  # of a block table
NO_HASH, UNWRITTEN, VALID = range(3)
NOTHING: Spans = (0, 0, 0, 0)  # of a request that holds no block, whatever it would hit


class RequestFrame(NamedTuple):
    """One request at one step. Absent before it arrives."""

    status: str
    place: int  # in the waiting queue, from 1; 0: not there
    spans: Spans  # where hits, computed before, computed now and scheduled tokens end
    num_tokens: int
    num_hit_tokens: int | None  # at its first admission; None before it
    num_preemptions: int
    table: tuple[int, ...]  # of the first KV-cache group


class BlockFrame(NamedTuple):
    """One block of the pool at one step."""

    state: str
    ref_cnt: int
    hash_kind: int
    content: tuple[object, ...]  # its hash, or the tokens of a block that is in use without one


NEVER_USED = BlockFrame("unused", 0, NO_HASH, ())


class Frame(NamedTuple):
    requests: dict[str, RequestFrame]
    blocks: tuple[BlockFrame, ...]  # those that are drawn
    num_blocks: int  # of the whole pool


class Differing(NamedTuple):
    """What is not alike in two frames: block ids, and by request the places of tables and the facts."""

    block_ids: tuple[int, ...]
    tables: dict[str, tuple[int, ...]]
    facts: dict[str, tuple[str, ...]]  # of "there", "status", "hit", "computed", "preempted"

    @property
    def num_entries(self) -> int:
        return sum(map(len, self.tables.values()))


def num_drawn_blocks(trace: Trace) -> int:
    """Blocks up to the last that was ever used, and a few more so that a rest can be seen."""
    state = trace.at(trace.last)
    return min(state.num_blocks, state.next_unused + 2, MAX_CELLS)


def while_computing(trace: Trace, step: int) -> Cursor:
    """The moment of a step at which the model has run and nothing is updated yet."""
    start = trace.after_schedule(step)
    for sub_step in range(start.sub_step, trace.num_sub_steps(step)):
        if any(isinstance(event, SlotsWritten) for event in trace.events(step, sub_step)):
            return Cursor(step, sub_step + 1)
    return start


def states(trace: Trace) -> Iterator[State]:
    """A picture for each finished step, and the end; folded once from the start."""
    for step in range(num_finished_steps(trace)):
        yield trace.at(while_computing(trace, step))
    yield trace.at(trace.last)


def pictures(trace: Trace) -> Iterator[tuple[State, Frame]]:
    """The states with what is drawn of them. An entry that two states share has not changed."""
    known: dict[int, tuple[BlockState | None, BlockFrame]] = {}
    num_cells = num_drawn_blocks(trace)
    for state in states(trace):
        for id_ in range(num_cells):
            block = state.blocks.get(id_)
            if id_ not in known or known[id_][0] is not block:
                known[id_] = block, _block(state, id_)
        requests = {id_: _request(state, request) for id_, request in state.requests.items()}
        blocks = tuple(known[id_][1] for id_ in range(num_cells))
        yield state, Frame(requests, blocks, state.num_blocks)


def _request(state: State, request: RequestState) -> RequestFrame:
    id_ = request.request_id
    return RequestFrame(
        request.status,
        state.waiting.index(id_) + 1 if id_ in state.waiting else 0,
        token_spans(state, request)
        if any(request.block_tables) or request.is_finished
        else NOTHING,
        request.num_tokens,
        request.num_cached_tokens,
        request.num_preemptions,
        tuple(request.block_tables[0][:MAX_ENTRIES]) if request.block_tables else (),
    )


def _block(state: State, block_id: int) -> BlockFrame:
    name, block = block_state(state, block_id), state.blocks.get(block_id)
    if block is None:
        return BlockFrame(name, 0, NO_HASH, ())
    if block.block_hash is None:
        content = state.block_tokens(block_id) if block.ref_cnt else ()
        return BlockFrame(name, block.ref_cnt, NO_HASH, content)
    kind = VALID if block.kv_valid else UNWRITTEN
    return BlockFrame(name, block.ref_cnt, kind, (block.block_hash,))


def differing(left: Frame, right: Frame, *, same_blocks: bool) -> Differing:
    """`same_blocks`: both have one block_size, so that a block's content can be compared as well.
    Whose table a block stands in is compared always.

    A block that only the larger pool has is no difference of its own: the settings say it. One that
    both have and only one side draws was never used on the other.
    """
    depth = len(BlockFrame._fields) if same_blocks else -1
    holders = _holders(left), _holders(right)
    num_shared = min(left.num_blocks, right.num_blocks)
    drawn = (frame.blocks[:num_shared] for frame in (left, right))
    block_ids = tuple(
        id_
        for id_, (one, other) in enumerate(zip_longest(*drawn, fillvalue=NEVER_USED))
        if one[:depth] != other[:depth] or holders[0].get(id_) != holders[1].get(id_)
    )
    tables: dict[str, tuple[int, ...]] = {}
    facts: dict[str, tuple[str, ...]] = {}
    for id_ in dict.fromkeys([*left.requests, *right.requests]):
        ours, theirs = left.requests.get(id_), right.requests.get(id_)
        if ours is None or theirs is None:
            facts[id_] = ("there",)
            continue
        pairs = enumerate(zip_longest(ours.table, theirs.table))
        if places := tuple(index for index, (one, other) in pairs if one != other):
            tables[id_] = places
        if found := tuple(_facts(ours, theirs)):
            facts[id_] = found
    return Differing(block_ids, tables, facts)


def _holders(frame: Frame) -> dict[int, set[str]]:
    """Block id -> the requests whose tables name it, without the null block."""
    found: dict[int, set[str]] = {}
    for request_id, request in frame.requests.items():
        for block_id in request.table:
            if block_id:
                found.setdefault(block_id, set()).add(request_id)
    return found


def _facts(ours: RequestFrame, theirs: RequestFrame) -> Iterator[str]:
    if (ours.status, ours.place) != (theirs.status, theirs.place):
        yield "status"
    if None not in (found := (ours.num_hit_tokens, theirs.num_hit_tokens)) and found[0] != found[1]:
        yield "hit"
    if ours.spans[2] != theirs.spans[2]:
        yield "computed"
    if ours.num_preemptions != theirs.num_preemptions:
        yield "preempted"


def at(run: Sequence[Frame], step: int) -> Frame:
    """A run that is over stays at its end."""
    return run[min(step, len(run) - 1)]


def ranges(places: Sequence[int]) -> list[int]:
    """Ascending numbers as [start, stop, start, stop, ..]."""
    flat: list[int] = []
    for place in places:
        if flat and flat[-1] == place:
            flat[-1] = place + 1
        else:
            flat += (place, place + 1)
    return flat


def packed_blocks(frame: Frame) -> list[int]:
    """A number for each block: state, hash and references, as the browser takes them apart."""
    return [
        BLOCK_STATES.index(block.state) + 8 * block.hash_kind + 32 * block.ref_cnt
        for block in frame.blocks
    ]
