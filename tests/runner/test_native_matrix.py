"""A few rows times a weight in C, in every way in which a weight may be stored."""

import ctypes
import itertools

import pytest
import torch
from torch import nn

from engine.runner.four_bit import FourBitWeight
from engine.runner.native.library import library
from engine.runner.native.panels import PANEL, Weight, grouped, weight_of
from engine.runner.native.structures import Kind, Matrix
from tests.runner.test_four_bit import random_weight

needs_library = pytest.mark.skipif(library().loaded is None, reason=str(library().reason))


class Input(ctypes.Structure):
    """decode.h's, which only the C code fills elsewhere."""

    _fields_ = (
        ("rows", ctypes.c_void_p),
        ("stride", ctypes.c_int64),
        ("scaled", ctypes.c_void_p),
        ("sums", ctypes.c_void_p),
    )


def product(weight: Weight, x: torch.Tensor) -> torch.Tensor:
    """x times the weight, panel by panel, up to four rows at once."""
    c = library().loaded
    rows = (ctypes.c_int, ctypes.c_int)
    c.multiply.argtypes = (ctypes.POINTER(Matrix), ctypes.c_int, ctypes.POINTER(Input), *rows)
    c.multiply.argtypes += (ctypes.c_void_p,)
    num_rows, num_inputs = x.shape
    scaled, sums = torch.empty(num_inputs), torch.empty(num_inputs)
    given = Input(x.data_ptr(), x.stride(0), None, None)
    buffers = map(ctypes.c_void_p, (scaled.data_ptr(), sums.data_ptr()))
    c.ready(ctypes.byref(given), ctypes.byref(weight.matrix), num_rows, *buffers)
    num_panels = c.num_panels(ctypes.byref(weight.matrix))
    found = torch.empty(num_rows, num_panels * PANEL)
    for panel, first in itertools.product(range(num_panels), range(0, num_rows, 4)):
        count = min(4, num_rows - first)
        out = torch.empty(count, PANEL)
        c.multiply(weight.matrix, panel, given, first, count, out.data_ptr())
        found[first : first + count, panel * PANEL : (panel + 1) * PANEL] = out
    return found[:, : weight.matrix.num_outputs]


@needs_library
@pytest.mark.parametrize("num_rows", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("num_outputs", [1, 31, 32, 33, 64])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_rows_times_a_weight(dtype, num_outputs, num_rows):
    torch.manual_seed(1)
    layer = nn.Linear(70, num_outputs).to(dtype)
    with torch.no_grad():
        layer.weight[0, :3] = torch.tensor(
            [6e-6, -3e-8, 60000.0]
        )  # float16 subnormals, and its end
    x = torch.randn(num_rows, 70)
    expected = nn.functional.linear(x.double(), layer.weight.double(), layer.bias.double())
    found = product(weight_of([layer]), x)
    assert torch.allclose(found.double(), expected, rtol=1e-5, atol=1e-4)


@needs_library
@pytest.mark.parametrize("num_rows", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("kind", [Kind.FOUR_BIT, Kind.EIGHT_BIT])
def test_rows_times_a_weight_in_groups(kind, num_rows):
    torch.manual_seed(1)
    quants = torch.randint(0, 16 if kind is Kind.FOUR_BIT else 256, (45, 96), dtype=torch.uint8)
    scales = (torch.rand(45, 3) * 0.02).half().float()
    stored = FourBitWeight(quants, scales, (-7.5 * scales).half().float())
    x = torch.randn(num_rows, 96)
    found = product(Weight(kind, quants.shape, grouped(stored, kind), None), x)
    expected = x.double() @ stored.dequantised().double().T
    assert torch.allclose(found.double(), expected, rtol=1e-5, atol=1e-5)


def test_random_weights_of_the_other_tests_are_no_float16_numbers_and_stay_dense():
    layer = nn.Linear(64, 32, bias=False)
    layer.__dict__["4bit"] = random_weight()
    assert weight_of([layer]).kind is Kind.FLOAT32
