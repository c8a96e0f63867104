"""Weights as a GGUF file stores them: 4 bits each, in groups of 32 along a row.

    Q4_1   weight = scale * q + minimum      q from 0 to 15; scale and minimum of a group: float16
    Q4_0   weight = scale * (q - 8)

torch multiplies by them without unpacking them first: `_weight_int4pack_mm_for_cpu`, a private
operator whose groups are the same 32 and whose weight is scale * (q - 8) + zero. So the q are kept
bit by bit, and zero = minimum + 8 * scale. Its fast form takes activations, scales and zeros in
bfloat16: scale and zero, not each weight, are rounded to it.

    Q8_0   weight = scale * (q - 128)    q from 0 to 255: the output layer of many 4-bit files

torch has no kernel for those. They are kept for engine/runner/native, which takes both.

Which linear layer a tensor of the file belongs to is not taken on trust: dequantised it must be
that layer's weight.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

FOUR_BIT = "4bit"  # the dtype choice: "4-bit, as stored"
EIGHT_BIT = "8bit"
GROUP_SIZE = 32
ROWS_TOGETHER = 16  # the operator packs so many rows at once
INNER_K_TILES = 1  # of the CUDA form; the CPU's has none
MULTIPLY_ERRORS = (RuntimeError, AttributeError, NotImplementedError)


class FourBitWeight(NamedTuple):
    """A weight [out_features, in_features] in groups along its rows."""

    quants: Tensor  # [out_features, in_features] uint8, 0 to 15; of Q8_0 0 to 255
    scales: Tensor  # [out_features, in_features / 32] float32
    minima: Tensor  # the same; the value of q = 0

    def dequantised(self) -> Tensor:
        """float32, as every reader of the file computes it."""
        groups = self.quants.float().view(*self.scales.shape, GROUP_SIZE)
        return (groups * self.scales[..., None] + self.minima[..., None]).view(self.quants.shape)

    def rows(self, order: Tensor) -> "FourBitWeight":
        return FourBitWeight(*(part[order] for part in self))

    @property
    def fits_the_kernel(self) -> bool:
        return self.quants.shape[0] % ROWS_TOGETHER == 0

    @property
    def num_bytes(self) -> int:
        """Packed: half a byte a weight, two bfloat16 a group."""
        return self.quants.numel() // 2 + 4 * self.scales.numel()


def side_by_side(weights: Sequence[FourBitWeight]) -> FourBitWeight:
    return FourBitWeight(*(torch.cat(parts) for parts in zip(*weights, strict=True)))


def four_bit_of(layer: nn.Module) -> FourBitWeight | None:
    """What `keep_stored_weights` found for a linear layer."""
    found: FourBitWeight | None = getattr(layer, FOUR_BIT, None)
    return found


def eight_bit_of(layer: nn.Module) -> FourBitWeight | None:
    """The same of a layer that the file stores in 8 bits."""
    found: FourBitWeight | None = getattr(layer, EIGHT_BIT, None)
    return found


def multiplication(weight: FourBitWeight, bias: Tensor | None) -> Callable[[Tensor], Tensor]:
    """x [..., in_features] in any float dtype -> [..., out_features] in the same."""
    assert weight.fits_the_kernel, weight.quants.shape
    pack = torch.ops.aten._convert_weight_to_int4pack_for_cpu.default
    packed = pack(weight.quants.int(), INNER_K_TILES)
    zeros = weight.minima + 8 * weight.scales
    scales_and_zeros = torch.stack((weight.scales.T, zeros.T), dim=-1).bfloat16().contiguous()
    multiply = torch.ops.aten._weight_int4pack_mm_for_cpu.default
    in_features = weight.quants.shape[1]

    def call(x: Tensor) -> Tensor:
        rows = x.reshape(-1, in_features).bfloat16()
        out: Tensor = multiply(rows, packed, GROUP_SIZE, scales_and_zeros).to(x.dtype)
        return (out if bias is None else out + bias).view(*x.shape[:-1], -1)

    return call


def kernel_works() -> bool:
    """Whether torch multiplies 4-bit weights here, and rightly."""
    generator = torch.Generator().manual_seed(0)
    quants = torch.randint(0, 16, (ROWS_TOGETHER, 64), dtype=torch.uint8, generator=generator)
    scales = torch.rand(ROWS_TOGETHER, 2, generator=generator) + 0.5
    weight = FourBitWeight(quants, scales, -8 * scales)
    x = torch.rand(3, 64, generator=generator) - 0.5
    expected = x @ weight.dequantised().T
    try:
        found = multiplication(weight, None)(x)
    except MULTIPLY_ERRORS:
        return False
    return bool((found - expected).abs().max() <= 0.02 * expected.abs().max())


def keep_stored_weights(model: nn.Module, gguf: Path) -> int:
    """Give each linear layer of `model` that the file stores in 4 bits its stored weight; how many.

    Those in 8 bits get theirs too, and are not counted. `model` is the stock one, loaded from the dequantised file.
    """
    from gguf import GGUFReader

    reader = GGUFReader(str(gguf))
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    config: Any = model.config
    heads = {config.num_attention_heads, getattr(config, "num_key_value_heads", None)}
    num_kept = 0
    for name, layer in _linear_layers(model, reader):
        bits, stored = _read(tensors[name]) if name in tensors else ("", None)
        if stored is None or (bits == FOUR_BIT and not stored.fits_the_kernel):
            continue
        for weight in _row_orders(stored, sorted(heads - {None})):
            if torch.equal(weight.dequantised().to(layer.weight.dtype), layer.weight):
                setattr(layer, bits, weight)
                num_kept += bits == FOUR_BIT
                break
    return num_kept


def _linear_layers(model: nn.Module, reader: Any) -> Iterator[tuple[str, nn.Linear]]:
    """Every linear layer, and what the file calls its weight."""
    from gguf import MODEL_ARCH_NAMES, get_tensor_name_map

    named = str(reader.get_field("general.architecture").contents())
    architectures = {name: number for number, name in MODEL_ARCH_NAMES.items()}
    config: Any = model.config
    names = get_tensor_name_map(architectures[named], config.num_hidden_layers)
    is_tied = getattr(config, "tie_word_embeddings", False)
    for path, layer in model.named_modules():
        name = "token_embd" if path == "lm_head" and is_tied else names.get_name(path)
        if type(layer) is nn.Linear and name is not None:
            yield f"{name}.weight", layer


def _read(tensor: Any) -> tuple[str, FourBitWeight | None]:
    """FOUR_BIT or EIGHT_BIT, and the weight; None for every other kind of tensor."""
    kind = tensor.tensor_type.name
    if kind not in ("Q4_0", "Q4_1", "Q8_0"):
        return "", None
    data = torch.from_numpy(tensor.data.copy())
    num_halves, num_bytes = (2 if kind == "Q4_1" else 1), (32 if kind == "Q8_0" else 16)
    blocks = data.view(len(data), -1, 2 * num_halves + num_bytes)
    halves = blocks[..., : 2 * num_halves].contiguous().view(torch.float16).float()
    scales = halves[..., 0].contiguous()
    quants = blocks[..., 2 * num_halves :]
    if kind == "Q8_0":  # signed bytes
        quants = (quants ^ 128).flatten(1)
        return EIGHT_BIT, FourBitWeight(quants, scales, -128 * scales)
    quants = torch.cat((quants & 15, quants >> 4), dim=-1).flatten(1)  # the first 16 q are low
    minima = halves[..., 1].contiguous() if num_halves == 2 else -8 * scales
    return FOUR_BIT, FourBitWeight(quants, scales, minima)


def _row_orders(weight: FourBitWeight, heads: Sequence[int]) -> Iterator[FourBitWeight]:
    """As stored; and with the two halves of every head apart, where the file has them interleaved."""
    yield weight
    num_rows = len(weight.quants)
    for num_heads in heads:
        if num_rows % (2 * num_heads) == 0:
            order = torch.arange(num_rows).view(num_heads, -1, 2).transpose(1, 2).flatten()
            yield weight.rows(order)
