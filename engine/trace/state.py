"""The whole picture at one cursor: what the views draw and what the engine must agree with.

A State is grown by `reducer.apply` alone. It grows with what happened, not with the pool: blocks
that were never used are the range `next_unused .. num_blocks - 1`, and the free queue is that range
followed by `freed`, because the queue starts in ascending order and gains at its tail. What is put
at its head (`reuse_unhashed_first` alone does that) has no hash, so nobody can hit it and it leaves
from there alone: `at_head` is a stack.

Copies are shallow: entries are shared between a State and its copies until one of them changes
(`own_request`, `own_block`), so keyframes and the pictures that a page holds cost little.
"""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from engine.trace.entries import (
    BlockState,
    Lookup,
    PrefixCacheStats,
    RequestState,
    ScheduledRow,
)

__all__ = [
    "NULL_BLOCK_ID",
    "BlockState",
    "Cursor",
    "Lookup",
    "PrefixCacheStats",
    "RequestState",
    "ScheduledRow",
    "State",
    "cache_key",
]

NULL_BLOCK_ID = 0

_owners = itertools.count(1)


class Cursor(NamedTuple):
    """A place in time: `sub_step` sub-steps of `step` have happened; 0 is the start of the step."""

    step: int
    sub_step: int = 0


class State:
    """Everything at one cursor. Read it; `reducer.apply` alone writes."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.config: dict[str, Any] = dict(config)
        self.block_size: int = config["block_size"]
        self.num_blocks: int = config["num_blocks"]
        groups = config.get("kv_groups") or [{"type": "full"}]
        self.groups: list[dict[str, Any]] = [
            {**group, "block_size": group.get("block_size") or self.block_size} for group in groups
        ]
        self.group_block_sizes = tuple(group["block_size"] for group in self.groups)
        self.owner = next(_owners)
        self.step = 0
        self.requests: dict[str, RequestState] = {}  # in order of arrival, with the finished ones
        self.waiting: list[str] = []  # in the order in which it would be served
        self.running: list[str] = []
        self.blocks: dict[int, BlockState] = {}  # used at least once, without the null block
        self.next_unused = NULL_BLOCK_ID + 1
        self.freed: dict[int, None] = {}  # insertion order is queue order
        self.at_head: list[int] = []  # free, ahead of the never-used; the last is taken next
        self.num_left_freed = 0  # ids that left `freed` since it was last rebuilt
        self.cached: dict[str, tuple[int, ...]] = {}  # cache key (hash + group) -> oldest first
        self.scheduled: dict[str, ScheduledRow] = {}  # this step, in scheduling order
        self.admitted: dict[str, str] = {}  # this step: request id -> "new" or "resumed"
        self.preempted: list[str] = []  # this step, in order
        self.set_aside: list[str] = []  # this step
        self.token_budget = config["max_num_batched_tokens"]
        self.num_common_prefix_blocks: tuple[int, ...] = ()
        self.in_step = False  # the step has begun and has not ended
        self.is_scheduled = False  # schedule() of this step is done
        self.is_written = False  # the model of this step ran
        self.is_updated = False  # update_from_output() of this step is done
        self.step_stats = PrefixCacheStats()  # of the latest finished step
        self.stats = PrefixCacheStats()  # since the run began
        self.num_preemptions = 0

    def copy(self) -> "State":
        """The same picture; neither of the two sees later changes of the other."""
        clone = self.copy_frame()
        clone.requests, clone.blocks = dict(self.requests), dict(self.blocks)
        clone.freed, clone.cached = dict(self.freed), dict(self.cached)
        return clone

    def copy_frame(self) -> "State":
        """A copy without what grows with the run: requests, blocks, free queue and cache."""
        clone = State.__new__(State)
        clone.__dict__.update(self.__dict__)
        clone.requests, clone.blocks, clone.freed, clone.cached = {}, {}, {}, {}
        for name in ("config", "scheduled", "admitted"):
            setattr(clone, name, dict(getattr(self, name)))
        for name in ("groups", "waiting", "running", "preempted", "set_aside", "at_head"):
            setattr(clone, name, list(getattr(self, name)))
        # Both get a new owner: what they share now may be changed by neither.
        self.owner, clone.owner = next(_owners), next(_owners)
        return clone

    def own_request(self, request_id: str) -> RequestState:
        """The request's entry, made private to this State so that it may be changed."""
        request = self.requests[request_id]
        if request.owner != self.owner:
            request = self.requests[request_id] = request.copy(self.owner)
        return request

    def own_block(self, block_id: int) -> BlockState:
        """The block's entry, made private to this State so that it may be changed."""
        block = self.blocks.get(block_id)
        if block is None:
            block = self.blocks[block_id] = BlockState(self.owner)
        elif block.owner != self.owner:
            block = self.blocks[block_id] = block.copy(self.owner)
        return block

    # Derived facts ----------------------------------------------------------------------------

    @property
    def num_free_blocks(self) -> int:
        return len(self.at_head) + self.num_blocks - self.next_unused + len(self.freed)

    @property
    def num_used_blocks(self) -> int:
        return self.num_blocks - 1 - self.num_free_blocks

    @property
    def usage(self) -> float:
        """Share of the usable blocks in use, in exactly the form in which vLLM computes it."""
        return 1.0 - self.num_free_blocks / (self.num_blocks - 1)

    def free_queue(self) -> Iterator[int]:
        """Block ids from head (evicted next) to tail."""
        unused = range(self.next_unused, self.num_blocks)
        return itertools.chain(reversed(self.at_head), unused, self.freed)

    def is_free(self, block_id: int) -> bool:
        """Whether it stands in the free queue."""
        is_unused = self.next_unused <= block_id < self.num_blocks
        return is_unused or block_id in self.freed or block_id in self.at_head

    def free_queue_ends(self, head: int, tail: int) -> tuple[list[int], list[int]]:
        """The first `head` and the last `tail` ids without walking what lies between."""
        first = list(itertools.islice(self.free_queue(), head))
        return first, self._queue_tail(min(tail, self.num_free_blocks - len(first)))

    def block_tokens(self, block_id: int) -> tuple[int, ...]:
        """Token ids whose K and V lie in the block now, as far as they were written."""
        block = self.blocks.get(block_id)
        if block is None:
            return ()
        if block.token_ids:
            return block.token_ids
        if block.request_id is None:
            return ()
        size = self.group_block_sizes[block.group_id]
        start = block.logical_index * size
        stop = start + block.num_written_slots
        return tuple(self.requests[block.request_id].tokens_between(start, stop))

    def holders(self, block_id: int) -> list[str]:
        """Requests whose block table holds the block, in order of arrival."""
        return [
            request_id
            for request_id, request in self.requests.items()
            if any(block_id in table for table in request.block_tables)
        ]

    def live_requests(self) -> dict[str, RequestState]:
        return {id_: request for id_, request in self.requests.items() if not request.is_finished}

    def snapshot(self) -> dict[str, Any]:
        """The picture in the form of the recorded runs (SEMANTICS 2), plus what they leave out.

        `Engine.snapshot()` builds the same from the engine's own objects; both must be equal
        after every step.
        """
        used_or_hashed = sorted(
            id_ for id_, block in self.blocks.items() if block.ref_cnt or block.block_hash
        )
        live = self.live_requests()
        return {
            "waiting": list(self.waiting),
            "running": list(self.running),
            "requests": {id_: request.snapshot() for id_, request in live.items()},
            "free_queue": self._queue_snapshot(),
            "num_free_blocks": self.num_free_blocks,
            "usage": self.usage,
            "blocks": [
                [id_, self.blocks[id_].ref_cnt, self.cache_key(id_)] for id_ in used_or_hashed
            ],
            "cached": {key: list(ids) for key, ids in self.cached.items()},
            "invalid_blocks": [
                id_
                for id_ in used_or_hashed
                if self.is_cached(id_) and not self.blocks[id_].kv_valid
            ],
            "token_ids": {id_: request.token_ids for id_, request in live.items()},
            "block_hashes": {id_: request.block_hashes for id_, request in live.items()},
            "spec_token_ids": {id_: list(request.spec_token_ids) for id_, request in live.items()},
        }

    def _queue_snapshot(self) -> dict[str, Any]:
        """All ids of a short free queue; the ends of a long one."""
        if self.num_free_blocks <= 512:
            return {"len": self.num_free_blocks, "ids": list(self.free_queue())}
        head = list(itertools.islice(self.free_queue(), 64))
        return {"len": self.num_free_blocks, "head": head, "tail": self._queue_tail(64)}

    def _queue_tail(self, count: int) -> list[int]:
        """The last `count` ids of the free queue, or all of a shorter one."""
        last = list(itertools.islice(reversed(self.freed), count))
        unused = range(self.num_blocks - 1, self.next_unused - 1, -1)
        last += itertools.islice(unused, count - len(last))
        last += itertools.islice(self.at_head, count - len(last))
        return last[::-1]

    def is_cached(self, block_id: int) -> bool:
        block = self.blocks.get(block_id)
        return block is not None and block.block_hash is not None

    def cache_key(self, block_id: int) -> str | None:
        """The block's key in the prefix cache: its hash and its group as four bytes, in hex."""
        block = self.blocks.get(block_id)
        if block is None or block.block_hash is None:
            return None
        return cache_key(block.block_hash, block.group_id)


def cache_key(block_hash: str, group_id: int) -> str:
    """Hash and group id (4 bytes, big-endian) as one hexadecimal text (SEMANTICS 3)."""
    return f"{block_hash}{group_id:08x}"
