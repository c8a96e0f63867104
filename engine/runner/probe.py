"""The query of one row, computed once more for whoever wants to look at it.

K and V stay in the cache, a query is used once and gone. So the row goes through the model again, on
the cache as it is: every layer reads through the slots that the row sees, and nothing is written.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from engine.runner.attention.plug import STEP_ARGUMENT
from engine.runner.loaded_model import LoadedModel


class RowQuery(NamedTuple):
    """What a layer multiplies with the keys: [num_heads][head_size], after RoPE."""

    query: list[list[float]]
    scale: float  # of the products, before softmax


class ReadOnlyStep:
    """An AttentionStep of one row whose K and V are in the cache already."""

    def __init__(self, kv_caches: Sequence[Tensor], slots: Sequence[Tensor], layer: int) -> None:
        """`slots`: by layer, those that the row sees, its own the last."""
        self.kv_caches, self.slots, self.layer = kv_caches, slots, layer
        self.seen: RowQuery | None = None

    def attend(
        self,
        layer: int,
        query: Tensor,  # [1, num_heads, head_size]
        key: Tensor,
        value: Tensor,
        *,
        scale: float,
        options: dict[str, Any],
    ) -> Tensor:
        cached = self.kv_caches[layer].flatten(1, 2)[:, self.slots[layer]]
        keys, values = cached.transpose(1, 2).unbind(0)  # [num_kv_heads, num_slots, head_size]
        narrow = query.to(keys.dtype)
        if layer == self.layer:
            self.seen = RowQuery(narrow[0].float().tolist(), scale)
        by_kv_head = narrow.view(keys.shape[0], -1, keys.shape[2])
        out = scaled_dot_product_attention(by_kv_head, keys, values, scale=scale)
        return out.reshape(query.shape).to(query.dtype)


@torch.inference_mode()
def query_of(
    loaded: LoadedModel,
    kv_caches: Sequence[Tensor],
    token_id: int,
    position: int,
    *,
    layer: int,
    slots: Sequence[Sequence[int]],
) -> RowQuery:
    """What `layer` asks for a token at a position; `slots` by layer, as in ReadOnlyStep."""
    device = loaded.device
    on_device = [torch.tensor(each, dtype=torch.int64, device=device) for each in slots]
    step = ReadOnlyStep(kv_caches, on_device, layer)
    loaded.model(
        input_ids=torch.tensor([[token_id]], device=device),
        position_ids=torch.tensor([[position]], device=device),
        use_cache=False,
        **{STEP_ARGUMENT: step},
    )
    assert step.seen is not None, f"the model has no layer {layer}"
    return step.seen
