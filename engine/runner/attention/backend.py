"""What an attention kernel must offer, and which one a device gets."""

import functools
import importlib.util
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from engine.errors import ConfigError

WANTED = ("auto", "triton", "torch")
ATTENTION_VARIABLE = "PAGEWALK_ATTENTION"
OLDEST_CAPABILITY = (8, 0)  # tensor cores for bfloat16 and TF32


@dataclass(slots=True, frozen=True)
class GroupBatch:
    """Where the tokens of one step lie in the cache of one KV-cache group.

    Rows are the step's packed tokens; sequence `i` owns rows `query_start[i]` to
    `query_start[i + 1]`, and they are the last of its `seq_lens[i]` tokens.

    vLLM 0.17.1: v1/attention/backend.py CommonAttentionMetadata
    """

    block_size: int  # tokens
    query_start: Sequence[int]  # [num_seqs + 1]
    seq_lens: Sequence[int]  # tokens in the cache once this step's are written
    block_tables: Sequence[Sequence[int]]
    slot_mapping: Tensor  # [num_tokens] int64

    @property
    def num_seqs(self) -> int:
        return len(self.seq_lens)

    def block_table_tensor(self) -> Tensor:
        """[num_seqs, longest table] int32 on the device, filled up with the null block."""
        longest = max((len(table) for table in self.block_tables), default=0)
        rows = [[*table, *([0] * (longest - len(table)))] for table in self.block_tables]
        table = torch.tensor(rows, dtype=torch.int32)
        return table.view(len(rows), longest).to(self.slot_mapping.device)


class AttentionBackend(Protocol):
    """Writes K and V into the cache, then attends through the block tables.

    `plan` is made once a step for each kind of layer; every layer of that kind gets it back.

    vLLM 0.17.1: v1/attention/backend.py AttentionBackend, AttentionMetadataBuilder, AttentionImpl
    """

    @property
    def name(self) -> str: ...

    def plan(self, batch: GroupBatch, *, window: int | None, dtype: torch.dtype) -> Any:
        """What all layers of one group and window share; `window` counts the query itself."""

    def forward(
        self,
        query: Tensor,  # [num_tokens, num_heads, head_size]
        key: Tensor,  # [num_tokens, num_kv_heads, head_size]
        value: Tensor,  # [num_tokens, num_kv_heads, head_size]
        kv_cache: Tensor,  # [2, num_blocks, block_size, num_kv_heads, head_size]
        *,
        plan: Any,
        scale: float,
    ) -> Tensor:
        """[num_tokens, num_heads, head_size]; K and V of all rows are written before any is read."""


class BackendChoice(NamedTuple):
    backend: AttentionBackend
    reason: str | None  # one sentence: why a GPU does without the kernels; None: nothing to tell


def choose_backend(device: torch.device, wanted: str | None = None) -> AttentionBackend:
    """See explain_backend."""
    return explain_backend(device, wanted).backend


def explain_backend(device: torch.device, wanted: str | None = None) -> BackendChoice:
    """The Triton kernels on an NVIDIA GPU that can run them, plain torch everywhere else.

    `wanted` is one of WANTED; None: what the environment variable PAGEWALK_ATTENTION says, else
    "auto". ConfigError for another word, and for "triton" where the kernels cannot run.
    """
    wanted = wanted or os.environ.get(ATTENTION_VARIABLE) or "auto"
    if wanted not in WANTED:
        raise ConfigError(f"attention={wanted!r} is unknown: choose one of {', '.join(WANTED)}")
    assert device.type in ("cpu", "cuda", "mps", "meta"), device
    if wanted == "torch" or (wanted == "auto" and device.type != "cuda"):
        return BackendChoice(_torch_backend(), None)
    why_not = why_no_kernels(device)
    if why_not is None:
        return BackendChoice(_triton_backend(), None)
    if wanted == "triton":
        raise ConfigError(f"attention='triton' cannot run on {device}: {why_not}; choose torch")
    return BackendChoice(_torch_backend(), f"Attention runs in plain torch: {why_not}.")


@functools.cache
def why_no_kernels(device: torch.device) -> str | None:
    """Why the Triton kernels cannot run there, as a clause; None: they can, and a trial proved it."""
    if device.type == "cuda":
        if torch.version.cuda is None:
            return "this GPU is not one of NVIDIA's"
        major, minor = torch.cuda.get_device_capability(device)
        if (major, minor) < OLDEST_CAPABILITY:
            return f"this GPU is an sm_{major}{minor}, and the Triton kernels need sm_80 or newer"
    if importlib.util.find_spec("triton") is None:
        return "the package triton is not installed"
    from engine.runner.attention.triton_backend import INTERPRETED, why_kernels_fail

    if device.type != "cuda" and not INTERPRETED:
        return "the Triton kernels need an NVIDIA GPU"
    return why_kernels_fail(device)


def _torch_backend() -> AttentionBackend:
    from engine.runner.attention.reference import ReferenceAttention

    return ReferenceAttention()


def _triton_backend() -> AttentionBackend:
    from engine.runner.attention.triton_backend import TritonAttention

    return TritonAttention()
