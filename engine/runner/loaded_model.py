"""What `model_loader.py` makes and everybody else reads."""

from dataclasses import dataclass
from typing import Any

import torch

from engine.runner.known_steps import KnownSteps
from engine.runner.native.trial import NativeForm
from engine.runner.one_row import OneRowModel
from engine.runner.tokenizer import Tokenizer


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model to be shared: everything here is read-only from now on."""

    model: Any  # transformers' own class
    tokenizer: Tokenizer
    name: str
    dtype: torch.dtype  # of K and V in the cache
    dtype_name: str  # the user's choice: that dtype's, or "4bit"
    device: torch.device
    num_layers: int
    num_kv_heads: int
    head_size: int
    windows: tuple[int | None, ...]  # sliding window by layer, in tokens; None: full attention
    vocab_size: int
    max_model_len: int  # positions, in tokens
    eos_token_ids: tuple[int, ...]
    attention_backend: str
    linear_path: str  # how the linear layers are computed: packed_linear.py
    one_row: OneRowModel | None  # the short way for a step of one row
    native: NativeForm  # the compiled way for a step of a few rows
    known_steps: KnownSteps | None = None  # what its runners share; None: each computes all

    @property
    def has_chat_template(self) -> bool:
        return self.tokenizer.has_chat_template

    @property
    def tokenizer_id(self) -> str:
        return self.tokenizer.tokenizer_id
