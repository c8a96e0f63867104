"""Every event of a run: what happened, in the past tense, in the order in which it happened.

An event holds numbers, strings, bytes and tuples of these, so that it survives JSON unchanged.
`apply` in reducer.py is the only code that knows what an event means for the picture. Hashes are
hexadecimal texts without the group suffix; `group_id` numbers the KV-cache groups from 0.

The inputs of a run (`INPUT_EVENTS`) are events as well: re-executing them rebuilds the run.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import msgspec


class Event(
    msgspec.Struct,
    frozen=True,
    tag=True,
    gc=False,
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """Base of all events. On disk the class name stands in the field `type`."""

    vllm_function: ClassVar[str] = ""  # the function of vLLM 0.17.1 that does the same


# Inputs ---------------------------------------------------------------------------------------


class RequestAdded(Event):
    """A prompt came in. With it come all options, so that the run can be repeated from its file."""

    vllm_function: ClassVar[str] = "Scheduler.add_request"

    request_id: str
    step: int  # the step that will see it first
    prompt_token_ids: tuple[int, ...]
    max_tokens: int
    arrival_time: float
    priority: int = 0
    cache_salt: str | None = None
    lora_name: str | None = None
    skip_reading_prefix_cache: bool = False
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0
    stop: tuple[str, ...] = ()
    ignore_eos: bool = False
    prompt_text: str | None = None  # as typed
    prompt_mode: str = "ids"  # "chat", "raw" or "ids"
    prompt_token_bytes: tuple[bytes, ...] = ()  # one per token: a token may be part of a character
    special_token_ids: tuple[int, ...] = ()  # which ids of the prompt are control tokens
    block_hashes: tuple[str, ...] = ()  # the chain of the prompt's full blocks
    phase: str = "before"


class RequestAborted(Event):
    """The client left. `ok` is false when the request was unknown or already finished."""

    vllm_function: ClassVar[str] = "Scheduler.finish_requests"

    request_id: str
    step: int
    ok: bool
    phase: str = "before"  # "mid": while the model ran


class CacheReset(Event):
    """Somebody asked to forget the prefix cache; granted only when no block was in use."""

    vllm_function: ClassVar[str] = "BlockPool.reset_prefix_cache"

    step: int
    ok: bool
    num_blocks_in_use: int = 0
    reset_running_requests: bool = False
    phase: str = "before"


class SettingChanged(Event):
    """A setting that may change between two steps has a new value."""

    step: int
    name: str
    value: int | bool
    phase: str = "before"


# Scheduling -----------------------------------------------------------------------------------


class StepBegan(Event):
    vllm_function: ClassVar[str] = "Scheduler.schedule"

    step: int
    token_budget: int
    time_s: float | None = None  # since the run began; left out of every comparison


class RequestQueued(Event):
    """The request stands at `index` of the waiting queue (0 is served first)."""

    vllm_function: ClassVar[str] = "RequestQueue.add_request"

    request_id: str
    index: int


class PrefixLookedUp(Event):
    """The cache was asked for the longest prefix that it still holds.

    `stop_reason`: "miss" (`missed_hash` is not cached), "end" (every full block that may hit did),
    "cap" (the next block is held back so that one token is left to compute), "groups" (one group
    would hit more, another does not), "eagle" (the last matched block is dropped), "skipped" (the
    request does not read, or caching is off).
    """

    vllm_function: ClassVar[str] = "KVCacheManager.get_computed_blocks"

    request_id: str
    num_tokens: int  # what the statistics count as queries
    num_hit_tokens: int
    hit_block_ids: tuple[tuple[int, ...], ...]  # per group; 0 is the null block
    stop_reason: str
    missed_hash: str | None = None
    num_dropped_blocks: int = 0  # EAGLE: 1, the last matched one; alignment may take more along


class HitCut(Event):
    """A hit was cut before a block whose K and V nobody computed. vLLM 0.17.1 would use it."""

    request_id: str
    block_id: int
    group_id: int
    num_hit_tokens_before: int
    num_hit_tokens: int


class HolesMade(Event):
    """Blocks left the attention window: their places in the table became the null block."""

    vllm_function: ClassVar[str] = "SingleTypeKVCacheManager.remove_skipped_blocks"

    request_id: str
    group_id: int
    logical_indices: tuple[int, ...]  # from right to left
    block_ids: tuple[int, ...]  # in the order in which they were freed
    to_head: tuple[int, ...] = ()  # those that joined the head of the queue (reuse_unhashed_first)


class BlocksTouched(Event):
    """Hit blocks gained a reference; those that lay in the free queue left its middle."""

    vllm_function: ClassVar[str] = "BlockPool.touch"

    request_id: str
    group_id: int
    block_ids: tuple[int, ...]  # the whole hit, in table order, with null blocks


class BlocksTaken(Event):
    """New blocks came from the head of the free queue; a cached one was forgotten."""

    vllm_function: ClassVar[str] = "BlockPool.get_new_blocks"

    request_id: str
    group_id: int
    block_ids: tuple[int, ...]  # in the order of taking, appended to the table
    evicted_block_ids: tuple[int, ...] = ()  # those of block_ids that held a hash
    evicted_hashes: tuple[str, ...] = ()


class BlocksCached(Event):
    """Full blocks entered the prefix cache. That happens in schedule(), before the model runs."""

    vllm_function: ClassVar[str] = "BlockPool.cache_full_blocks"

    request_id: str
    group_id: int
    first_logical_index: int
    block_ids: tuple[int, ...]  # null blocks are in the range but are not cached
    block_hashes: tuple[str, ...]  # one per block id
    parent_block_hash: str | None  # of the first; None at the start of the prompt
    token_ids: tuple[int, ...]  # of the whole range


class RequestAdmitted(Event):
    """The request moved from the waiting queue to the end of the running list."""

    vllm_function: ClassVar[str] = "Scheduler.schedule"

    request_id: str
    num_hit_tokens: int
    resumed: bool = False  # it was preempted before


class RequestScheduled(Event):
    """The request computes `num_scheduled_tokens` tokens in this step."""

    vllm_function: ClassVar[str] = "Scheduler.schedule"

    request_id: str
    num_scheduled_tokens: int
    num_computed_tokens: int  # before this step's tokens
    spec_token_ids: tuple[int, ...] = ()


class AllocationFailed(Event):
    """The blocks that the request needs are more than the free queue holds."""

    vllm_function: ClassVar[str] = "KVCacheManager.allocate_slots"

    request_id: str
    num_blocks_needed: int
    num_free_blocks: int


class RequestUnscheduled(Event):
    """A victim that already had tokens in this step lost them again (priority policy)."""

    vllm_function: ClassVar[str] = "Scheduler.schedule"

    request_id: str
    num_tokens_given_back: int


class RequestPreempted(Event):
    """The request lost its blocks and starts over later: recompute, never swap."""

    vllm_function: ClassVar[str] = "Scheduler._preempt_request"

    request_id: str
    for_request_id: str | None  # who needed the blocks; None: a forced cache reset


class RequestSetAside(Event):
    """The request is passed over in this step: too many adapters (LoRA) are scheduled already."""

    vllm_function: ClassVar[str] = "Scheduler.schedule"

    request_id: str


class AdmissionStopped(Event):
    """Nobody further is admitted in this step. `reason`: "blocks" (the head does not fit),
    "budget" (its prompt must not be cut and exceeds the budget), "preempted" (somebody was)."""

    vllm_function: ClassVar[str] = "Scheduler.schedule"

    reason: str
    request_id: str | None = None  # the head of the waiting queue


class StepScheduled(Event):
    """schedule() is done: this is the named cursor `after_schedule`."""

    vllm_function: ClassVar[str] = "Scheduler.schedule"

    step: int
    total_num_scheduled_tokens: int
    num_common_prefix_blocks: tuple[int, ...]  # per group


# Running and updating -------------------------------------------------------------------------


class SlotsWritten(Event):
    """The model ran: K and V of all scheduled tokens are in their slots."""

    vllm_function: ClassVar[str] = "GPUModelRunner.execute_model"

    num_tokens: int
    valid_block_ids: tuple[int, ...] = ()  # cached blocks whose K and V are complete since now


class TokensSampled(Event):
    """The request grew by these tokens."""

    vllm_function: ClassVar[str] = "Scheduler.update_from_output"

    request_id: str
    token_ids: tuple[int, ...]
    num_rejected_tokens: int = 0  # drafts that were wrong: num_computed_tokens goes back
    text: str = ""  # what the reader of the stream sees appended
    token_bytes: tuple[bytes, ...] = ()
    logprobs: tuple[float, ...] = ()
    top_logprobs: tuple[tuple[tuple[int, float], ...], ...] = ()  # five (token id, logprob) each


class BlockHashed(Event):
    """A sampled token filled a block of the request: its chain is one hash longer."""

    vllm_function: ClassVar[str] = "Request.update_block_hashes"

    request_id: str
    block_hashes: tuple[str, ...]


class DraftsSet(Event):
    """Tokens guessed for the request's next step."""

    vllm_function: ClassVar[str] = "Scheduler.update_draft_token_ids"

    request_id: str
    token_ids: tuple[int, ...]


class RequestFinished(Event):
    """`reason`: "length", "stop" (end-of-text token, stop string) or "abort"."""

    vllm_function: ClassVar[str] = "Scheduler._free_request"

    request_id: str
    reason: str


class BlocksFreed(Event):
    """References were given up, tail first; a block without any joined the end of the queue, or
    its head where the engine was told to reuse first what has no hash (vllm#42656)."""

    vllm_function: ClassVar[str] = "BlockPool.free_blocks"

    request_id: str
    block_ids: tuple[int, ...]  # in eviction order: the first goes first
    to_head: tuple[int, ...] = ()  # those of them that joined the head; the first is taken next


class StepEnded(Event):
    """The step is over: this is the named cursor `after_update`. Statistics are of this step."""

    vllm_function: ClassVar[str] = "Scheduler.make_stats"

    step: int
    reset: bool = False
    requests: int = 0  # lookups
    queries: int = 0  # tokens looked up
    hits: int = 0  # tokens found
    preempted_requests: int = 0
    preempted_queries: int = 0
    preempted_hits: int = 0
    schedule_s: float | None = None  # times are left out of every comparison
    run_s: float | None = None
    update_s: float | None = None


INPUT_EVENTS = (RequestAdded, RequestAborted, CacheReset, SettingChanged)
TIME_FIELDS = ("time_s", "schedule_s", "run_s", "update_s")

AnyEvent = (
    RequestAdded
    | RequestAborted
    | CacheReset
    | SettingChanged
    | StepBegan
    | RequestQueued
    | PrefixLookedUp
    | HitCut
    | HolesMade
    | BlocksTouched
    | BlocksTaken
    | BlocksCached
    | RequestAdmitted
    | RequestScheduled
    | AllocationFailed
    | RequestUnscheduled
    | RequestPreempted
    | RequestSetAside
    | AdmissionStopped
    | StepScheduled
    | SlotsWritten
    | TokensSampled
    | BlockHashed
    | DraftsSet
    | RequestFinished
    | BlocksFreed
    | StepEnded
)

Emit = Callable[[Any], None]


def ignore(event: Any) -> None:
    """The recorder of a run that nobody watches."""
