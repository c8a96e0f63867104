"""The proof by trial, at loading, that the fused form of a model says what the stock model said."""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from engine.errors import Sentence
from engine.runner.architecture import TOLERANCES, AttentionShape, StockAnswer, deviation
from engine.runner.attention.backend import GroupBatch
from engine.runner.attention.choice import choose_backend

if TYPE_CHECKING:
    from engine.runner.fused_model import FusedModel

TRIED_TOKENS = 8


def attention_name(model: Any, answer: StockAnswer, shape: AttentionShape) -> str:
    """The attention of the model's device; where it is the kernels, the fused form has been tried."""
    name = choose_backend(answer.input_ids.device).name
    if name == "triton":
        try_fused(model, answer, shape)
    return name


def try_fused(model: Any, answer: StockAnswer, shape: AttentionShape) -> None:
    """Without a form that works the decode steps of `model` replay the stock one, and say why."""
    from engine.runner.attention.triton_backend import TRIAL_ERRORS, cause_of
    from engine.runner.fused_model import fused_model, refuse

    try:
        fused = fused_model(model)
        if fused is None or says_the_same(fused, answer, shape):
            return
        why = Sentence.of("fused.other_logits", "the fused one gave other logits")
    except TRIAL_ERRORS as error:
        cause = cause_of(error)
        why = Sentence.of("fused.failed", "a trial of the fused one failed ({cause})", cause=cause)
    reason = Sentence.of("path.stock", "Decode steps replay the stock model: {why}.", why=why)
    refuse(model, reason)


@torch.inference_mode()
def says_the_same(fused: "FusedModel", answer: StockAnswer, shape: AttentionShape) -> bool:
    """A few tokens, one row a step and all rows in one."""
    expected = answer.logits[0, :TRIED_TOKENS]
    cache_shape = (2, TRIED_TOKENS, 1, shape.num_kv_heads, shape.head_size)
    kv_caches = [
        torch.zeros(cache_shape, dtype=expected.dtype, device=expected.device)
        for _ in shape.windows
    ]

    def rows(start: int, end: int) -> Tensor:
        positions = torch.arange(start, end, device=expected.device)
        plans = _plans(positions, shape, expected.dtype)
        return fused(answer.input_ids[0, start:end], positions, kv_caches, plans)

    alone = torch.cat([rows(end - 1, end) for end in range(1, TRIED_TOKENS + 1)])
    tolerance = TOLERANCES[expected.dtype]
    return all(deviation(found, expected) <= tolerance for found in (alone, rows(0, TRIED_TOKENS)))


def _plans(positions: Tensor, shape: AttentionShape, dtype: torch.dtype) -> list[Any]:
    """By layer, of the tokens at `positions`, which follow each other, in blocks of one."""
    from engine.runner.attention.triton_backend import TritonAttention

    end = int(positions[-1]) + 1
    batch = GroupBatch(
        block_size=1,
        query_start=(0, len(positions)),
        seq_lens=(end,),
        block_tables=(tuple(range(end)),),
        slot_mapping=positions,
    )
    kinds = dict.fromkeys(shape.windows)
    made = {window: TritonAttention().plan(batch, window=window, dtype=dtype) for window in kinds}
    return [made[window] for window in shape.windows]
