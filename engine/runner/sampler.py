"""One new token per row of logits, and how likely the model thought it.

The draw for output token n depends on (seed, n) and the row's logits alone: it comes out the same
in another batch, after a preemption, in a replay and in a branch.

    logits / temperature -> top-k -> top-p -> the token where the cumulated probability passes u

vLLM 0.17.1: v1/sample/sampler.py Sampler
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from engine.config import SamplingParams
from engine.runner.likeliest import Likeliest, Top, likeliest

NUM_TOP_LOGPROBS = 5


class Row(NamedTuple):
    """What decides one row's token."""

    sampling: SamplingParams
    output_index: int  # n: this will be the request's n-th output token, from 0
    forced_token_id: int | None = None  # a recorded token, taken instead of a draw


@dataclass(slots=True, frozen=True)
class Sampled:
    token_id: int
    logprob: float  # of the token under the raw logits: no temperature, no truncation
    top_logprobs: Top  # the likeliest, of equal ones the lower id first


def sample(logits: Tensor, rows: Sequence[Row]) -> list[Sampled]:
    """`logits` [num_rows, vocab_size] in any float dtype; one result per row, in order."""
    if not rows:
        return []
    logits = logits.float()
    found = likeliest(logits, min(NUM_TOP_LOGPROBS, logits.shape[1]))
    token_ids = [
        _choose(logits, index, row, greedy=top[0][0])
        for index, (row, top) in enumerate(zip(rows, found.tops, strict=True))
    ]
    logprobs = _logprobs(logits, token_ids, found)
    return [
        Sampled(token_id, logprob, top)
        for token_id, logprob, top in zip(token_ids, logprobs, found.tops)
    ]


def _logprobs(logits: Tensor, token_ids: list[int], found: Likeliest) -> list[float]:
    if all(token_id == top[0][0] for token_id, top in zip(token_ids, found.tops)):
        return [top[0][1] for top in found.tops]
    places = torch.tensor(token_ids, device=logits.device)[:, None]
    normalisers = torch.tensor(found.normalisers, dtype=logits.dtype, device=logits.device)
    logprobs: list[float] = (logits.gather(1, places)[:, 0] - normalisers).tolist()
    return logprobs


def uniform(seed: int, output_index: int) -> float:
    """A number in [0, 1), the same on every machine."""
    digest = hashlib.sha256(f"{seed}:{output_index}".encode()).digest()
    return (int.from_bytes(digest[:8], "big") >> 11) / (1 << 53)


def _choose(logits: Tensor, index: int, row: Row, *, greedy: int) -> int:
    if row.forced_token_id is not None:
        return row.forced_token_id
    if row.sampling.temperature == 0:
        return greedy
    return draw(logits[index], row.sampling, uniform(row.sampling.seed, row.output_index))


def draw(logits: Tensor, sampling: SamplingParams, u: float) -> int:
    """The token at which the cumulated probability, in vocabulary order, passes `u`."""
    scaled = logits.double() / sampling.temperature  # [vocab_size]; double: sums stay in order
    keep = truncate(scaled, sampling)
    cumulated = torch.where(keep, (scaled - scaled.max()).exp(), 0.0).cumsum(0)
    target = torch.tensor(u, dtype=torch.float64, device=logits.device) * cumulated[-1]
    index = int(torch.searchsorted(cumulated, target, right=True))
    return index if index < len(logits) else int(keep.nonzero()[-1])


def truncate(scaled: Tensor, sampling: SamplingParams) -> Tensor:
    """Which tokens may be drawn. Top-k keeps ties with its last; top-p then keeps the likeliest
    that together reach p, at least one."""
    keep = torch.ones_like(scaled, dtype=torch.bool)
    if 0 < sampling.top_k < len(scaled):
        keep &= scaled >= scaled.topk(sampling.top_k).values[-1]
    if sampling.top_p < 1:
        keep = _nucleus(scaled.masked_fill(~keep, float("-inf")), sampling.top_p)
    return keep


def _nucleus(scaled: Tensor, top_p: float) -> Tensor:
    """Those before which the likelier ones do not reach `top_p`.

    Few are sorted. Tokens less likely than (1 - top_p) / vocab_size do not make up 1 - top_p even
    together: before each of them the likelier ones reach `top_p`.
    """
    probabilities = scaled.softmax(-1)
    candidates = (probabilities * len(scaled) >= 1 - top_p).nonzero()[:, 0]
    order = candidates[scaled[candidates].sort(descending=True, stable=True).indices]
    ordered = probabilities[order]
    before = ordered.cumsum(0) - ordered  # of all that are likelier
    nucleus = torch.zeros_like(scaled, dtype=torch.bool)
    nucleus[order[before < top_p]] = True
    nucleus[order[0]] = True
    return nucleus
