"""The likeliest tokens of each row of logits, and what turns a logit into a logprob.

Compiled where the logits are float32 on a CPU (native/likeliest.c), else in torch. Torch's operators
are about as fast when they are called again and again. But after a step that read all weights of a
model each of them begins cold, and the threads of its own that torch wakes for them look for more
work far into the next step, on a core that this one needs.

Both give the lower id first where logits are equal.
"""

from array import array
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from engine.runner.native.library import library
from engine.runner.native.structures import Likeliest as Asked

CHUNK = 128  # of the vocabulary

Top = tuple[tuple[int, float], ...]  # (token id, logprob) in falling order


class Likeliest(NamedTuple):
    """By row."""

    tops: list[Top]
    normalisers: list[float]  # logprob = logit - normaliser = log(softmax)


def likeliest(logits: Tensor, count: int) -> Likeliest:
    """`logits` [num_rows, vocab_size] in float32, of which `count` is at most the vocabulary."""
    found = None
    if logits.is_cpu and logits.is_contiguous():
        found = compiled(logits, count)
    return found or in_torch(logits, count)


def compiled(logits: Tensor, count: int) -> Likeliest | None:
    """None without the library, or where a row has no softmax: torch says what it makes of that."""
    loaded = library().loaded
    if loaded is None:
        return None
    num_rows, vocab_size = logits.shape
    ids, logprobs = array("i", bytes(4 * num_rows * count)), array("f", bytes(4 * num_rows * count))
    normalisers = array("f", bytes(4 * num_rows))
    asked = Asked(
        num_rows=num_rows,
        vocab_size=vocab_size,
        num_threads=torch.get_num_threads(),
        count=count,
        logits=logits.data_ptr(),
        ids=ids.buffer_info()[0],
        logprobs=logprobs.buffer_info()[0],
        normalisers=normalisers.buffer_info()[0],
    )
    if loaded.likeliest(asked):
        return None
    pairs = list(zip(ids, logprobs))
    tops = [tuple(pairs[start : start + count]) for start in range(0, len(pairs), count)]
    return Likeliest(tops, normalisers.tolist())


def in_torch(logits: Tensor, count: int) -> Likeliest:
    normalisers = logits.logsumexp(-1)
    top_logits, top_ids = _top_logits(logits, count)
    logprobs = (top_logits - normalisers[:, None]).tolist()
    tops = [tuple(zip(ids, values)) for ids, values in zip(top_ids.tolist(), logprobs)]
    return Likeliest(tops, normalisers.tolist())


def _top_logits(logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` largest of each row and their ids, [num_rows, count] both.

    The chunks with the largest maxima are found first: one vectorised pass instead of a sort of
    everything. A stable sort of what is left, and not topk, which of equal logits gives any.
    """
    num_rows, vocab_size = logits.shape
    if vocab_size % CHUNK:
        logits = pad(logits, (0, -vocab_size % CHUNK), value=float("-inf"))
    chunks = logits.view(num_rows, -1, CHUNK)
    best = chunks.amax(-1).sort(descending=True, stable=True).indices[:, :count].sort().values
    candidates = chunks.gather(1, best[:, :, None].expand(-1, -1, CHUNK)).flatten(1)
    values, places = candidates.sort(descending=True, stable=True)
    places = places[:, :count]
    return values[:, :count], best.gather(1, places // CHUNK) * CHUNK + places % CHUNK
