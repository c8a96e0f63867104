"""What the scheduler hands to the model runner, and what it gets back."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from engine.core.request import Request, SampledTokens


class ScheduledRequest(msgspec.Struct, frozen=True, gc=False):
    """One request's share of a step.

    vLLM 0.17.1: v1/core/sched/output.py NewRequestData, CachedRequestData
    """

    request: Request
    kind: str  # "new", "resumed" or "running"
    num_scheduled_tokens: int
    num_computed_tokens: int  # before this step's tokens
    block_ids: tuple[tuple[int, ...], ...] | None  # per group: whole table, or only the new ones
    spec_token_ids: tuple[int, ...] = ()

    @property
    def samples(self) -> bool:
        """Whether the last scheduled token is the last known one, so that a new one is drawn."""
        end = self.num_computed_tokens + self.num_scheduled_tokens
        return end >= self.request.num_tokens


@dataclass(slots=True)
class SchedulerOutput:
    """The batch of one step. vLLM 0.17.1: v1/core/sched/output.py SchedulerOutput"""

    scheduled: list[ScheduledRequest]
    preempted: list[str]
    num_common_prefix_blocks: tuple[int, ...]
    total_num_scheduled_tokens: int


@dataclass(slots=True)
class ModelOutput:
    """Sampled tokens by request id; a request still in prefill has no entry."""

    sampled: Mapping[str, SampledTokens] = field(default_factory=dict)


class RequestOutput(msgspec.Struct, frozen=True, gc=False):
    """What a request gained in one step. vLLM 0.17.1: v1/engine/__init__.py EngineCoreOutput"""

    request_id: str
    token_ids: tuple[int, ...]
    finish_reason: str | None
    num_cached_tokens: int
