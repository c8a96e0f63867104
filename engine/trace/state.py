"""The whole picture at one cursor: what the views draw and what the engine must agree with.

A State is grown by `reducer.apply` alone. It grows with what happened, not with the pool: blocks
that were never used are the range `next_unused .. num_blocks - 1`, and the free queue is that range
followed by `freed`, because the queue starts in ascending order and only ever gains at its tail.

Copies are shallow: entries are shared between a State and its copies until one of them changes
(`own_request`, `own_block`), so keyframes and the pictures that a page holds cost little.
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from engine.trace.events import RequestAdded

NULL_BLOCK_ID = 0

_owners = itertools.count(1)


class Cursor(NamedTuple):
    """A place in time: `sub_step` sub-steps of `step` have happened; 0 is the start of the step."""

    step: int
    sub_step: int = 0


class ScheduledRow(NamedTuple):
    """One request's share of a step."""

    request_id: str
    kind: str  # "new", "resumed" or "running"
    num_scheduled_tokens: int
    num_computed_tokens: int  # before this step's tokens
    spec_token_ids: tuple[int, ...] = ()


class Lookup(NamedTuple):
    """The outcome of the last prefix lookup of a request (events.PrefixLookedUp), and its step."""

    step: int
    num_tokens: int
    num_hit_tokens: int
    hit_block_ids: tuple[tuple[int, ...], ...]
    stop_reason: str
    missed_hash: str | None
    num_dropped_blocks: int


@dataclass(slots=True)
class PrefixCacheStats:
    """Counters of one step or of a run. vLLM 0.17.1: v1/metrics/stats.py PrefixCacheStats"""

    reset: bool = False
    requests: int = 0
    queries: int = 0
    hits: int = 0
    preempted_requests: int = 0
    preempted_queries: int = 0
    preempted_hits: int = 0


@dataclass(slots=True)
class RequestState:
    """One request, live or finished. Finished ones stay in the picture until the run ends."""

    added: RequestAdded  # the prompt and all options
    owner: int
    status: str = "WAITING"  # WAITING, RUNNING, PREEMPTED, FINISHED_LENGTH_CAPPED, ..., as vLLM
    num_computed_tokens: int = 0  # tokens whose K and V are in the cache, or will be after this step
    num_cached_tokens: int | None = None  # hit at the first admission; None before it
    num_preemptions: int = 0
    token_ids: list[int] = field(default_factory=list)  # prompt and outputs
    output_token_bytes: list[bytes] = field(default_factory=list)
    output_logprobs: list[float] = field(default_factory=list)
    output_top_logprobs: list[tuple[tuple[int, float], ...]] = field(default_factory=list)
    output_text: str = ""
    block_tables: list[list[int]] = field(default_factory=list)  # per group; emptied when freed
    block_hashes: list[str] = field(default_factory=list)  # of all full blocks, cached or not
    spec_token_ids: tuple[int, ...] = ()
    finish_reason: str | None = None  # "length", "stop", "abort"
    lookup: Lookup | None = None
    num_hit_tokens: int = 0  # of the latest admission
    first_scheduled_step: int | None = None
    finished_step: int | None = None

    @property
    def request_id(self) -> str:
        return self.added.request_id

    @property
    def num_prompt_tokens(self) -> int:
        return len(self.added.prompt_token_ids)

    @property
    def num_tokens(self) -> int:
        return len(self.token_ids)

    @property
    def is_finished(self) -> bool:
        return self.status.startswith("FINISHED")

    @property
    def output_token_ids(self) -> list[int]:
        return self.token_ids[self.num_prompt_tokens :]

    def copy(self, owner: int) -> "RequestState":
        """A copy whose lists may be changed without the original seeing it."""
        clone = RequestState(self.added, owner)
        for name in _REQUEST_SCALARS:
            setattr(clone, name, getattr(self, name))
        for name in _REQUEST_LISTS:
            setattr(clone, name, list(getattr(self, name)))
        clone.block_tables = [list(table) for table in self.block_tables]
        return clone


_REQUEST_LISTS = (
    "token_ids",
    "output_token_bytes",
    "output_logprobs",
    "output_top_logprobs",
    "block_hashes",
)
_REQUEST_SCALARS = (
    "status",
    "num_computed_tokens",
    "num_cached_tokens",
    "num_preemptions",
    "output_text",
    "spec_token_ids",
    "finish_reason",
    "lookup",
    "num_hit_tokens",
    "first_scheduled_step",
    "finished_step",
)


@dataclass(slots=True)
class BlockState:
    """One block that was used at least once. `block_hash` survives freeing, until eviction."""

    owner: int
    ref_cnt: int = 0
    group_id: int = 0
    block_hash: str | None = None
    parent_block_hash: str | None = None
    token_ids: tuple[int, ...] = ()  # of the hashed content; () while it has no hash
    request_id: str | None = None  # who took it last
    logical_index: int = 0  # at which place of that request's table
    num_written_slots: int = 0  # slots whose K and V were computed by the latest taker
    kv_valid: bool = False  # hashed, and all its K and V were computed

    def copy(self, owner: int) -> "BlockState":
        clone = BlockState(owner)
        for name in _BLOCK_FIELDS:
            setattr(clone, name, getattr(self, name))
        return clone


_BLOCK_FIELDS = (
    "ref_cnt",
    "group_id",
    "block_hash",
    "parent_block_hash",
    "token_ids",
    "request_id",
    "logical_index",
    "num_written_slots",
    "kv_valid",
)


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
        self.owner = next(_owners)
        self.step = 0
        self.requests: dict[str, RequestState] = {}  # in order of arrival, with the finished ones
        self.waiting: list[str] = []  # in the order in which it would be served
        self.running: list[str] = []
        self.blocks: dict[int, BlockState] = {}  # used at least once, without the null block
        self.next_unused = NULL_BLOCK_ID + 1
        self.freed: dict[int, None] = {}  # insertion order is queue order
        self.cached: dict[str, tuple[int, ...]] = {}  # cache key (hash + group) -> oldest first
        self.scheduled: dict[str, ScheduledRow] = {}  # this step, in scheduling order
        self.preempted: list[str] = []  # this step, in order
        self.set_aside: list[str] = []  # this step
        self.token_budget = config["max_num_batched_tokens"]
        self.num_common_prefix_blocks: tuple[int, ...] = ()
        self.is_scheduled = False  # schedule() of this step is done
        self.is_updated = False  # update_from_output() of this step is done
        self.step_stats = PrefixCacheStats()  # of the latest finished step
        self.stats = PrefixCacheStats()  # since the run began
        self.num_preemptions = 0

    def copy(self) -> "State":
        """The same picture; neither of the two sees later changes of the other."""
        clone = State.__new__(State)
        clone.__dict__.update(self.__dict__)
        for name in ("config", "requests", "blocks", "freed", "cached", "scheduled"):
            setattr(clone, name, dict(getattr(self, name)))
        for name in ("groups", "waiting", "running", "preempted", "set_aside"):
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
        return self.num_blocks - self.next_unused + len(self.freed)

    @property
    def num_used_blocks(self) -> int:
        return self.num_blocks - 1 - self.num_free_blocks

    @property
    def usage(self) -> float:
        """Share of the usable blocks in use, in exactly the form in which vLLM computes it."""
        return 1.0 - self.num_free_blocks / (self.num_blocks - 1)

    def free_queue(self) -> Iterator[int]:
        """Block ids from head (evicted next) to tail."""
        return itertools.chain(range(self.next_unused, self.num_blocks), self.freed)

    def free_queue_ends(self, head: int, tail: int) -> tuple[list[int], list[int]]:
        """The first `head` and the last `tail` ids without walking what lies between."""
        first = list(itertools.islice(self.free_queue(), head))
        room = min(tail, max(0, self.num_free_blocks - len(first)))
        last = list(itertools.islice(reversed(self.freed), room))
        unused_end = self.num_blocks
        while len(last) < room:
            unused_end -= 1
            last.append(unused_end)
        return first, last[::-1]

    def block_tokens(self, block_id: int) -> tuple[int, ...]:
        """Token ids whose K and V lie in the block now, as far as they were written."""
        block = self.blocks.get(block_id)
        if block is None:
            return ()
        if block.token_ids:
            return block.token_ids
        if block.request_id is None:
            return ()
        size = self.groups[block.group_id]["block_size"]
        start = block.logical_index * size
        tokens = self.requests[block.request_id].token_ids[start : start + size]
        return tuple(tokens[: block.num_written_slots])

    def holders(self, block_id: int) -> list[str]:
        """Requests whose block table holds the block, in order of arrival."""
        return [
            request_id
            for request_id, request in self.requests.items()
            if any(block_id in table for table in request.block_tables)
        ]

    def live_requests(self) -> dict[str, RequestState]:
        return {id_: request for id_, request in self.requests.items() if not request.is_finished}

    def snapshot(self, *, all_free_ids: bool | None = None) -> dict[str, Any]:
        """The picture in the form of the recorded runs (SEMANTICS 2), plus what they leave out.

        `Engine.snapshot()` builds the same from the engine's own objects; both must be equal
        after every step.
        """
        whole = self.num_blocks <= 512 if all_free_ids is None else all_free_ids
        if whole:
            ids = list(self.free_queue())
        else:
            first, last = self.free_queue_ends(64, 64)
            ids = first + last
        used_or_hashed = sorted(
            id_ for id_, block in self.blocks.items() if block.ref_cnt or block.block_hash
        )
        return {
            "waiting": list(self.waiting),
            "running": list(self.running),
            "requests": {
                id_: {
                    "status": request.status,
                    "num_computed_tokens": request.num_computed_tokens,
                    "num_tokens": request.num_tokens,
                    "num_cached_tokens": (
                        -1 if request.num_cached_tokens is None else request.num_cached_tokens
                    ),
                    "num_preemptions": request.num_preemptions,
                    "blocks": [list(table) for table in request.block_tables],
                }
                for id_, request in self.live_requests().items()
            },
            "free_queue": {"len": self.num_free_blocks, "ids": ids},
            "num_free_blocks": self.num_free_blocks,
            "usage": self.usage,
            "blocks": [
                [id_, self.blocks[id_].ref_cnt, self.cache_key(id_)] for id_ in used_or_hashed
            ],
            "cached": {key: list(ids) for key, ids in self.cached.items()},
            "invalid_blocks": [
                id_
                for id_ in used_or_hashed
                if self.blocks[id_].block_hash and not self.blocks[id_].kv_valid
            ],
            "token_ids": {
                id_: list(request.token_ids) for id_, request in self.live_requests().items()
            },
            "block_hashes": {
                id_: list(request.block_hashes) for id_, request in self.live_requests().items()
            },
            "spec_token_ids": {
                id_: list(request.spec_token_ids) for id_, request in self.live_requests().items()
            },
        }

    def cache_key(self, block_id: int) -> str | None:
        """The block's key in the prefix cache: its hash and its group as four bytes, in hex."""
        block = self.blocks.get(block_id)
        if block is None or block.block_hash is None:
            return None
        return cache_key(block.block_hash, block.group_id)


def cache_key(block_hash: str, group_id: int) -> str:
    """Hash and group id (4 bytes, big-endian) as one hexadecimal text (SEMANTICS 3)."""
    return f"{block_hash}{group_id:08x}"
