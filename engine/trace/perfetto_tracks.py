"""A run as slices, instants and counters: what each event means in a picture of time.

Engine     steps, and their parts where they were measured; counters at the end of each step
Requests   a track each: waiting, running, preempted; in these the tokens of each step
Blocks     a track each: held by whom, inside it cached, inside that shared; then free but cached
"""

from collections.abc import Callable, Sequence
from typing import Any

from engine.trace import events
from engine.trace.events import Event
from engine.trace.perfetto_entries import Entry, Sheet, Track
from engine.trace.state import NULL_BLOCK_ID

SHORT_HASH = 6


class Ahead:
    """What a slice must know before the events that say it."""

    def __init__(self, batch: Sequence[Event], times: Sequence[float]) -> None:
        self.ends = times[-1] if times else 0.0  # of the step
        self.written: float | None = None  # when the model had run
        self.scheduled: float | None = None  # when schedule() was done
        self.num_scheduled_tokens = 0
        self.sampled: dict[str, events.TokensSampled] = {}
        self.given_back: dict[str, float] = {}  # request id -> when it lost its tokens again
        self.aborted: dict[str, float] = {}  # request id -> when, while the model ran
        for event, ts in zip(batch, times, strict=True):
            match event:
                case events.StepScheduled(total_num_scheduled_tokens=total):
                    self.num_scheduled_tokens, self.scheduled = total, ts
                case events.SlotsWritten():
                    self.written = ts
                case events.TokensSampled(request_id=request_id):
                    self.sampled[request_id] = event
                case events.RequestUnscheduled(request_id=request_id):
                    self.given_back[request_id] = ts
                case events.RequestAborted(request_id=request_id, ok=True, phase="mid"):
                    self.aborted[request_id] = ts
                case _:
                    pass


class Tracks:
    """Fed step by step, in order."""

    def __init__(self, *, num_usable_blocks: int, has_parts: bool, has_blocks: bool) -> None:
        """`has_parts`: the parts of a step were measured; `has_blocks`: each block has a track."""
        self._has_parts, self._has_blocks = has_parts, has_blocks
        self._num_usable_blocks = num_usable_blocks
        self._sheet = Sheet()
        self._ahead = Ahead((), ())
        self._refs: dict[int, int] = {}  # of the blocks in use
        self._hashes: dict[int, str] = {}  # of the cached blocks
        self._remembered: set[int] = set()  # cached and free
        self._status: dict[str, str] = {}  # of the requests in the engine
        self._queries = self._hits = 0

    def step(self, batch: Sequence[Event], times: Sequence[float]) -> list[Entry]:
        self._ahead = Ahead(batch, times)
        for event, self._sheet.ts in zip(batch, times, strict=True):
            draw = _DRAW.get(type(event))
            if draw is not None:
                draw(self, event)
        return self._sheet.take()

    def close(self) -> list[Entry]:
        """What still lasts when the trace ends."""
        self._sheet.close()
        return self._sheet.take()

    # Steps ------------------------------------------------------------------------------------

    def step_began(self, event: events.StepBegan) -> None:
        num_tokens = self._ahead.num_scheduled_tokens
        args = {"num_scheduled_tokens": num_tokens, "token_budget": event.token_budget}
        self._sheet.engine().slice(f"step {event.step}", ends=self._ahead.ends, **args)

        if self._has_parts and self._ahead.scheduled is not None:
            self._sheet.engine().slice("schedule", ends=self._ahead.scheduled)

    def step_scheduled(self, _: events.StepScheduled) -> None:
        if self._has_parts:
            written = self._ahead.written
            name, ends = ("update", self._ahead.ends) if written is None else ("run", written)
            self._sheet.engine().slice(name, ends=ends)

    def slots_written(self, _: events.SlotsWritten) -> None:
        if self._has_parts:
            self._sheet.engine().slice("update", ends=self._ahead.ends)

    def cache_reset(self, event: events.CacheReset) -> None:
        done = "done" if event.ok else "refused"
        self._sheet.engine().instant(f"prefix cache reset: {done}")
        if event.ok:
            for block_id in sorted(self._remembered) if self._has_blocks else ():
                self._sheet.block(block_id).end()
            self._hashes.clear()
            self._remembered.clear()

    def setting_changed(self, event: events.SettingChanged) -> None:
        self._sheet.engine().instant(f"{event.name}={event.value}")

    def admission_stopped(self, event: events.AdmissionStopped) -> None:
        head = event.request_id
        self._sheet.engine().instant(f"admission stopped: {event.reason}", head=head)

    def step_ended(self, event: events.StepEnded) -> None:
        count, running = self._sheet.count, list(self._status.values()).count("running")
        free = self._num_usable_blocks - len(self._refs) - len(self._remembered)
        count("blocks", in_use=len(self._refs), free_cached=len(self._remembered), free=free)
        count("requests", running=running, waiting=len(self._status) - running)
        count("scheduled tokens", tokens=self._ahead.num_scheduled_tokens)
        self._queries += event.queries
        self._hits += event.hits
        if self._queries:
            rate = round(100 * self._hits / self._queries, 2)
            count("prefix hit rate since the run began, %", rate=rate)

    # Requests ---------------------------------------------------------------------------------

    def added(self, event: events.RequestAdded) -> None:
        num_tokens = len(event.prompt_token_ids)
        self._turn(event.request_id, "waiting", num_prompt_tokens=num_tokens)

    def admitted(self, event: events.RequestAdmitted) -> None:
        self._turn(event.request_id, "running", num_hit_tokens=event.num_hit_tokens)

    def preempted(self, event: events.RequestPreempted) -> None:
        self._turn(event.request_id, "preempted", for_request=event.for_request_id or "cache reset")

    def finished(self, event: events.RequestFinished) -> None:
        self._leave(event.request_id, event.reason)

    def aborted(self, event: events.RequestAborted) -> None:
        if event.ok:
            self._leave(event.request_id, "abort")

    def _turn(self, request_id: str, status: str, **args: Any) -> None:
        track = self._sheet.request(request_id)
        track.end()
        self._status[request_id] = status
        track.begin(status, **args)

    def _leave(self, request_id: str, reason: str) -> None:
        track = self._sheet.request(request_id)
        track.end()
        self._status.pop(request_id, None)
        track.instant(f"finished: {reason}")

    def looked_up(self, event: events.PrefixLookedUp) -> None:
        name = f"prefix hit {event.num_hit_tokens} of {event.num_tokens} tokens"
        args: Entry = {"stop_reason": event.stop_reason, "hit_block_ids": event.hit_block_ids}
        if event.missed_hash is not None:
            args["missed_hash"] = event.missed_hash
        self._sheet.request(event.request_id).instant(name, **args)

    def scheduled(self, event: events.RequestScheduled) -> None:
        num_tokens = event.num_scheduled_tokens
        args: Entry = {"num_computed_tokens": event.num_computed_tokens}
        name, ahead = "1 token" if num_tokens == 1 else f"{num_tokens} tokens", self._ahead
        ends = ahead.ends if ahead.written is None else ahead.written
        ends = ahead.aborted.get(event.request_id, ends)
        sampled = ahead.sampled.get(event.request_id)
        if event.request_id in ahead.given_back:
            name, ends = f"{name}, given back", ahead.given_back[event.request_id]
        elif sampled is not None:
            args["sampled_token_ids"] = sampled.token_ids
            if sampled.text:
                args["text"] = sampled.text
        self._sheet.request(event.request_id).slice(name, ends=ends, **args)

    def allocation_failed(self, event: events.AllocationFailed) -> None:
        name = f"no room: needs {event.num_blocks_needed} blocks, {event.num_free_blocks} free"
        self._sheet.request(event.request_id).instant(name)

    # Blocks -----------------------------------------------------------------------------------

    def taken(self, event: events.BlocksTaken) -> None:
        for block_id in event.block_ids:
            self._refs[block_id] = 1
            forgotten = self._hashes.pop(block_id, None)
            self._remembered.discard(block_id)
            if self._has_blocks:
                track = self._sheet.block(block_id)
                track.end()
                if forgotten is not None:
                    track.instant(f"evicted #{forgotten[:SHORT_HASH]}")
                track.begin(event.request_id, group_id=event.group_id)

    def touched(self, event: events.BlocksTouched) -> None:
        for block_id in event.block_ids:
            if block_id == NULL_BLOCK_ID:
                continue
            refs = self._refs[block_id] = self._refs.get(block_id, 0) + 1
            self._remembered.discard(block_id)
            if not self._has_blocks:
                continue
            track = self._sheet.block(block_id)
            if refs > 1:
                track.begin(f"shared by {refs}", with_request=event.request_id)
            else:
                track.end()
                track.begin(event.request_id, group_id=event.group_id, is_hit=True)
                _begin_cached(track, self._hashes.get(block_id, ""))

    def cached(self, event: events.BlocksCached) -> None:
        for block_id, block_hash in zip(event.block_ids, event.block_hashes, strict=True):
            if block_id != NULL_BLOCK_ID:
                self._hashes[block_id] = block_hash
                if self._has_blocks:
                    _begin_cached(self._sheet.block(block_id), block_hash)

    def freed(self, event: events.BlocksFreed | events.HolesMade) -> None:
        for block_id in event.block_ids:
            if block_id == NULL_BLOCK_ID:
                continue
            left = self._refs[block_id] - 1
            if left:
                self._refs[block_id] = left
            else:
                del self._refs[block_id]
                if block_id in self._hashes:
                    self._remembered.add(block_id)
            if self._has_blocks:
                self._draw_freed(block_id, left)

    def _draw_freed(self, block_id: int, left: int) -> None:
        track = self._sheet.block(block_id)
        if left:
            track.end_inner()
            return
        track.end()
        if block_id in self._hashes:
            block_hash = self._hashes[block_id]
            track.begin("free, still cached", hash=block_hash)


def _begin_cached(track: Track, block_hash: str) -> None:
    track.begin(f"cached #{block_hash[:SHORT_HASH]}", hash=block_hash)


_DRAW: dict[type[Event], Callable[[Tracks, Any], None]] = {
    events.StepBegan: Tracks.step_began,
    events.StepScheduled: Tracks.step_scheduled,
    events.SlotsWritten: Tracks.slots_written,
    events.RequestAdded: Tracks.added,
    events.RequestAdmitted: Tracks.admitted,
    events.RequestPreempted: Tracks.preempted,
    events.RequestFinished: Tracks.finished,
    events.RequestAborted: Tracks.aborted,
    events.PrefixLookedUp: Tracks.looked_up,
    events.RequestScheduled: Tracks.scheduled,
    events.AllocationFailed: Tracks.allocation_failed,
    events.BlocksTaken: Tracks.taken,
    events.BlocksTouched: Tracks.touched,
    events.BlocksCached: Tracks.cached,
    events.BlocksFreed: Tracks.freed,
    events.HolesMade: Tracks.freed,
    events.CacheReset: Tracks.cache_reset,
    events.SettingChanged: Tracks.setting_changed,
    events.AdmissionStopped: Tracks.admission_stopped,
    events.StepEnded: Tracks.step_ended,
}
