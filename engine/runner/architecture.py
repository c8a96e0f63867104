"""Which models run here, and the proof by trial that one does.

Our attention replaces the model's own, so anything that the model would have done there (a cap on
the scores, attention sinks, a second position scheme) would be lost without a word. Three nets:
the list of architectures that were tried, the settings known to be wrong, and one forward pass of
a few tokens through the stock attention and through ours, whose logits must agree.
"""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from engine.errors import ConfigError
from engine.runner.attention.backend import GroupBatch
from engine.runner.attention.plug import ATTENTION_NAME, STEP_ARGUMENT
from engine.runner.attention.reference import ReferenceAttention

TRIED = (
    "llama",
    "qwen2",
    "qwen3",
    "mistral",
    "gemma2",
    "gemma3_text",
    "phi",
    "phi3",
    "granite",
    "smollm3",
    "olmo2",
    "qwen2_moe",
    "gpt2",
    "gpt_neox",
    "opt",
)
ONE_REQUEST_ROPES = ("dynamic", "longrope")  # scaled by the longest sequence of the whole batch
TRIAL_TOKENS = 24
TRIAL_BLOCK_SIZE = 4
TOLERANCES = {torch.float32: 1e-3, torch.bfloat16: 0.2, torch.float16: 0.05}  # of `deviation`


@dataclass(frozen=True)
class AttentionShape:
    """What the trial saw arrive in the attention function."""

    num_kv_heads: int
    head_size: int
    windows: tuple[int | None, ...]  # by layer; None: full attention


@dataclass
class Trial:
    """An attention step of one sequence that starts in an empty cache, and notes who called."""

    batch: GroupBatch
    dtype: torch.dtype  # of the cache
    windows: dict[int, int | None] = field(default_factory=dict)
    shapes: set[tuple[int, int]] = field(default_factory=set)  # num_kv_heads, head_size

    def attend(
        self,
        layer: int,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        *,
        scale: float,
        options: dict[str, Any],
    ) -> Tensor:
        assert layer not in self.windows, f"layer {layer} attended twice"
        for name in ("softcap", "s_aux", "position_bias"):
            if options.get(name) is not None:
                raise ConfigError(f"this model's attention needs {name}, which is not supported")
        if key.shape != value.shape:
            raise ConfigError(f"keys {key.shape[1:]} and values {value.shape[1:]} differ in shape")
        window = options.get("sliding_window")
        self.windows[layer] = window
        num_kv_heads, head_size = key.shape[1:]
        self.shapes.add((num_kv_heads, head_size))
        shape = (2, self._num_blocks, TRIAL_BLOCK_SIZE, num_kv_heads, head_size)
        kv_cache = torch.zeros(shape, dtype=self.dtype, device=key.device)
        backend = ReferenceAttention()
        plan = backend.plan(self.batch, window=window, dtype=self.dtype)
        return backend.forward(query, key, value, kv_cache, plan=plan, scale=scale)

    @property
    def _num_blocks(self) -> int:
        return 1 + TRIAL_TOKENS // TRIAL_BLOCK_SIZE


def check_config(config: Any) -> None:
    """ConfigError for an architecture that was never tried or is known to come out wrong."""
    kind = getattr(config, "model_type", None)
    if kind not in TRIED:
        raise ConfigError(
            f"architecture {kind!r} is not supported: choose a model of {', '.join(TRIED)}"
        )
    if getattr(config, "attn_logit_softcapping", None):
        raise ConfigError(
            f"this {kind} model caps its attention scores (attn_logit_softcapping="
            f"{config.attn_logit_softcapping}), which is not supported: choose another model"
        )
    rope = getattr(config, "rope_parameters", None) or {}
    scaling = [rope, *(part for part in rope.values() if isinstance(part, dict))]
    for name in ONE_REQUEST_ROPES:
        if any(part.get("rope_type") == name for part in scaling):
            raise ConfigError(
                f"this {kind} model scales its positions by the longest sequence of a batch "
                f"(rope_type {name!r}), which would mix requests: choose another model"
            )


@dataclass(frozen=True)
class StockAnswer:
    """The logits of a few tokens, as the model gave them before anything in it was replaced."""

    input_ids: Tensor  # [1, TRIAL_TOKENS]
    logits: Tensor  # [1, TRIAL_TOKENS, vocab_size]


@torch.inference_mode()
def ask_stock(model: Any, vocab_size: int) -> StockAnswer:
    """What the untouched model says; eager attention does everything that a config asks for."""
    generator = torch.Generator().manual_seed(0)
    input_ids = torch.randint(0, vocab_size, (1, TRIAL_TOKENS), generator=generator)
    input_ids = input_ids.to(next(model.parameters()).device)
    model.set_attn_implementation("eager")
    return StockAnswer(input_ids, model(input_ids=input_ids, use_cache=False).logits)


@torch.inference_mode()
def try_attention(model: Any, answer: StockAnswer) -> AttentionShape:
    """Install our attention in `model` for good, and prove that the model still says the same.

    Called once, at loading, before anybody else has the model. Raises ConfigError.
    """
    model.set_attn_implementation(ATTENTION_NAME)
    device = answer.input_ids.device
    positions = torch.arange(TRIAL_TOKENS, device=device)[None]
    trial = Trial(_one_sequence(device), answer.logits.dtype)
    step = {STEP_ARGUMENT: trial}
    outputs = model(input_ids=answer.input_ids, position_ids=positions, use_cache=False, **step)
    return _judge(model, trial, answer.logits, outputs.logits)


def _one_sequence(device: torch.device) -> GroupBatch:
    table = range(1, 1 + TRIAL_TOKENS // TRIAL_BLOCK_SIZE)
    return GroupBatch(
        block_size=TRIAL_BLOCK_SIZE,
        query_start=(0, TRIAL_TOKENS),
        seq_lens=(TRIAL_TOKENS,),
        block_tables=(tuple(table),),
        slot_mapping=torch.arange(TRIAL_TOKENS, device=device) + TRIAL_BLOCK_SIZE,
    )


def deviation(logits: Tensor, expected: Tensor) -> float:
    """Root mean square error in standard deviations of `expected`; see TOLERANCES."""
    scale = float(expected.float().std()) or 1.0
    return float((logits.float() - expected.float()).square().mean().sqrt()) / scale


def _judge(model: Any, trial: Trial, expected: Tensor, logits: Tensor) -> AttentionShape:
    num_layers = model.config.num_hidden_layers
    if sorted(trial.windows) != list(range(num_layers)):
        raise ConfigError(
            f"only {len(trial.windows)} of {num_layers} layers handed our arguments to their "
            "attention: this architecture is not supported"
        )
    if len(trial.shapes) != 1:
        raise ConfigError(f"layers with different KV heads {trial.shapes} are not supported")
    error = deviation(logits, expected)
    tolerance = TOLERANCES[expected.dtype]
    if not error <= tolerance:
        raise ConfigError(
            f"with paged attention this model's logits differ by {error:.2g} standard deviations "
            f"from its own (at most {tolerance} is rounding): this architecture is not supported"
        )
    ((num_kv_heads, head_size),) = trial.shapes
    windows = tuple(trial.windows[layer] for layer in range(num_layers))
    return AttentionShape(num_kv_heads, head_size, windows)
