"""Whether a decode step's logits are right: how far they are from the same step in float32.

In bfloat16 no two orders of computing agree, and the stock model's own is no nearer to the truth
than another. So neither is measured against the other: the fused model may be as far from float32
as the stock model is, and a little more.
"""

import copy
from typing import Any

import torch
from torch import Tensor

from engine.runner.attention.backend import GroupBatch
from engine.runner.attention.plan import Plan
from engine.runner.attention.plug import ATTENTION_NAME, STEP_ARGUMENT, PagedStep
from engine.runner.attention.reference import ReferenceAttention

FUSED_TO_STOCK, A_LITTLE = 1.2, 0.005
STOCK_TOLERANCE = 0.1  # relative; bfloat16 through 30 layers leaves 0.02 to 0.05


class Float32Attention(ReferenceAttention):
    """On a copy of a layer's cache, which lasts as long as the layer does: what the step writes
    stays out of the cache, and all layers' caches never lie there twice."""

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        kv_cache: Tensor,
        *,
        plan: Plan,
        scale: float,
    ) -> Tensor:
        own = kv_cache.to(torch.float32, copy=True)
        return super().forward(query, key, value, own, plan=plan, scale=scale)


class Float32Step:
    """A stock model in float32, with the very weights that `model` has in its own dtype."""

    def __init__(self, model: Any) -> None:
        self.model = copy.deepcopy(model).float()
        self.model.set_attn_implementation(ATTENTION_NAME)

    @torch.inference_mode()
    def logits(self, token_ids: Tensor, group: GroupBatch, kv_caches: list[Tensor]) -> Tensor:
        """[num_seqs, vocab_size] of one token of each sequence; the caches stay as they are."""
        backend = Float32Attention()
        plan = backend.plan(group, window=None, dtype=torch.float32)
        step = PagedStep(backend, tuple(kv_caches), (plan,) * len(kv_caches))
        positions = torch.tensor(group.seq_lens, device=token_ids.device) - 1
        outputs = self.model(
            input_ids=token_ids[None],
            position_ids=positions[None],
            use_cache=False,
            **{STEP_ARGUMENT: step},
        )
        logits: Tensor = outputs.logits[0]
        return logits


def off_by(logits: Tensor, exact: Tensor) -> float:
    """Relative, over all rows."""
    return float((logits.float() - exact).norm() / exact.norm())


def complaint(*, stock: float, fused: float) -> str | None:
    """A sentence if one of them is too far from float32."""
    if not stock <= STOCK_TOLERANCE:
        return f"the stock model's logits are {stock:.2g} off float32's, above {STOCK_TOLERANCE}"
    allowed = FUSED_TO_STOCK * stock + A_LITTLE
    if not fused <= allowed:
        return (
            f"the fused model's logits are {fused:.2g} off float32's, and {allowed:.2g} is allowed "
            f"where the stock model's are {stock:.2g} off"
        )
    return None
