"""A weight laid out as matrix.c reads it: PANEL outputs side by side, from front to back.

dense      [panel, pair of inputs, output, 2]      float32: [panel, pair of inputs, 2, output]
in groups  [panel, group, word, output]            `bits` words of q, then scale and minimum
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from engine.runner.four_bit import (
    GROUP_SIZE,
    FourBitWeight,
    eight_bit_of,
    four_bit_of,
    side_by_side,
)
from engine.runner.native.structures import KINDS, Kind, Matrix

PANEL = 32


class Weight:
    """A weight in panels. Whoever uses `matrix` keeps this object."""

    def __init__(self, kind: Kind, shape: torch.Size, panels: Tensor, bias: Tensor | None) -> None:
        self.panels = panels
        self.bias = None if bias is None else bias.detach().float().contiguous()
        self.matrix = Matrix(
            kind=kind,
            num_outputs=shape[0],
            num_inputs=shape[1],
            panels=panels.data_ptr(),
            bias=None if self.bias is None else self.bias.data_ptr(),
        )

    @property
    def kind(self) -> Kind:
        return Kind(self.matrix.kind)


def weight_of(layers: Sequence[nn.Linear], *, as_stored: bool = True) -> Weight:
    """Linear layers on the same input as one weight: their outputs one after the other.

    `as_stored`: in the bits of the file, if it is known for all of them.
    """
    biases = [layer.bias.detach() for layer in layers if layer.bias is not None]
    assert len(biases) in (0, len(layers)), "a bias is missing"
    bias = torch.cat(biases) if biases else None
    for kind, stored_of in ((Kind.FOUR_BIT, four_bit_of), (Kind.EIGHT_BIT, eight_bit_of)):
        stored = [kept for kept in map(stored_of, layers) if kept is not None]
        if as_stored and len(stored) == len(layers):
            together = side_by_side(stored)
            if _fits(together):
                return Weight(kind, together.quants.shape, grouped(together, kind), bias)
    weight = torch.cat([layer.weight.detach() for layer in layers])
    return Weight(KINDS[weight.dtype], weight.shape, dense(weight), bias)


def dense(weight: Tensor) -> Tensor:
    panels = _in_panels(weight)  # [panel, output, input]
    pairs = panels.view(len(panels), PANEL, -1, 2)
    if weight.dtype == torch.float32:
        return pairs.permute(0, 2, 3, 1).contiguous()
    return pairs.permute(0, 2, 1, 3).contiguous()


def grouped(weight: FourBitWeight, kind: Kind) -> Tensor:
    """Eight q of 4 bits in a word or four of 8, the first in its lowest bits."""
    num_outputs, num_groups = weight.scales.shape
    packed = weight.quants
    if kind is Kind.FOUR_BIT:
        packed = weight.quants[:, ::2] | weight.quants[:, 1::2] << 4
    words = _in_panels(packed.contiguous().view(torch.int32))  # [panel, output, word]
    words = words.view(len(words), PANEL, num_groups, -1).permute(0, 2, 3, 1)
    halves = torch.stack((weight.scales.half(), weight.minima.half()), dim=2).view(torch.int32)
    both = _in_panels(halves.view(num_outputs, num_groups)).transpose(1, 2)
    return torch.cat((words, both[:, :, None]), dim=2).contiguous()


def _fits(weight: FourBitWeight) -> bool:
    """Whether scale and minimum are float16 numbers, as a file has them."""
    assert weight.quants.shape[1] == GROUP_SIZE * weight.scales.shape[1], weight.quants.shape
    return all(torch.equal(part.half().float(), part) for part in (weight.scales, weight.minima))


def _in_panels(rows: Tensor) -> Tensor:
    """[num_rows, n] -> [num_panels, PANEL, n], the last panel filled up with zeros."""
    missing = -len(rows) % PANEL
    filled = torch.cat((rows, rows.new_zeros(missing, rows.shape[1])))
    return filled.view(-1, PANEL, rows.shape[1])
