"""Linear layers in the layout that a CPU's kernels like best.

A decode step reads every weight once, so it is as fast as the memory that they come from. Packed
once at loading, the same weights are multiplied faster (`make bench` says by how much). Which kernel,
by dtype and processor:

    oneDNN     float32; bfloat16 and float16 where the processor has instructions for them
    FBGEMM     bfloat16 and float16 elsewhere (AVX2): the weights as float16, activations in float32
    torch      whatever the others cannot do, and every other device
    int4pack   weights that are kept in the 4 bits of a file: four_bit.py

oneDNN has several layouts; layout_choice.py finds the one that it is fastest with here.

A bfloat16 weight fits a float16 exactly from 6e-5 up, and below with an error of 3e-8: far less
than the rounding that bfloat16 activations would bring. A layer with a weight beyond float16 is
multiplied by torch in float32, beside others that FBGEMM multiplies. Both kernels are private
operators of torch, so each is tried on a weight of the model before it is trusted.

vLLM 0.17.1: model_executor/layers/utils.py dispatch_cpu_unquantized_gemm
"""

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from engine.runner import onednn
from engine.runner.four_bit import FourBitWeight, four_bit_of, multiplication, side_by_side
from engine.runner.layout_choice import choose_layout

SMALL = 600_000  # weights, 1.2 MB in float16: read by one thread in 30 microseconds
MAX_HALF = 65504.0
TOLERANCE = 1e-2  # of the largest output; a wrong layout is off by all of it
PACK_ERRORS = (RuntimeError, AttributeError, NotImplementedError)


class Kernel(NamedTuple):
    """How one processor multiplies by a weight."""

    name: str
    widens: bool  # needs float32 activations: the model has to be float32 around it
    layout: int = onednn.USUAL  # of oneDNN's


ONEDNN = Kernel("onednn", widens=False)
FBGEMM = Kernel("fbgemm-fp16", widens=True)
TORCH = Kernel("torch", widens=False)


class PackedLinear(nn.Module):
    """nn.Linear with its weight in a kernel's own layout. The original weight is not kept.

    `num_bytes` is what a multiplication reads of the weight.

    Where the weight does not fit the kernel, torch multiplies by it, between activations of the
    dtype that the kernel works with.
    """

    def __init__(
        self,
        weight: Tensor,
        bias: Tensor | None,
        kernel: Kernel,
        stored: FourBitWeight | None = None,
    ) -> None:
        """`weight` [out_features, in_features], as nn.Linear has it; `stored`: multiply by the
        4 bits that it was made of."""
        super().__init__()
        self.out_features, self.in_features = weight.shape
        self.bias = None if bias is None else nn.Parameter(bias.detach(), requires_grad=False)
        weight, bias = weight.detach(), None if bias is None else bias.detach()
        if stored is not None:
            self.kernel_name, self.num_bytes = "int4pack", stored.num_bytes
            self.multiply = multiplication(stored, bias)
            return
        if not _fits(weight, kernel):
            weight, bias = weight.float(), None if bias is None else bias.float()
            kernel = TORCH
        self.kernel_name = kernel.name
        self.num_bytes = weight.numel() * (2 if kernel is FBGEMM else weight.itemsize)
        self.multiply = _multiplication(weight, bias, kernel)

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[-2] == 0:  # nobody samples: no rows of logits
            return x.new_empty((*x.shape[:-1], self.out_features))
        return self.multiply(x)

    def extra_repr(self) -> str:
        return f"{self.in_features}, {self.out_features}, kernel={self.kernel_name}"


def kernel_for(model: nn.Module) -> Kernel:
    """The best kernel for the linear layers of `model`, tried on the first that fits any, and its
    best layout."""
    weights = (layer.weight for layer in model.modules() if type(layer) is nn.Linear)
    fitting = (weight for weight in weights if _fits(weight, FBGEMM))
    tried = next(fitting, None)
    kernel = TORCH if tried is None else choose_kernel(tried)
    return kernel._replace(layout=choose_layout(model)) if kernel is ONEDNN else kernel


def choose_kernel(weight: Tensor) -> Kernel:
    """The best kernel for weights of this dtype here that gives the right result for `weight`."""
    if weight.device.type != "cpu":
        return TORCH
    for kernel in _candidates(weight.dtype):
        if _is_right(weight, kernel):
            return kernel
    return TORCH


def pack_linears(model: nn.Module, kernel: Kernel) -> None:
    """Replace every nn.Linear of `model` in place."""
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if type(child) is nn.Linear and (kernel is not TORCH or four_bit_of(child)):
                setattr(parent, name, fuse([child], kernel))


def weight_bytes(model: nn.Module) -> int:
    """What the linear layers of `model` read in a step, packed or not."""
    layers = list(model.modules())
    packed = sum(layer.num_bytes for layer in layers if isinstance(layer, PackedLinear))
    return packed + sum(layer.weight.nbytes for layer in layers if type(layer) is nn.Linear)


def fuse(layers: Sequence[nn.Linear], kernel: Kernel) -> PackedLinear:
    """One layer that computes all of them: their outputs side by side."""
    weights = [layer.weight.detach() for layer in layers]
    weight = torch.cat(weights) if len(weights) > 1 else weights[0]
    biases = [layer.bias.detach() for layer in layers if layer.bias is not None]
    assert len(biases) in (0, len(layers)), "a bias is missing"
    stored = [kept for kept in map(four_bit_of, layers) if kept is not None]
    together = side_by_side(stored) if len(stored) == len(layers) else None
    return PackedLinear(weight, torch.cat(biases) if biases else None, kernel, together)


def _candidates(dtype: torch.dtype) -> tuple[Kernel, ...]:
    if dtype == torch.float32:
        return (ONEDNN,)
    asks = {
        torch.bfloat16: "_is_mkldnn_bf16_supported",
        torch.float16: "_is_mkldnn_fp16_supported",
    }
    try:
        has_instructions = getattr(torch.ops.mkldnn, asks[dtype])()
    except PACK_ERRORS:
        has_instructions = False
    return (ONEDNN, FBGEMM) if has_instructions else (FBGEMM,)


def _is_right(weight: Tensor, kernel: Kernel) -> bool:
    if not _fits(weight, kernel):
        return False
    x = torch.linspace(-1, 1, 3 * weight.shape[1]).view(3, -1)
    expected = linear(x, weight.detach().float())
    try:
        found = PackedLinear(weight, None, kernel)(x if kernel.widens else x.to(weight.dtype))
    except PACK_ERRORS:
        return False
    error = (found.float() - expected).abs().max()
    return bool(error <= TOLERANCE * expected.abs().max())


def _fits(weight: Tensor, kernel: Kernel) -> bool:
    return kernel is not FBGEMM or float(weight.detach().abs().max()) < MAX_HALF


def _multiplication(
    weight: Tensor, bias: Tensor | None, kernel: Kernel
) -> Callable[[Tensor], Tensor]:
    if kernel is FBGEMM:
        return _fbgemm(weight, bias)
    if kernel.name == ONEDNN.name:
        return onednn.multiplication(weight, bias, kernel.layout)
    return lambda x: linear(x, weight, bias)


def _fbgemm(weight: Tensor, bias: Tensor | None) -> Callable[[Tensor], Tensor]:
    """FBGEMM has two ways in, and both give the same numbers. The one shares a multiplication out
    to the threads; the other does not, and costs several microseconds less a call. A small weight
    is packed for both: one row of it takes longer to share out than to compute."""
    wide_bias = None if bias is None else bias.float()
    if torch.get_num_threads() == 1:
        return _fbgemm_direct(weight, wide_bias)
    packed = torch.ops.quantized.linear_prepack_fp16(weight.float(), wide_bias)
    multiply = torch.ops.quantized.linear_dynamic_fp16.default._op  # no Python around
    if weight.numel() > SMALL:
        return lambda x: multiply(x, packed)
    direct, one_row = _fbgemm_direct(weight, wide_bias), weight.shape[1]
    return lambda x: direct(x) if x.numel() == one_row else multiply(x, packed)


def _fbgemm_direct(weight: Tensor, bias: Tensor | None) -> Callable[[Tensor], Tensor]:
    _let_fbgemm_warn()
    packed = torch.fbgemm_pack_gemm_matrix_fp16(weight.float())
    multiply = torch.fbgemm_linear_fp16_weight_fp32_activation
    return lambda x: multiply(x, packed, bias)


@functools.cache
def _let_fbgemm_warn() -> None:
    """Torch says once a process that the direct way will go some day. The versions are pinned."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        packed = torch.fbgemm_pack_gemm_matrix_fp16(torch.zeros(1, 1))
        torch.fbgemm_linear_fp16_weight_fp32_activation(torch.zeros(1, 1), packed, None)
