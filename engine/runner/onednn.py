"""Weights in a layout of oneDNN's, and multiplications by them.

oneDNN is told for how many rows of activations a weight is laid out, and picks blocks that its
kernels for this processor and dtype read in order. `layout_choice.py` says which number is best.
The operators are private to torch.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

AS_IT_IS = 0  # no layout of its own: oneDNN reads the weight as torch has it
USUAL = 8  # rows: decode batches are of about so many
LAYOUTS = (USUAL, 1, 32, 256, AS_IT_IS)
ERRORS = (RuntimeError, AttributeError, NotImplementedError)

Multiply = Callable[[Tensor], Tensor]


def multiplication(weight: Tensor, bias: Tensor | None, layout: int) -> Multiply:
    """x [..., in_features] -> [..., out_features], by `weight` [out_features, in_features]."""
    laid_out = _lay_out(weight, layout)
    multiply = torch.ops.mkldnn._linear_pointwise.default
    return lambda x: multiply(x, laid_out, bias, "none", [], "")


def unlike_layouts(weights: Sequence[Tensor]) -> tuple[int, ...]:
    """Of LAYOUTS the first of each kind: for many a processor oneDNN has one for any number of rows.

    Where it cannot be asked, all of them.
    """
    found: dict[tuple[bytes, ...], int] = {}
    try:
        for layout in LAYOUTS:
            described = tuple(_description(_lay_out(weight, layout)) for weight in weights)
            found.setdefault(described, layout)
    except ERRORS:
        return LAYOUTS
    return tuple(found.values())


def _lay_out(weight: Tensor, layout: int) -> Tensor:
    whole = weight.contiguous()
    if layout == AS_IT_IS:
        return whole
    laid_out: Tensor = torch.ops.mkldnn._reorder_linear_weight(whole, layout)
    return laid_out


def _description(laid_out: Tensor) -> bytes:
    """oneDNN's own, of shape, blocks and strides."""
    if not laid_out.is_mkldnn:
        return b""
    described: Tensor = torch.ops.mkldnn._get_mkldnn_serialized_md(laid_out)
    return bytes(described.tolist())
