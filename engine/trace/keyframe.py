"""Pictures put away, so that every place of a run is near one.

A keyframe is what has changed since a whole State, its base, which many keyframes share. So a long
run in a large pool costs memory for what happened in it, not for the pool over and over.
"""

from collections.abc import Mapping
from typing import TypeVar

from engine.trace.state import State

K = TypeVar("K")
V = TypeVar("V")


class Keyframe:
    """The State at one place; `open` gives a new copy of it each time. Unchanged means identical:
    entries are replaced when they change (`State.own_block`), so that `is` tells them apart."""

    __slots__ = (
        "_blocks",
        "_cached",
        "_frame",
        "_joined_queue",
        "_left_queue",
        "_replaced",
        "_requests",
        "_uncached",
        "base",
    )

    def __init__(self, state: State, base: State) -> None:
        self.base = base
        self._frame = state.copy_frame()
        self._requests = _changed(base.requests, state.requests)
        self._replaced = [
            id_
            for id_, request in self._requests.items()
            if id_ in base.requests and base.requests[id_].added is not request.added
        ]
        self._blocks = _changed(base.blocks, state.blocks)
        self._cached = _changed(base.cached, state.cached)
        self._uncached = [key for key in base.cached if key not in state.cached]
        self._left_queue, self._joined_queue = _queue_changes(base.freed, state.freed)

    @property
    def num_changes(self) -> int:
        queue = len(self._left_queue) + len(self._joined_queue)
        cache = len(self._cached) + len(self._uncached)
        return len(self._requests) + len(self._blocks) + cache + queue

    def open(self) -> State:
        base, state = self.base, self._frame.copy_frame()
        state.requests, state.blocks = dict(base.requests), dict(base.blocks)
        state.cached, state.freed = dict(base.cached), dict(base.freed)
        for request_id in self._replaced:
            del state.requests[request_id]
        state.requests.update(self._requests)
        state.blocks.update(self._blocks)
        for key in self._uncached:
            del state.cached[key]
        state.cached.update(self._cached)
        for block_id in self._left_queue:
            del state.freed[block_id]
        state.freed.update(dict.fromkeys(self._joined_queue))
        state.num_left_freed += len(self._left_queue)
        return state


def first_keyframe(state: State) -> Keyframe:
    return Keyframe(state, state.copy())


def next_keyframe(last: Keyframe, state: State) -> Keyframe:
    """On the same base as the last one, or on a new one where too little is as it was."""
    keyframe = Keyframe(state, last.base)
    if keyframe.num_changes * 4 > num_entries(state):
        return first_keyframe(state)
    return keyframe


def num_entries(state: State) -> int:
    return len(state.requests) + len(state.blocks) + len(state.freed) + len(state.cached)


def _changed(before: Mapping[K, V], after: Mapping[K, V]) -> dict[K, V]:
    return {key: entry for key, entry in after.items() if before.get(key) is not entry}


def _queue_changes(
    before: Mapping[int, None], after: Mapping[int, None]
) -> tuple[list[int], list[int]]:
    """Who left its place, and who joined at the end. Whoever stayed stands before those."""
    ahead = iter(after)
    expected = next(ahead, None)
    left = []
    for block_id in before:
        if block_id == expected:
            expected = next(ahead, None)
        else:
            left.append(block_id)
    return left, [] if expected is None else [expected, *ahead]
