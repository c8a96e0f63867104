"""What was ever in the prefix cache: a State knows what is there, not what was there once.

Grows with the trace and looks at no event twice. Nothing in it is younger than asked for: whoever
asks names a position (how many sub-steps of the run have happened).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from engine.trace.events import (
    BlocksCached,
    BlocksTaken,
    CacheReset,
    Event,
    PrefixLookedUp,
    StepEnded,
)
from engine.trace.per_trace import PerTrace
from engine.trace.state import NULL_BLOCK_ID, cache_key
from engine.trace.step_index import StepIndex
from engine.trace.trace import Trace


class Loss(NamedTuple):
    """A hash left the cache: its block was taken by `request_id`, or everything was forgotten."""

    step: int
    position: int
    request_id: str | None  # None: reset_prefix_cache


class Entry:
    """One block's time in the cache, with the hash that it had then."""

    __slots__ = ("_event", "_place", "loss", "position", "step")

    def __init__(self, event: BlocksCached, place: int, *, position: int, step: int) -> None:
        self._event, self._place = event, place
        self.position, self.step = position, step
        self.loss: Loss | None = None

    @property
    def request_id(self) -> str:
        return self._event.request_id

    @property
    def group_id(self) -> int:
        return self._event.group_id

    @property
    def block_id(self) -> int:
        return self._event.block_ids[self._place]

    @property
    def block_hash(self) -> str:
        return self._event.block_hashes[self._place]

    @property
    def logical_index(self) -> int:
        return self._event.first_logical_index + self._place

    @property
    def token_ids(self) -> tuple[int, ...]:
        tokens = self._event.token_ids
        size = len(tokens) // len(self._event.block_ids)
        return tokens[self._place * size : (self._place + 1) * size]

    def loss_by(self, position: int) -> Loss | None:
        return self.loss if self.loss is not None and self.loss.position <= position else None


class CacheLog:
    """Every entry of the prefix cache, found by key and by tokens; and who asked when."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._index = StepIndex(self._events)
        self._num_seen = self._num_ended_steps = 0
        self._by_key: dict[str, list[Entry]] = {}
        self._by_tokens: dict[int, list[Entry]] = {}  # a hash of group and tokens -> candidates
        self._here: dict[int, Entry] = {}  # block id -> its entry, while the cache holds it
        self._holes: dict[str, int] = {}  # key of a block that was null when it was full
        self._lookups: dict[str, list[int]] = {}  # request id -> positions

    @property
    def num_events(self) -> int:
        return self._num_seen

    def extend(self, new_events: Sequence[Event]) -> None:
        self._events.extend(new_events)
        self._index.update()
        for place, event in enumerate(new_events, self._num_seen):
            if isinstance(event, StepEnded):
                self._num_ended_steps += 1
            elif isinstance(event, BlocksCached):
                self._note_cached(event, self._position(place))
            elif isinstance(event, BlocksTaken):
                if event.evicted_block_ids:
                    self._note_lost(
                        event.evicted_block_ids, self._position(place), event.request_id
                    )
            elif isinstance(event, PrefixLookedUp):
                places = self._lookups.setdefault(event.request_id, [])
                places.append(self._position(place))
            elif isinstance(event, CacheReset) and event.ok:
                self._note_lost(list(self._here), self._position(place), None)
        self._num_seen += len(new_events)

    def _position(self, place: int) -> int:
        """Of the cursor at which the event at `place` has happened."""
        return self._index.sub_steps_before(place)

    def _note_cached(self, event: BlocksCached, position: int) -> None:
        for place, block_id in enumerate(event.block_ids):
            entry = Entry(event, place, position=position, step=self._num_ended_steps)
            key = cache_key(entry.block_hash, event.group_id)
            if block_id == NULL_BLOCK_ID:
                self._holes.setdefault(key, position)
                continue
            self._here[block_id] = entry
            self._by_key.setdefault(key, []).append(entry)
            tokens = hash((event.group_id, entry.token_ids))
            self._by_tokens.setdefault(tokens, []).append(entry)

    def _note_lost(self, block_ids: Sequence[int], position: int, request_id: str | None) -> None:
        loss = Loss(self._num_ended_steps, position, request_id)
        for block_id in block_ids:
            self._here.pop(block_id).loss = loss

    # Reading ----------------------------------------------------------------------------------

    def latest(self, block_hash: str, group_id: int, position: int) -> Entry | None:
        """The youngest entry of this key at `position`."""
        entries = self._by_key.get(cache_key(block_hash, group_id), ())
        return next((entry for entry in reversed(entries) if entry.position <= position), None)

    def was_hole(self, block_hash: str, group_id: int, position: int) -> bool:
        """Whether a block with this hash had left its window by the time it could be cached."""
        noted = self._holes.get(cache_key(block_hash, group_id))
        return noted is not None and noted <= position

    def with_tokens(
        self, token_ids: tuple[int, ...], group_id: int, position: int
    ) -> Iterator[Entry]:
        """Entries that held these tokens, whatever stood in front of them."""
        for entry in self._by_tokens.get(hash((group_id, token_ids)), ()):
            if entry.position > position:
                return
            if entry.group_id == group_id and entry.token_ids == token_ids:
                yield entry

    def last_lookup(self, request_id: str, position: int) -> int | None:
        """The position of the latest lookup of the request that has happened at `position`."""
        known = (at for at in reversed(self._lookups.get(request_id, ())) if at <= position)
        return next(known, None)


_LOGS = PerTrace(lambda _: CacheLog())


def cache_log_of(trace: Trace) -> CacheLog:
    """The trace's one CacheLog, with everything in it that has happened by now."""
    return _LOGS.of(trace)
