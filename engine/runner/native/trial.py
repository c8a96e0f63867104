"""Which models have a native form, and the proof by trial that it says what the stock model says."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from engine.runner.architecture import TOLERANCES, AttentionShape, StockAnswer, deviation
from engine.runner.attention.backend import GroupBatch
from engine.runner.memory import free_bytes, weight_bytes
from engine.runner.native.library import library
from engine.runner.native.model import NativeDecode, NativeModel
from engine.runner.native.structures import KINDS

KNOWN_MODELS = ("LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM")
TRIED_TOKENS = 8
MANY_ROWS = 23  # no multiple of what is computed at once


class NativeForm(NamedTuple):
    """The native form of a model. `reason`: one sentence, why a model that could have one has none."""

    model: NativeModel | None
    reason: str | None

    def tried(self, answer: StockAnswer, shape: AttentionShape) -> "NativeForm":
        """What is left of it when its logits are held against the stock model's."""
        if self.model is None or says_the_same(self.model, answer, shape):
            return self
        return NativeForm(None, "Decode steps run in torch: the compiled ones gave other logits.")


def native_form(stock: Any) -> NativeForm:
    """Of an untouched `stock`.

    Float32 stays with torch: it is the dtype for exact answers, and its rows come out the same bit
    for bit, whoever shares the batch.
    """
    if next(stock.parameters()).dtype == torch.float32 or not is_supported(stock):
        return NativeForm(None, None)
    reason = _too_large(stock) or library().reason
    return NativeForm(None if reason else NativeModel(stock), reason)


def _too_large(stock: Any) -> str | None:
    """Torch packs the weights for itself as well: there must be memory for both."""
    needed, free = 2 * weight_bytes(stock), free_bytes(torch.device("cpu"))
    if needed <= free:
        return None
    return (
        f"Decode steps run in torch: weights for compiled ones as well need {needed >> 20} MiB, "
        f"and {free >> 20} MiB are free."
    )


def is_supported(model: Any) -> bool:
    """Whether `model` is one of those known line by line, on a CPU, in sizes that the C code takes."""
    if type(model).__name__ not in KNOWN_MODELS or model.config.hidden_act != "silu":
        return False
    attention = model.model.layers[0].self_attn
    linears = [part for part in model.modules() if isinstance(part, nn.Linear)]
    weight = model.model.embed_tokens.weight
    return (
        type(model).__module__.startswith("transformers.")
        and weight.device.type == "cpu"
        and weight.dtype in KINDS
        and all(type(part) is nn.Linear and part.in_features % 2 == 0 for part in linears)
        and attention.head_dim % 2 == 0
    )


@torch.inference_mode()
def says_the_same(model: NativeModel, answer: StockAnswer, shape: AttentionShape) -> bool:
    """A few tokens, one row a step and all rows in one."""
    num_tokens = TRIED_TOKENS
    expected = answer.logits[0, :num_tokens]
    cache_shape = (2, num_tokens, 1, shape.num_kv_heads, shape.head_size)
    kv_caches = [torch.zeros(cache_shape, dtype=expected.dtype) for _ in shape.windows]
    decode = NativeDecode(model, kv_caches, [(0, window) for window in shape.windows])
    ends = range(1, num_tokens + 1)
    alone = torch.cat([_rows(decode, answer.input_ids[0], end - 1, end) for end in ends])
    together = _rows(decode, answer.input_ids[0], 0, num_tokens)
    tolerance = TOLERANCES[expected.dtype]
    return all(deviation(found, expected) <= tolerance for found in (alone, together))


@torch.inference_mode()
def is_row_by_row(
    model: NativeModel,
    windows: Sequence[int | None],  # by layer
    *,
    cache_shape: tuple[int, int],  # KV heads, and the size of each
    dtype: torch.dtype,
) -> bool:
    """Whether a row comes out the same, bit for bit, with few rows beside it and with many."""
    input_ids = torch.arange(MANY_ROWS) % model.vocab_size
    found = []
    for cuts in ((0, MANY_ROWS), (0, 8, MANY_ROWS), (0, 6, 16, MANY_ROWS - 2, MANY_ROWS)):
        caches = [torch.zeros(2, MANY_ROWS, 1, *cache_shape, dtype=dtype) for _ in windows]
        decode = NativeDecode(model, caches, [(0, window) for window in windows])
        parts = [_rows(decode, input_ids, start, end) for start, end in pairwise(cuts)]
        found.append((torch.cat(parts), torch.stack(caches)))
    (logits, written), *others = found
    return all(torch.equal(logits, one) and torch.equal(written, two) for one, two in others)


def _rows(decode: NativeDecode, input_ids: Tensor, start: int, end: int) -> Tensor:
    """Logits of the tokens from `start` to `end`, the end left out, of one sequence."""
    rows = torch.arange(end - start)
    batch = GroupBatch(
        block_size=1,
        query_start=(0, end - start),
        seq_lens=(end,),
        block_tables=(tuple(range(end)),),
        slot_mapping=rows + start,
    )
    return decode(input_ids[start:end], rows + start, rows, [batch])
