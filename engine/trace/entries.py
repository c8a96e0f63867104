"""What a State is made of: requests, blocks, rows of a batch, counters.

Entries hold no cycles, and say so (`gc=False`): else each full collection would walk over the
entries of all keyframes.
"""

import copy
from typing import Any, NamedTuple

import msgspec

from engine.trace.events import RequestAdded, TokensSampled


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


class PrefixCacheStats(msgspec.Struct, gc=False):
    """Counters of one step or of a run. vLLM 0.17.1: v1/metrics/stats.py PrefixCacheStats"""

    reset: bool = False
    requests: int = 0
    queries: int = 0
    hits: int = 0
    preempted_requests: int = 0
    preempted_queries: int = 0
    preempted_hits: int = 0


class RequestState(msgspec.Struct, gc=False):
    """One request, live or finished. Finished ones stay in the picture until the run ends.

    What only ever grows (tokens, samples, hashes) stands in logs that all copies share; each copy
    remembers how much of a log has happened in its own picture, so that copies cost little.
    """

    added: RequestAdded  # the prompt and all options
    owner: int
    status: str = "WAITING"  # WAITING, RUNNING, PREEMPTED, FINISHED_LENGTH_CAPPED, ..., as vLLM
    num_computed_tokens: int = (
        0  # tokens whose K and V are in the cache, or will be after this step
    )
    num_cached_tokens: int | None = None  # hit at the first admission; None before it
    num_preemptions: int = 0
    num_tokens: int = 0  # prompt and outputs
    spec_token_ids: tuple[int, ...] = ()
    finish_reason: str | None = None  # "length", "stop", "abort"
    lookup: Lookup | None = None
    num_hit_tokens: int = 0  # of the latest admission
    first_scheduled_step: int | None = None
    finished_step: int | None = None
    token_log: list[int] = msgspec.field(default_factory=list)
    sample_log: list[TokensSampled] = msgspec.field(default_factory=list)
    num_samples: int = 0
    hash_log: list[str] = msgspec.field(default_factory=list)
    num_block_hashes: int = 0
    block_tables: list[list[int]] = msgspec.field(
        default_factory=list
    )  # per group; emptied when freed

    @property
    def request_id(self) -> str:
        return self.added.request_id

    @property
    def num_prompt_tokens(self) -> int:
        return len(self.added.prompt_token_ids)

    @property
    def num_output_tokens(self) -> int:
        return self.num_tokens - len(self.added.prompt_token_ids)

    @property
    def is_finished(self) -> bool:
        return self.status.startswith("FINISHED")

    @property
    def token_ids(self) -> list[int]:
        """Prompt and outputs."""
        return self.token_log[: self.num_tokens]

    @property
    def output_token_ids(self) -> list[int]:
        return self.token_log[self.num_prompt_tokens : self.num_tokens]

    @property
    def samples(self) -> list[TokensSampled]:
        """The events that made the outputs, in order."""
        return self.sample_log[: self.num_samples]

    @property
    def output_token_bytes(self) -> list[bytes]:
        return [bytes_ for sample in self.samples for bytes_ in sample.token_bytes]

    @property
    def output_logprobs(self) -> list[float]:
        return [logprob for sample in self.samples for logprob in sample.logprobs]

    @property
    def output_top_logprobs(self) -> list[tuple[tuple[int, float], ...]]:
        return [top for sample in self.samples for top in sample.top_logprobs]

    @property
    def output_text(self) -> str:
        return "".join(sample.text for sample in self.samples)

    @property
    def block_hashes(self) -> list[str]:
        """Hashes of all full blocks, cached or not."""
        return self.hash_log[: self.num_block_hashes]

    def tokens_between(self, start: int, stop: int) -> list[int]:
        """Token ids at the positions `start` to `stop - 1`, as far as they are known."""
        return self.token_log[start : min(stop, self.num_tokens)]

    def snapshot(self) -> dict[str, Any]:
        """The request in the form of the recorded runs (SEMANTICS 2)."""
        return {
            "status": self.status,
            "num_computed_tokens": self.num_computed_tokens,
            "num_tokens": self.num_tokens,
            "num_cached_tokens": -1 if self.num_cached_tokens is None else self.num_cached_tokens,
            "num_preemptions": self.num_preemptions,
            "blocks": [list(table) for table in self.block_tables],
        }

    def copy(self, owner: int) -> "RequestState":
        """A copy that may be changed without the original seeing it."""
        clone = copy.copy(self)
        clone.owner = owner
        clone.block_tables = [list(table) for table in self.block_tables]
        return clone


class BlockState(msgspec.Struct, gc=False):
    """One block that was used at least once. `block_hash` survives freeing, until eviction."""

    owner: int
    ref_cnt: int = 0
    group_id: int = 0
    block_hash: str | None = None
    parent_block_hash: str | None = None
    token_ids: tuple[int, ...] = ()  # of the hashed content; () while it has no hash
    request_id: str | None = None  # who took it last
    logical_index: int = 0  # at which place of that request's table
    num_written_slots: int = 0  # slots that hold K and V of the latest taker's tokens
    kv_valid: bool = False  # hashed, and all its K and V were computed

    def copy(self, owner: int) -> "BlockState":
        clone = copy.copy(self)
        clone.owner = owner
        return clone
