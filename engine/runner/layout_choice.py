"""Which of oneDNN's layouts a model's weights are multiplied fastest in, here.

Which one that is depends on the processor, the dtype and the number of threads, so it is measured:
when a model is first loaded on a machine, in less than half a second, and kept in a small file
beside the converted models. Measured are

    decode steps   1, 8 and 32 rows, by weights of the shape that most of the model has, stacked, and
                   of the output layer: PIECE of each. With their like in the other layouts they
                   leave the caches in between, as a step's weights do.
    a prompt       256 rows, by a smaller piece: arithmetic takes the time there, not memory. The
                   output layer sees one of them.
    the time       the shortest of some rounds, in which the layouts take turns: what else runs on
                   the machine only adds to it. Steps of one row count most, as STEPS says, and a
                   piece counts for all the weights that it stands for.

The usual layout takes part twice. What its two times differ by is noise: where that is more than
NOISE, the usual one is used and the next loading measures again. Another one must be faster by more
than NOISE.

A layout is chosen and never a number. One takes part only if it gives what the usual one gives, bit
for bit, by a weight of every shape in the model, at each of these numbers of rows and at some between:
so a row's logits stay independent of the rows beside it where they were, and two loadings that
measure unlike times answer alike. (The usual one was held against torch's own multiplication:
packed_linear.choose_kernel. On AVX2 oneDNN has a second layout for float32, faster at one row, which
sums one row in another order than two.) What a file says is held to the same numbers when it is
read: a wrong one costs time at most.
"""

import contextlib
import hashlib
import math
import os
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import torch
from torch import Tensor, nn

from engine.runner import onednn
from engine.runner.four_bit import four_bit_of
from engine.runner.model_folder import models_root
from engine.runner.onednn import LAYOUTS, USUAL, Multiply
from engine.runner.processor import processor

PIECE = 2_500_000  # weights, 10 MB in float32
WORTH_MEASURING = 8_000_000  # weights of a model; a smaller one waits for other things
SMALL_PIECE = 500_000
PROMPT_ROWS = 256
STEPS = {1: 64, 8: 24, 32: 8, PROMPT_ROWS: 1}  # of so many rows, for each one of a prompt
DECODE_ROWS = (1, 8, 32)
ROWS_BETWEEN = (2, 3, 5, 13)
MEASURED_S = 0.2  # beside what laying out and comparing take
LEAST_ROUNDS = 2
NOISE = 0.05  # of the usual layout's time
TWIN = -1  # the usual layout's second turn

Build = Callable[[Tensor, int], Multiply]  # a weight, and a layout to multiply by it in
Clock = Callable[[], float]  # seconds


class Piece(NamedTuple):
    """Weights to measure with."""

    weight: Tensor  # [out_features, in_features]
    rows: tuple[int, ...]  # of activations
    stands_for: float  # times as many weights in the model

    def activations(self, num_rows: int) -> Tensor:
        generator = torch.Generator().manual_seed(num_rows)
        shape = (1, num_rows, self.weight.shape[1])
        return torch.randn(shape, generator=generator).to(self.weight.dtype)


class Machine(msgspec.Struct, frozen=True):
    """What the fastest layout depends on."""

    processor: str
    torch: str
    num_threads: int
    dtype: str
    weights: tuple[tuple[int, int, int], ...]  # how many there are of [out_features, in_features]


class Kept(msgspec.Struct, frozen=True):
    """What a file says. `seconds` a layout took is for a reader, not for the program."""

    machine: Machine
    layout: int
    seconds: dict[int, float]


@torch.inference_mode()
def choose_layout(
    model: Any,
    *,
    folder: Path | None = None,
    build: Build | None = None,
    clock: Clock = time.perf_counter,
) -> int:
    """The best of LAYOUTS for the linear layers of `model`, a transformers model on the CPU.

    `folder`: of what is kept; None: the one of converted models.
    """
    layers = [layer for layer in model.modules() if type(layer) is nn.Linear]
    layers = [layer for layer in layers if four_bit_of(layer) is None]
    if sum(layer.weight.numel() for layer in layers) < WORTH_MEASURING:
        return USUAL
    machine = _machine(layers)
    file = (models_root() if folder is None else folder) / f"layout-{_digest(machine)}.json"
    kept = read(file, machine)
    if kept == USUAL:
        return kept
    build = _without_bias if build is None else build
    pieces = pieces_of(layers, model.get_output_embeddings())
    witnesses = [*pieces, *of_every_shape(layers)]
    if kept is not None and kept in same_numbers(witnesses, (kept,), build):
        return kept
    layouts = onednn.unlike_layouts([piece.weight for piece in witnesses])
    candidates = same_numbers(witnesses, layouts, build)
    seconds = {}
    if len(candidates) > 1:
        candidates[TWIN] = [build(piece.weight, USUAL) for piece in pieces]
        seconds = measure(pieces, candidates, clock)
    if is_noisy(seconds):
        return USUAL
    layout = fastest(seconds)
    keep(file, Kept(machine, layout, seconds))
    return layout


def pieces_of(layers: Sequence[nn.Linear], output: nn.Module) -> list[Piece]:
    """Of the shape that most weights have, and of the output layer where it is one of `layers`."""
    by_shape: dict[tuple[int, ...], list[Tensor]] = {}
    for layer in layers:
        if layer is not output:
            weight = layer.weight.detach()
            by_shape.setdefault(tuple(weight.shape), []).append(weight)
    pieces = []
    if by_shape:
        totals = {shape: sum(map(Tensor.numel, alike)) for shape, alike in by_shape.items()}
        alike, total = by_shape[max(totals, key=totals.__getitem__)], sum(totals.values())
        for size, rows in ((PIECE, DECODE_ROWS), (SMALL_PIECE, (PROMPT_ROWS,))):
            piece = _stack(alike, size)
            pieces.append(Piece(piece, rows, total / piece.numel()))
    for layer in layers:
        if layer is output:
            piece = _stack([layer.weight.detach()], PIECE)
            pieces.append(Piece(piece, DECODE_ROWS, layer.weight.numel() / piece.numel()))
    return pieces


def of_every_shape(layers: Sequence[nn.Linear]) -> list[Piece]:
    """To compare by, not to measure with: they stand for nothing."""
    shapes = {tuple(layer.weight.shape): layer.weight.detach() for layer in layers}
    return [Piece(_stack([weight], PIECE), DECODE_ROWS, 0.0) for weight in shapes.values()]


def same_numbers(
    pieces: Sequence[Piece], layouts: Sequence[int], build: Build
) -> dict[int, list[Multiply]]:
    """The multiplications by `pieces`, in those of `layouts` that give what the usual one gives."""
    usual = [build(piece.weight, USUAL) for piece in pieces]
    same = {}
    for layout in layouts:
        if layout == USUAL:
            same[layout] = usual
            continue
        with contextlib.suppress(*onednn.ERRORS):
            others = [build(piece.weight, layout) for piece in pieces]
            if all(map(_are_same, pieces, usual, others)):
                same[layout] = others
    return same


def measure(
    pieces: Sequence[Piece], candidates: Mapping[int, Sequence[Multiply]], clock: Clock
) -> dict[int, float]:
    """The seconds that STEPS take, by candidate: multiplications by `pieces`, in their order.

    Each has its own copy of the weights: none finds them in a cache that another one filled.
    """
    cases = [(part, rows) for part, piece in enumerate(pieces) for rows in piece.rows]
    inputs = {case: pieces[case[0]].activations(case[1]) for case in cases}
    shortest = {(layout, *case): math.inf for layout in candidates for case in cases}
    order = deque(candidates)
    begin, num_rounds = clock(), 0
    while num_rounds < LEAST_ROUNDS or clock() - begin < MEASURED_S:
        for part, rows in cases:
            for layout in order:
                took = _time(candidates[layout][part], inputs[part, rows], clock)
                shortest[layout, part, rows] = min(took, shortest[layout, part, rows])
        order.rotate()  # the first of a turn is slower: nothing is in place yet
        num_rounds += 1
    seconds = dict.fromkeys(candidates, 0.0)
    for (layout, part, rows), took in shortest.items():
        seconds[layout] += took * STEPS[rows] * pieces[part].stands_for
    return seconds


def is_noisy(seconds: Mapping[int, float]) -> bool:
    """Whether what `measure` found cannot be told from what else runs on the machine."""
    return TWIN in seconds and abs(seconds[TWIN] - seconds[USUAL]) > NOISE * seconds[USUAL]


def fastest(seconds: Mapping[int, float]) -> int:
    """The usual layout unless another one is faster than both of its turns by more than NOISE."""
    if not seconds:
        return USUAL
    best = min(seconds, key=seconds.__getitem__)
    limit = (1 - NOISE) * min(seconds[USUAL], seconds[TWIN])
    return best if seconds[best] < limit else USUAL


def read(file: Path, machine: Machine) -> int | None:
    """The layout that was kept for `machine`; None where there is none to be read."""
    try:
        kept = msgspec.json.decode(file.read_bytes(), type=Kept)
    except (OSError, msgspec.DecodeError):
        return None
    return kept.layout if kept.machine == machine and kept.layout in LAYOUTS else None


def keep(file: Path, kept: Kept) -> None:
    """Whole or not at all; where the folder cannot be written the next loading measures again."""
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{file.name}-", dir=file.parent)
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(msgspec.json.format(msgspec.json.encode(kept)))
            Path(temporary).chmod(0o644)  # mkstemp makes it private
            Path(temporary).replace(file)
        finally:
            Path(temporary).unlink(missing_ok=True)


def _machine(layers: Sequence[nn.Linear]) -> Machine:
    shapes = Counter((layer.out_features, layer.in_features) for layer in layers)
    return Machine(
        processor=processor(),
        torch=str(torch.__version__),
        num_threads=torch.get_num_threads(),
        dtype=str(layers[0].weight.dtype).removeprefix("torch."),
        weights=tuple((number, *shape) for shape, number in sorted(shapes.items())),
    )


def _digest(machine: Machine) -> str:
    return hashlib.sha256(msgspec.json.encode(machine)).hexdigest()[:16]


def _stack(weights: Sequence[Tensor], size: int) -> Tensor:
    """[.., in_features]: their rows, up to `size` weights, and one at least."""
    num_rows = max(1, size // weights[0].shape[1])
    num_weights = -(-num_rows // len(weights[0]))
    return torch.cat([weight[:num_rows] for weight in weights[:num_weights]])[:num_rows]


def _without_bias(weight: Tensor, layout: int) -> Multiply:
    return onednn.multiplication(weight, None, layout)


def _are_same(piece: Piece, one: Multiply, other: Multiply) -> bool:
    given = map(piece.activations, sorted({*piece.rows, *ROWS_BETWEEN}))
    return all(torch.equal(one(x), other(x)) for x in given)


def _time(multiply: Multiply, x: Tensor, clock: Clock) -> float:
    begin = clock()
    multiply(x)
    return clock() - begin
