"""Where a trace comes from. Pages see sources through these protocols alone."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from engine.config import EngineConfig, SamplingParams
from engine.runner.attention.tiling import AttentionSizes
from engine.runner.tokenizer import Tokenized, Turns
from engine.sources.prompt import Prompt
from engine.sources.resume import Rest
from engine.trace.state import Cursor
from engine.trace.trace import Trace


class Source(Protocol):
    """Anything that has a trace to look at."""

    @property
    def trace(self) -> Trace: ...


class LiveRun(Source, Protocol):
    """A source whose engine can go on. Nothing here is needed to look at the past."""

    @property
    def has_unfinished_requests(self) -> bool:
        """Whether a step would do something, be it that a branch repeats what its run did."""

    @property
    def branch_step(self) -> int | None:
        """Where this branch begins, as long as it still repeats what came before; else None."""

    @property
    def pool_bytes(self) -> int:
        """Of the tensors that hold K and V of all blocks; in proportion to block_size * num_blocks."""

    @property
    def rest(self) -> Rest | None:
        """What this branch repeats, to be saved with it; None for a run that is no branch."""

    @property
    def stuck_reason(self) -> str | None:
        """One sentence when nothing can ever be scheduled again although requests wait."""

    def tokenize(self, text: str, mode: str, *, allow_special: bool = False) -> Tokenized:
        """`mode`: "chat" (the model's template around the text) or "raw"."""

    def add_request(
        self,
        text: str | Sequence[int],
        *,
        mode: str = "chat",
        sampling: SamplingParams | None = None,
        allow_special: bool = False,
        before: Turns = (),
        **options: Any,
    ) -> str:
        """Queue a prompt and return its request id; ConfigError when it cannot be served.

        `before`: role and text of a chat's earlier turns.
        """

    def check_prompt(
        self, num_prompt_tokens: int, max_tokens: int, config: EngineConfig | None = None
    ) -> None:
        """ConfigError if a prompt of this length would be refused; changes nothing.

        `config`: by a run on the same model with these settings (None: by this one).
        """

    def abort(self, request_id: str) -> bool: ...

    def reset_prefix_cache(self) -> bool: ...

    def step(self) -> None: ...

    def kv_shape(self, group_id: int) -> tuple[tuple[int, ...], int] | None:
        """Layers whose K and V lie in this group's blocks, and KV heads of each; None: no model."""

    def peek_kv(
        self, block_id: int, layer: int, head: int
    ) -> tuple[list[list[float]], list[list[float]]]:
        """K and V of one block, layer and KV head as they are now: [block_size][head_size] each."""

    @property
    def attention_sizes(self) -> AttentionSizes | None:
        """What decides how attention is cut into programs; None: no model."""

    @property
    def path_reason(self) -> str | None:
        """Why a GPU does without our kernels or graphs, in whole sentences; None: nothing to tell."""

    def peek_query(
        self, token_id: int, position: int, block_tables: Sequence[Sequence[int]], *, layer: int
    ) -> tuple[list[list[float]], float]:
        """What the layer's attention asks at that place, and the scale of its scores.

        [num_heads][head_size], computed once more; `block_tables` by group. What the request has up
        to this position must still be in the cache.
        """

    def branch(
        self,
        cursor: Cursor,
        settings: Mapping[str, Any],
        *,
        prompts: Sequence[Prompt] = (),
        keep_later: bool = False,
        model: Any = None,
    ) -> "LiveRun":
        """A run beside this one that goes on from `cursor` (engine/sources/branch.py).

        It is new and repeats the past by its own steps; `branch_step` says how far. `model`: the
        same with its weights in another dtype (None: this run's), which compute K and V of the past
        as well. ConfigError if the settings or a prompt, new or old, are refused; this run is never
        changed.
        """
