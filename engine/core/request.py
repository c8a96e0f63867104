"""A request and its status machine: WAITING -> RUNNING -> FINISHED_*, with PREEMPTED in between."""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import NamedTuple

from engine.config import SamplingParams
from engine.core.block_hash import BlockHasher
from engine.trace.events import BlockHashed, Emit, RequestAdded, TokensSampled, ignore


class RequestStatus(Enum):
    """vLLM 0.17.1: v1/request.py RequestStatus"""

    WAITING = "WAITING"
    RUNNING = "RUNNING"
    PREEMPTED = "PREEMPTED"
    FINISHED_STOPPED = "FINISHED_STOPPED"
    FINISHED_LENGTH_CAPPED = "FINISHED_LENGTH_CAPPED"
    FINISHED_ABORTED = "FINISHED_ABORTED"

    @property
    def is_finished(self) -> bool:
        return self in FINISH_REASONS


FINISH_REASONS = {
    RequestStatus.FINISHED_STOPPED: "stop",
    RequestStatus.FINISHED_LENGTH_CAPPED: "length",
    RequestStatus.FINISHED_ABORTED: "abort",
}


class SampledTokens(NamedTuple):
    """What the model drew for one request in one step."""

    token_ids: tuple[int, ...]
    stopped: bool = False  # a stop string was completed
    text: str = ""  # newly readable text, never to be taken back
    token_bytes: tuple[bytes, ...] = ()
    logprobs: tuple[float, ...] = ()
    top_logprobs: tuple[tuple[tuple[int, float], ...], ...] = ()

    def first(self, count: int) -> "SampledTokens":
        """Its first `count` tokens; the text stays, since it is readable already."""
        return self._replace(
            token_ids=self.token_ids[:count],
            token_bytes=self.token_bytes[:count],
            logprobs=self.logprobs[:count],
            top_logprobs=self.top_logprobs[:count],
        )


class Request:
    """One prompt and what was generated for it.

    Invariant: `block_hashes` holds the hash of every full block of `token_ids`, in order; it is
    empty when there is no hasher (prefix caching off).

    vLLM 0.17.1: v1/request.py Request
    """

    __slots__ = (
        "arrival_time",
        "block_hashes",
        "cache_salt",
        "emit",
        "hasher",
        "lora_name",
        "max_total_tokens",
        "next_hash_at",
        "num_cached_tokens",
        "num_computed_tokens",
        "num_preemptions",
        "num_prompt_tokens",
        "num_quiet_tokens",
        "priority",
        "request_id",
        "sampling",
        "skip_reading_prefix_cache",
        "spec_token_ids",
        "status",
        "stop_token_ids",
        "token_ids",
    )

    def __init__(
        self,
        request_id: str,
        prompt_token_ids: Sequence[int],
        *,
        sampling: SamplingParams,
        arrival_time: float,
        priority: int = 0,
        cache_salt: str | None = None,
        lora_name: str | None = None,
        skip_reading_prefix_cache: bool = False,
        stop_token_ids: frozenset[int] = frozenset(),
        hasher: BlockHasher | None = None,
        emit: Emit = ignore,
    ) -> None:
        self.request_id = request_id
        self.token_ids = list(prompt_token_ids)  # prompt and outputs
        self.num_prompt_tokens = len(self.token_ids)
        self.sampling = sampling
        self.max_total_tokens = self.num_prompt_tokens + sampling.max_tokens  # see add_request
        self.arrival_time = arrival_time
        self.priority = priority
        self.cache_salt = cache_salt
        self.lora_name = lora_name
        self.skip_reading_prefix_cache = skip_reading_prefix_cache
        self.stop_token_ids = stop_token_ids  # end-of-text tokens; empty with ignore_eos
        self.status = RequestStatus.WAITING
        self.num_computed_tokens = 0  # KV is in the cache, or will be after the current step
        self.num_cached_tokens = -1  # hit at the first admission; -1 before it
        self.num_preemptions = 0
        self.num_quiet_tokens = 0  # up to here its blocks suffice: KVCacheManager.allocate_slots
        self.spec_token_ids: tuple[int, ...] = ()
        self.hasher = hasher
        self.emit = emit
        self.block_hashes: list[bytes] = []
        self.next_hash_at = hasher.block_size if hasher is not None else 1 << 62
        self._hash_full_blocks()

    @property
    def num_tokens(self) -> int:
        return len(self.token_ids)

    @property
    def num_output_tokens(self) -> int:
        return len(self.token_ids) - self.num_prompt_tokens

    @property
    def prompt_token_ids(self) -> list[int]:
        return self.token_ids[: self.num_prompt_tokens]

    @property
    def output_token_ids(self) -> list[int]:
        return self.token_ids[self.num_prompt_tokens :]

    def append_sampled(self, sampled: SampledTokens, num_rejected: int) -> tuple[int, ...]:
        """Append tokens up to the one that finishes the request; those that were appended.

        TokensSampled comes first, then the hash of a block that a token fills.
        """
        ends = len(self.token_ids) + len(sampled.token_ids) >= self.max_total_tokens
        if ends or sampled.stopped or not self.stop_token_ids.isdisjoint(sampled.token_ids):
            sampled, self.status = self._cut_at_end(sampled)
        if self.emit is not ignore:
            self.emit(
                TokensSampled(
                    self.request_id,
                    sampled.token_ids,
                    num_rejected,
                    sampled.text,
                    sampled.token_bytes,
                    sampled.logprobs,
                    sampled.top_logprobs,
                )
            )
        self.token_ids += sampled.token_ids
        if len(self.token_ids) >= self.next_hash_at:
            first_new = len(self.block_hashes)
            self._hash_full_blocks()
            new_hashes = tuple(hash_.hex() for hash_ in self.block_hashes[first_new:])
            self.emit(BlockHashed(self.request_id, new_hashes))
        return sampled.token_ids

    def _cut_at_end(self, sampled: SampledTokens) -> tuple[SampledTokens, RequestStatus]:
        """Without what comes behind the token that finishes the request, and how that ends it."""
        num_tokens = len(self.token_ids)
        for count, token_id in enumerate(sampled.token_ids, start=1):
            if token_id in self.stop_token_ids:
                status = RequestStatus.FINISHED_STOPPED
            elif num_tokens + count >= self.max_total_tokens and not sampled.stopped:
                status = RequestStatus.FINISHED_LENGTH_CAPPED
            else:
                continue
            return sampled.first(count), status
        return sampled, RequestStatus.FINISHED_STOPPED if sampled.stopped else self.status

    def _hash_full_blocks(self) -> None:
        if self.hasher is not None:
            self.hasher.extend(
                self.block_hashes,
                self.token_ids,
                lora_name=self.lora_name,
                cache_salt=self.cache_salt,
            )
            self.next_hash_at = (len(self.block_hashes) + 1) * self.hasher.block_size

    def to_event(self, step: int, phase: str = "before", **text: object) -> RequestAdded:
        """The event that adds this request; `text` are the fields about its text."""
        sampling = self.sampling
        return RequestAdded(
            request_id=self.request_id,
            step=step,
            phase=phase,
            prompt_token_ids=tuple(self.prompt_token_ids),
            max_tokens=sampling.max_tokens,
            arrival_time=self.arrival_time,
            priority=self.priority,
            cache_salt=self.cache_salt,
            lora_name=self.lora_name,
            skip_reading_prefix_cache=self.skip_reading_prefix_cache,
            temperature=sampling.temperature,
            top_k=sampling.top_k,
            top_p=sampling.top_p,
            seed=sampling.seed,
            stop=sampling.stop,
            ignore_eos=sampling.ignore_eos,
            block_hashes=tuple(hash_.hex() for hash_ in self.block_hashes),
            **text,  # type: ignore[arg-type]
        )


BlockTables = Callable[[str], Sequence[Sequence[int]]]  # request id -> table per group
