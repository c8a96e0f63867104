"""The numbers of a run, step by step: one column a number, one entry a finished step.

A column is folded forward once, from events alone, as the trace grows; going to another moment
reads it and folds nothing. What holds at a cursor inside a step is read from the State there.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from engine.trace import events
from engine.trace.entries import RequestState
from engine.trace.per_trace import PerTrace
from engine.trace.state import NULL_BLOCK_ID, State
from engine.trace.trace import Trace


class StepNumbers(NamedTuple):
    """What the run amounts to at one moment. Tokens and preemptions with `total`: since it began."""

    num_used_blocks: int = 0
    num_running: int = 0
    num_waiting: int = 0  # with the preempted ones, as vLLM counts
    num_preemptions: int = 0  # total
    num_scheduled_tokens: int = 0  # of this step
    token_budget: int = 0
    queries: int = 0  # total, tokens looked up for requests that were never preempted
    hits: int = 0
    preempted_queries: int = 0  # total, the same for requests that were
    preempted_hits: int = 0
    num_held_slots: int = 0  # of the blocks in use
    num_empty_slots: int = 0  # of these: no token of the holder has its K and V there
    num_usable_blocks: int = 1  # all but the null block
    max_num_seqs: int = 1


class Ratio(NamedTuple):
    """What is counted, of what. `total` None: there is nothing that it would be a share of."""

    amount: int
    total: int | None = None

    @property
    def share(self) -> float | None:
        """None where nothing could be counted yet."""
        return self.amount / self.total if self.total else None


class Quantity(NamedTuple):
    """One row of the card and column of the run, shown as a share or as a count."""

    read: Callable[[StepNumbers], Ratio]
    is_share: bool = False

    def value(self, step: StepNumbers) -> float | None:
        ratio = self.read(step)
        return ratio.share if self.is_share else ratio.amount


QUANTITIES: dict[str, Quantity] = {
    "usage": Quantity(lambda n: Ratio(n.num_used_blocks, n.num_usable_blocks), True),
    "hit_rate": Quantity(lambda n: Ratio(n.hits, n.queries), True),
    "preempted_hit_rate": Quantity(lambda n: Ratio(n.preempted_hits, n.preempted_queries), True),
    "running": Quantity(lambda n: Ratio(n.num_running, n.max_num_seqs)),
    "waiting": Quantity(lambda n: Ratio(n.num_waiting)),
    "preemptions": Quantity(lambda n: Ratio(n.num_preemptions)),
    "tokens": Quantity(lambda n: Ratio(n.num_scheduled_tokens, n.token_budget)),
    "empty": Quantity(lambda n: Ratio(n.num_empty_slots, n.num_held_slots), True),
}
NOTHING_YET = -1.0  # a share before there was anything to be a share of
COUNTED = ("queries", "hits", "preempted_queries", "preempted_hits")


def numbers_of(state: State) -> StepNumbers:
    """At any cursor, also in the middle of a step."""
    rows = state.scheduled.values()
    return StepNumbers(
        num_used_blocks=state.num_used_blocks,
        num_running=len(state.running),
        num_waiting=len(state.waiting),
        num_preemptions=state.num_preemptions,
        num_scheduled_tokens=sum(row.num_scheduled_tokens for row in rows),
        token_budget=state.token_budget,
        num_held_slots=_num_held_slots(state),
        num_empty_slots=sum(_num_empty_slots(state, request) for request in _holding(state)),
        num_usable_blocks=state.num_blocks - 1,
        max_num_seqs=state.config["max_num_seqs"],
        **{name: getattr(state.stats, name) for name in COUNTED},
    )


def _holding(state: State) -> list[RequestState]:
    """Who holds blocks: all that run, and in schedule() who is in the middle of its admission."""
    in_line = state.waiting if state.in_step and not state.is_scheduled else []
    requests = (state.requests[request_id] for request_id in [*state.running, *in_line])
    return [request for request in requests if any(request.block_tables)]


def _num_held_slots(state: State) -> int:
    """A block that several requests share is counted once."""
    sizes: tuple[int, ...] = state.group_block_sizes
    if len(set(sizes)) == 1:
        return state.num_used_blocks * sizes[0]
    tables = [request.block_tables for request in _holding(state)]
    return sum(
        size * len({id_ for table in tables for id_ in table[group_id]} - {NULL_BLOCK_ID})
        for group_id, size in enumerate(sizes)
    )


def _num_empty_slots(state: State, request: RequestState) -> int:
    row, computed = state.scheduled.get(request.request_id), request.num_computed_tokens
    is_deciding = state.in_step and not state.is_scheduled
    if row is not None and is_deciding:
        computed = row.num_computed_tokens + row.num_scheduled_tokens
    num_known = request.num_tokens + len(request.spec_token_ids)
    num_empty = 0
    for table, size in zip(request.block_tables, state.group_block_sizes, strict=True):
        left = len(table) * size - computed
        if is_deciding and row is None and left >= size:  # taken just now, for tokens that it has
            left = max(0, len(table) * size - num_known)
        num_empty += left if table else 0
    return num_empty


class RunNumbers:
    """All finished steps of one trace, and the columns. Plain lists: read them, change nothing."""

    def __init__(self, start: State) -> None:
        self.steps: list[StepNumbers] = []
        self.columns: dict[str, list[float]] = {name: [] for name in QUANTITIES}
        self.num_events = 0  # read so far
        self._sizes = start.group_block_sizes
        self._num_usable_blocks = start.num_blocks - 1
        self._max_num_seqs: int = start.config["max_num_seqs"]
        self._is_refused = False  # an event cannot have happened: what follows it is not counted
        self._refs: dict[int, int] = {}  # block id -> references, of the blocks in use
        self._block_sizes: dict[int, int] = {}
        self._num_held_slots = 0
        self._slots: dict[str, int] = {}  # request id -> places of its tables, over all groups
        self._computed: dict[str, int] = {}
        self._shares: dict[str, int] = {}  # tokens of this step by request id
        self._running: set[str] = set()
        self._num_waiting = 0
        self._num_preemptions = 0
        self._token_budget = 0
        self._totals = dict.fromkeys(COUNTED, 0)

    def extend(self, new_events: Sequence[Any]) -> None:
        self.num_events += len(new_events)
        if self._is_refused:
            return
        try:
            for event in new_events:
                fold = FOLDS.get(type(event))
                if fold is not None:
                    fold(self, event)
        except LookupError:
            self._is_refused = True  # the Trace says what is wrong, to whoever goes there

    # Requests ---------------------------------------------------------------------------------

    def queued(self, event: events.RequestQueued) -> None:
        self._num_waiting += 1

    def admitted(self, event: events.RequestAdmitted) -> None:
        self._num_waiting -= 1
        self._running.add(event.request_id)
        self._computed[event.request_id] = event.num_hit_tokens

    def preempted(self, event: events.RequestPreempted) -> None:
        self._num_preemptions += 1
        self._running.remove(event.request_id)

    def finished(self, event: events.RequestFinished | events.RequestAborted) -> None:
        if isinstance(event, events.RequestAborted) and not event.ok:
            return
        if event.request_id in self._running:
            self._running.remove(event.request_id)
        else:
            self._num_waiting -= 1

    # Blocks -----------------------------------------------------------------------------------

    def taken(self, event: events.BlocksTaken) -> None:
        size = self._sizes[event.group_id]
        for block_id in event.block_ids:
            self._refs[block_id], self._block_sizes[block_id] = 1, size
        self._num_held_slots += size * len(event.block_ids)
        self._lengthen(event.request_id, size * len(event.block_ids))

    def touched(self, event: events.BlocksTouched) -> None:
        size, refs = self._sizes[event.group_id], self._refs
        for block_id in event.block_ids:
            if block_id != NULL_BLOCK_ID:
                if block_id not in refs:
                    self._num_held_slots += size
                refs[block_id] = refs.get(block_id, 0) + 1
        self._lengthen(event.request_id, size * len(event.block_ids))

    def holes_made(self, event: events.HolesMade) -> None:
        self._release(event.block_ids)

    def freed(self, event: events.BlocksFreed) -> None:
        self._release(event.block_ids)
        self._slots.pop(event.request_id, None)
        self._computed.pop(event.request_id, None)

    def _lengthen(self, request_id: str, num_slots: int) -> None:
        self._slots[request_id] = self._slots.get(request_id, 0) + num_slots

    def _release(self, block_ids: Sequence[int]) -> None:
        for block_id in block_ids:
            if self._refs[block_id] == 1:
                del self._refs[block_id]
                self._num_held_slots -= self._block_sizes[block_id]
            else:
                self._refs[block_id] -= 1

    # Steps ------------------------------------------------------------------------------------

    def step_began(self, event: events.StepBegan) -> None:
        self._token_budget, self._shares = event.token_budget, {}

    def scheduled(self, event: events.RequestScheduled) -> None:
        self._shares[event.request_id] = event.num_scheduled_tokens

    def unscheduled(self, event: events.RequestUnscheduled) -> None:
        del self._shares[event.request_id]

    def step_scheduled(self, event: events.StepScheduled) -> None:
        for request_id, num_tokens in self._shares.items():
            self._computed[request_id] += num_tokens

    def sampled(self, event: events.TokensSampled) -> None:
        if event.num_rejected_tokens:
            self._computed[event.request_id] -= event.num_rejected_tokens

    def step_ended(self, event: events.StepEnded) -> None:
        for name in COUNTED:
            self._totals[name] += getattr(event, name)
        computed = len(self._sizes) * sum(self._computed[id_] for id_ in self._slots)
        step = StepNumbers(
            num_used_blocks=len(self._refs),
            num_running=len(self._running),
            num_waiting=self._num_waiting,
            num_preemptions=self._num_preemptions,
            num_scheduled_tokens=sum(self._shares.values()),
            token_budget=self._token_budget,
            num_held_slots=self._num_held_slots,
            num_empty_slots=sum(self._slots.values()) - computed,
            num_usable_blocks=self._num_usable_blocks,
            max_num_seqs=self._max_num_seqs,
            **self._totals,
        )
        self.steps.append(step)
        for name, quantity in QUANTITIES.items():
            value = quantity.value(step)
            self.columns[name].append(NOTHING_YET if value is None else value)

    def setting_changed(self, event: events.SettingChanged) -> None:
        if event.name == "max_num_seqs":
            self._max_num_seqs = event.value


FOLDS: dict[type[events.Event], Callable[[RunNumbers, Any], None]] = {
    events.RequestQueued: RunNumbers.queued,
    events.RequestAdmitted: RunNumbers.admitted,
    events.RequestPreempted: RunNumbers.preempted,
    events.RequestFinished: RunNumbers.finished,
    events.RequestAborted: RunNumbers.finished,
    events.BlocksTaken: RunNumbers.taken,
    events.BlocksTouched: RunNumbers.touched,
    events.HolesMade: RunNumbers.holes_made,
    events.BlocksFreed: RunNumbers.freed,
    events.SettingChanged: RunNumbers.setting_changed,
    events.StepBegan: RunNumbers.step_began,
    events.RequestScheduled: RunNumbers.scheduled,
    events.RequestUnscheduled: RunNumbers.unscheduled,
    events.StepScheduled: RunNumbers.step_scheduled,
    events.TokensSampled: RunNumbers.sampled,
    events.StepEnded: RunNumbers.step_ended,
}

_RUN_NUMBERS = PerTrace(lambda trace: RunNumbers(State(trace.header.config)))


def run_numbers(trace: Trace) -> RunNumbers:
    """All finished steps of the run, as far as it has come."""
    return _RUN_NUMBERS.of(trace)
