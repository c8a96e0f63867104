"""Weights in oneDNN's own layouts multiply as torch's do."""

import pytest
import torch
from torch import nn
from torch.nn.functional import linear

from engine.runner import layout_choice, onednn, packed_linear
from engine.runner.layout_choice import pieces_of, same_numbers
from engine.runner.onednn import AS_IT_IS, LAYOUTS, USUAL
from engine.runner.packed_linear import ONEDNN, PackedLinear, choose_kernel, kernel_for
from tests.runner.builders import answers, build_loaded, build_stock, random_prompt

HAS_ONEDNN = choose_kernel(torch.ones(8, 8)) is ONEDNN
needs_onednn = pytest.mark.skipif(not HAS_ONEDNN, reason="torch has no oneDNN here")


@needs_onednn
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_multiplies_as_torch_does(layout):
    torch.manual_seed(0)
    weight, bias = torch.randn(40, 24), torch.randn(40)
    layer = PackedLinear(weight, bias, ONEDNN._replace(layout=layout))
    assert layer.kernel_name == "onednn"
    for rows in (1, 2, 8, 33):
        x = torch.randn(1, rows, 24)
        assert torch.allclose(layer(x), linear(x, weight, bias), atol=1e-5)


@needs_onednn
def test_layouts_that_this_processor_offers_for_the_same_numbers_do_so_at_any_rows():
    torch.manual_seed(0)
    layers = [nn.Linear(192, 320, bias=False) for _ in range(2)]
    pieces = pieces_of(layers, layers[1])
    found = same_numbers(pieces, LAYOUTS, layout_choice._without_bias)
    assert USUAL in found
    x = torch.randn(1, 40, 192)
    for rows in range(1, 41):
        expected = found[USUAL][0](x[:, :rows])
        assert all(torch.equal(others[0](x[:, :rows]), expected) for others in found.values())


@needs_onednn
def test_layouts_that_onednn_describes_alike_are_tried_once(monkeypatch):
    weights = [torch.randn(64, 32)]
    found = onednn.unlike_layouts(weights)
    assert found[0] == USUAL
    assert set(found) <= set(LAYOUTS)
    assert AS_IT_IS in found
    monkeypatch.setattr(onednn, "_description", lambda laid_out: bytes([laid_out.is_mkldnn]))
    assert onednn.unlike_layouts(weights) == (USUAL, AS_IT_IS)


def test_where_onednn_cannot_be_asked_all_layouts_are_tried(monkeypatch):
    def refuses(laid_out):
        raise AttributeError("no such operator")

    monkeypatch.setattr(onednn, "_description", refuses)
    assert onednn.unlike_layouts([torch.randn(64, 32)]) == LAYOUTS


@needs_onednn
def test_a_model_is_packed_in_the_layout_that_was_chosen(monkeypatch):
    used = set()
    lay_out = onednn._lay_out
    monkeypatch.setattr(onednn, "_lay_out", lambda w, rows: used.add(rows) or lay_out(w, rows))
    monkeypatch.setattr(packed_linear, "choose_layout", lambda model: 256)
    assert kernel_for(build_stock()).layout == 256
    used.clear()
    loaded = build_loaded(build_stock())
    assert used == {USUAL, 256}  # the kernel is tried in the usual one
    assert loaded.linear_path == "onednn-fused"
    monkeypatch.setattr(packed_linear, "choose_layout", lambda model: USUAL)
    prompt = random_prompt(9)
    assert answers(loaded, [prompt]) == answers(build_loaded(build_stock()), [prompt])
