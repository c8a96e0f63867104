"""Where a stock transformers model calls our attention.

The step reaches the function as a keyword argument of the model's forward. Nothing is kept in a
module or a global, so one model serves many engines and threads at once.
"""

from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor
from transformers import AttentionInterface

from engine.runner.attention.backend import AttentionBackend

ATTENTION_NAME = "pagewalk"
STEP_ARGUMENT = "paged_step"


class AttentionStep(Protocol):
    """What a forward pass brings along for its layers."""

    def attend(
        self,
        layer: int,
        query: Tensor,  # [num_tokens, num_heads, head_size]
        key: Tensor,  # [num_tokens, num_kv_heads, head_size]
        value: Tensor,  # [num_tokens, num_kv_heads, head_size]
        *,
        scale: float,
        options: dict[str, Any],
    ) -> Tensor:
        """[num_tokens, num_heads, head_size]; `options` is what else the layer asked for."""


@dataclass(slots=True, frozen=True)
class PagedStep:
    """One step of one engine: its cache, and where the step's tokens lie in it."""

    backend: AttentionBackend
    kv_caches: tuple[Tensor, ...]  # by layer
    plans: tuple[Any, ...]  # by layer

    def attend(
        self,
        layer: int,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        *,
        scale: float,
        options: dict[str, Any],  # the plan knows the layer's window
    ) -> Tensor:
        return self.backend.forward(
            query, key, value, self.kv_caches[layer], plan=self.plans[layer], scale=scale
        )


def attend_paged(
    module: Any,
    query: Tensor,  # [1, num_heads, num_tokens, head_size]
    key: Tensor,  # [1, num_kv_heads, num_tokens, head_size]
    value: Tensor,
    *attention_mask: Tensor | None,  # one, by position; with a name of our own it is never built
    scaling: float | None = None,
    paged_step: AttentionStep | None = None,
    **options: Any,
) -> tuple[Tensor, None]:
    """transformers' attention signature; the output is [1, num_tokens, num_heads, head_size]."""
    assert paged_step is not None, f"layer {module.layer_idx} lost the argument {STEP_ARGUMENT}"
    assert attention_mask in ((), (None,)), (
        "transformers built a mask: is AttentionMaskInterface in use?"
    )
    out = paged_step.attend(
        module.layer_idx,
        query.select(0, 0).transpose(0, 1),
        key.select(0, 0).transpose(0, 1),
        value.select(0, 0).transpose(0, 1),
        scale=query.shape[-1] ** -0.5 if scaling is None else scaling,
        options=options,
    )
    return out.unsqueeze(0), None


AttentionInterface.register(ATTENTION_NAME, attend_paged)
