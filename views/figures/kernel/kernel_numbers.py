"""The scores of a row and its online softmax, tile by tile, with the numbers of the cache.

    score = q . k * scale * log2(e)         weight = 2 ** (score - top)
    acc   = acc * fade + weights . v        fade   = 2 ** (top before - top), and so for `total`

engine/runner/attention/paged_triton.py fold_in
"""

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from views.figures.kernel.kernel_walk import READ, Launch, Program, Spot, spots

LOG2_E = math.log2(math.e)

Vector = Sequence[float]
Matrix = Sequence[Vector]  # [block_size][head_size]
Read = Callable[[int], tuple[Matrix, Matrix]]  # block id -> K and V of one layer and KV head


class Fold(NamedTuple):
    """One tile taken in by one head. `scores` and `weights` are those of the loaded positions;
    a hidden one has the score -inf."""

    scores: tuple[float, ...]
    weights: tuple[float, ...]
    top: tuple[float, float]  # before and after
    total: tuple[float, float]
    fade: float


class Numbers(NamedTuple):
    """`folds[visit][head of the group]`; `out` [head of the group][head_size]."""

    folds: list[list[Fold]]
    out: list[list[float]]


def _dot(one: Vector, other: Vector) -> float:
    return float(sum(map(operator.mul, one, other)))


class _Running:
    """What a program keeps while it walks: top, total and acc of one head."""

    def __init__(self, head_size: int) -> None:
        self.top, self.total, self.acc = -math.inf, 0.0, [0.0] * head_size

    def fold_in(self, scores: Sequence[float], values: Matrix) -> Fold:
        before = self.top, self.total
        top = max(self.top, *scores)
        base = 0.0 if top == -math.inf else top
        weights = [2.0 ** (score - base) for score in scores]
        fade = 2.0 ** (self.top - base)
        self.acc = [
            fade * kept + _dot(weights, column)
            for kept, column in zip(self.acc, zip(*values, strict=True), strict=True)
        ]
        self.top, self.total = top, self.total * fade + sum(weights)
        tops, totals = (before[0], self.top), (before[1], self.total)
        return Fold(tuple(scores), tuple(weights), tops, totals, fade)


def numbers_of(
    launch: Launch, program: Program, query: Matrix, *, scale: float, read: Read
) -> Numbers:
    """`query`: of all heads; `read`: from the cache, once for each block."""
    group = launch.sizes.group
    heads = query[program.kv_head * group : (program.kv_head + 1) * group]
    known: dict[int, tuple[Matrix, Matrix]] = {}
    folds: list[list[Fold]] = []
    parts: dict[int, list[_Running]] = {}
    for split, tile in program.visits:
        running = parts.setdefault(split, [_Running(launch.sizes.head_size) for _ in heads])
        loaded = spots(launch, program, tile)
        keys, values = _load(loaded, known, read)
        folds.append(
            [
                one.fold_in(_scores(head, keys, loaded, scale), values)
                for one, head in zip(running, heads, strict=True)
            ]
        )
    return Numbers(folds, [_combined([part[h] for part in parts.values()]) for h in range(group)])


def _load(loaded: Sequence[Spot], known: dict[int, Any], read: Read) -> tuple[Matrix, Matrix]:
    keys, values = [], []
    for spot in loaded:
        if spot.physical not in known:
            known[spot.physical] = read(spot.physical)
        keys.append(known[spot.physical][0][spot.offset])
        values.append(known[spot.physical][1][spot.offset])
    return keys, values


def _scores(head: Vector, keys: Matrix, loaded: Sequence[Spot], scale: float) -> list[float]:
    return [
        _dot(head, key) * scale * LOG2_E if spot.sight == READ else -math.inf
        for key, spot in zip(keys, loaded, strict=True)
    ]


def _combined(parts: Sequence[_Running]) -> list[float]:
    """The parts of all splits at the scale of the largest score; a split may have seen nothing."""
    used = [part for part in parts if part.total > 0]
    highest = max(part.top for part in used)
    weights = [2.0 ** (part.top - highest) for part in used]
    total = _dot(weights, [part.total for part in used])
    columns = zip(*(part.acc for part in used), strict=True)
    return [_dot(weights, column) / total for column in columns]
