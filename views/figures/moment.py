"""What the figures are told: the picture at the cursor, and the events that just led to it."""

from collections.abc import Sequence
from typing import NamedTuple

from engine.trace import events
from engine.trace.events import Event
from engine.trace.state import NULL_BLOCK_ID, Cursor, State
from engine.trace.trace import Trace
from views.text import Text
from views.theme import BLOCK_STATES

ROOMY_BLOCKS = 16  # a pool this small is drawn large, to be read from the last row
SHORT_HASH = 6  # hexadecimal digits of a hash that a reader can compare at a glance
QUEUE_EVENTS = (
    events.BlocksTaken,
    events.BlocksTouched,
    events.BlocksFreed,
    events.HolesMade,
)


class Moment(NamedTuple):
    """One place in time, as every figure sees it."""

    state: State
    events: Sequence[Event] = ()  # of the sub-step that ends here
    before: State | None = None  # where that sub-step began, if it moved blocks in the free queue
    first_arrival: int | None = None  # the step of the run's first request, while none is there

    @property
    def touched_blocks(self) -> frozenset[int]:
        """Blocks that the sub-step did something to."""
        return frozenset(id_ for event in self.events for id_ in named_blocks(event))


def moment_at(trace: Trace, cursor: Cursor) -> Moment:
    """At the end of a step no sub-step of the next one has happened yet."""
    cursor = trace.cursor_at(trace.position(cursor))
    happened = trace.events(cursor.step, cursor.sub_step - 1) if cursor.sub_step else []
    moves = any(isinstance(event, QUEUE_EVENTS) for event in happened)
    before = trace.at(Cursor(cursor.step, cursor.sub_step - 1)) if moves else None
    state = trace.at(cursor)
    return Moment(state, tuple(happened), before, None if state.requests else _first_arrival(trace))


def has_begun(state: State, cursor: Cursor) -> bool:
    """Whether schedule() of the cursor's step was called. Until then the batch in `state` is that of
    the step before: prompts and aborts come in between two steps."""
    return state.step == cursor.step and (state.in_step or state.is_updated)


def _first_arrival(trace: Trace) -> int | None:
    for step in range(trace.num_steps):
        if any(isinstance(event, events.RequestAdded) for event in trace.step_events(step)):
            return step
    return None


def num_finished_steps(trace: Trace) -> int:
    """Steps that are over. The last one may still be open: prompts came in, nothing ran yet."""
    last = trace.num_steps - 1
    if last < 0:
        return 0
    happened = trace.events(last, trace.num_sub_steps(last) - 1)
    return last + 1 if happened and isinstance(happened[-1], events.StepEnded) else last


def step_ends(trace: Trace) -> list[int]:
    """The position at which each step that is over ended."""
    return [trace.position(trace.after_update(step)) for step in range(num_finished_steps(trace))]


def named_blocks(event: Event) -> tuple[int, ...]:
    """The blocks that an event is about, without the null block."""
    ids: tuple[int, ...] = ()
    match event:
        case events.PrefixLookedUp(hit_block_ids=groups):
            ids = tuple(id_ for group in groups for id_ in group)
        case events.HitCut(block_id=block_id):
            ids = (block_id,)
        case events.SlotsWritten(valid_block_ids=block_ids):
            ids = block_ids
        case (
            events.BlocksTouched(block_ids=block_ids)
            | events.BlocksTaken(block_ids=block_ids)
            | events.BlocksCached(block_ids=block_ids)
            | events.BlocksFreed(block_ids=block_ids)
            | events.HolesMade(block_ids=block_ids)
        ):
            ids = block_ids
    return tuple(id_ for id_ in ids if id_ != NULL_BLOCK_ID)


def block_state(state: State, block_id: int) -> str:
    """One of theme.BLOCK_STATES."""
    if block_id == NULL_BLOCK_ID:
        return "null"
    block = state.blocks.get(block_id)
    if block is None:
        return "unused"
    if block.ref_cnt:
        return "shared" if block.ref_cnt > 1 else "used"
    return "remembered" if block.block_hash else "free"


def block_words(text: Text) -> dict[str, str]:
    """State -> its word, for whoever does not see the colour."""
    return {name: text.named("block_state", name) for name in BLOCK_STATES}


def num_sharing(state: State, block_id: int) -> int:
    """References to a shared block; 0 for every other one, where no number stands beside it."""
    block = state.blocks.get(block_id)
    return block.ref_cnt if block and block.ref_cnt > 1 else 0


def short_hash(block_hash: str) -> str:
    """The end of a hash: vLLM's integer event hashes are cut from there, too."""
    return block_hash[-SHORT_HASH:]


def known_bytes(state: State) -> dict[int, bytes]:
    """Token id -> bytes, for all tokens that the requests of this run brought or made."""
    known: dict[int, bytes] = {}
    for request in state.requests.values():
        known.update(zip(request.added.prompt_token_ids, request.added.prompt_token_bytes))
        known.update(zip(request.output_token_ids, request.output_token_bytes))
    return known


def kept(num_items: int, *wanted: range) -> list[range]:
    """What is drawn of a long list: the wanted parts in order, and gaps that are too short to fold."""
    merged: list[range] = []
    for part in sorted(wanted, key=lambda part: part.start):
        start, stop = max(0, part.start), min(num_items, part.stop)
        if merged and start <= merged[-1].stop + 1:
            merged[-1] = range(merged[-1].start, max(stop, merged[-1].stop))
        elif start < stop:
            merged.append(range(0 if start == 1 else start, stop))
    if merged and merged[-1].stop == num_items - 1:
        merged[-1] = range(merged[-1].start, num_items)
    return merged
