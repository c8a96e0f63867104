"""Packed and fused layers say what the stock ones say."""

import pytest
import torch
from torch import nn

from engine.runner import packed_linear
from engine.runner.fused_layers import FusedLayer, FusedNorm, WidenedNorm, fuse_layers, turn
from engine.runner.packed_linear import (
    FBGEMM,
    ONEDNN,
    TORCH,
    Kernel,
    PackedLinear,
    choose_kernel,
    fuse,
    kernel_for,
    pack_linears,
    weight_bytes,
)
from tests.runner.builders import VOCAB_SIZE, answers, build_loaded, build_stock, random_prompt

ROWS = (0, 1, 2, 7, 8, 33, 130)
HAS_FBGEMM = choose_kernel(torch.ones(8, 8, dtype=torch.bfloat16)) is FBGEMM
needs_fbgemm = pytest.mark.skipif(not HAS_FBGEMM, reason="bfloat16 is not packed by FBGEMM here")


def kernels(dtype: torch.dtype) -> list[Kernel]:
    return (
        [TORCH]
        if choose_kernel(torch.ones(8, 8, dtype=dtype)) is TORCH
        else [
            choose_kernel(torch.ones(8, 8, dtype=dtype)),
            TORCH,
        ]
    )


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_packed_layer_multiplies_as_nn_linear_does(rows, has_bias, dtype):
    torch.manual_seed(0)
    weight = (torch.randn(40, 24) * 0.2).to(dtype)
    bias = torch.randn(40).to(dtype) if has_bias else None
    x = torch.randn(1, rows, 24)
    expected = nn.functional.linear(x, weight.float(), None if bias is None else bias.float())
    for kernel in kernels(dtype):
        given = x if kernel.widens else x.to(dtype)
        found = PackedLinear(weight, bias, kernel)(given)
        assert found.shape == (1, rows, 40)
        assert found.dtype == given.dtype
        tolerance = 1e-5 if dtype == torch.float32 else 1e-5 if kernel.widens else 0.05
        assert rows == 0 or float((found.float() - expected).abs().max()) < tolerance


def test_float32_is_packed_by_onednn_and_never_by_a_half_precision_kernel():
    assert choose_kernel(torch.randn(64, 32)) in (ONEDNN, TORCH)


def test_a_weight_beyond_float16_is_not_packed_as_float16():
    assert choose_kernel(torch.full((4, 4), 1e6, dtype=torch.bfloat16)) is not FBGEMM


def test_a_tiny_bfloat16_weight_keeps_its_value_to_3e_8():
    weight = torch.full((8, 8), 1.1e-5, dtype=torch.bfloat16)
    kernel = choose_kernel(weight)
    x = torch.eye(8, dtype=torch.float32 if kernel.widens else torch.bfloat16)
    found = PackedLinear(weight, None, kernel)(x[None])[0].float()
    assert float((found - weight.float().T).abs().max()) < 5e-8


def with_threads(num_threads: int, weight: torch.Tensor, bias: torch.Tensor | None) -> PackedLinear:
    before = torch.get_num_threads()
    torch.set_num_threads(num_threads)
    try:
        return PackedLinear(weight, bias, FBGEMM)
    finally:
        torch.set_num_threads(before)


@needs_fbgemm
@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("shape", [(1, 1), (40, 24), (960, 576), (1537, 577)])
def test_one_thread_and_several_multiply_alike(shape, has_bias):
    torch.manual_seed(0)
    weight = (torch.randn(shape) * 0.1).bfloat16()
    bias = torch.randn(shape[0]).bfloat16() if has_bias else None
    alone, shared = with_threads(1, weight, bias), with_threads(2, weight, bias)
    for rows in ROWS:
        x = torch.randn(1, rows, shape[1])
        assert alone(x).shape == shared(x).shape
        assert torch.allclose(alone(x), shared(x), rtol=1e-5, atol=1e-5)


@needs_fbgemm
def test_a_large_weight_is_packed_once_and_a_small_one_for_a_single_row_as_well(monkeypatch):
    monkeypatch.setattr(packed_linear, "SMALL", 24 * 16)
    ways = []
    direct = packed_linear._fbgemm_direct

    def noting(weight, bias):
        multiply = direct(weight, bias)
        return lambda x: ways.append(x.shape[-2]) or multiply(x)

    monkeypatch.setattr(packed_linear, "_fbgemm_direct", noting)
    for out_features, expected in ((24, [1]), (25, [])):
        ways.clear()
        layer = with_threads(2, torch.randn(out_features, 16).bfloat16(), None)
        for rows in (1, 2, 16):
            layer(torch.randn(1, rows, 16))
        assert ways == expected


@needs_fbgemm
def test_the_direct_way_into_fbgemm_is_quiet(recwarn):
    with_threads(1, torch.ones(8, 8, dtype=torch.bfloat16), None)(torch.ones(1, 1, 8))
    assert not list(recwarn)


@needs_fbgemm
@pytest.mark.parametrize("architecture", ["Llama", "Qwen3"])
@pytest.mark.parametrize("name", ["q_proj", "up_proj", "down_proj", "lm_head"])
def test_one_layer_beyond_float16_is_multiplied_by_torch_and_the_others_by_fbgemm(
    architecture, name
):
    def build():
        stock = build_stock(architecture, tie_word_embeddings=False)
        layers = {path.rpartition(".")[2]: layer for path, layer in stock.named_modules()}
        with torch.no_grad():
            layers[name].weight[1, 2] = 1e5
        return stock.bfloat16()

    stock = build()
    assert kernel_for(stock) is FBGEMM
    loaded = build_loaded(stock)
    packed = [layer for layer in loaded.model.modules() if type(layer) is PackedLinear]
    assert [layer.kernel_name for layer in packed].count("torch") == 1
    assert {layer.kernel_name for layer in packed} == {"torch", FBGEMM.name}
    prompt = random_prompt(9)
    wide = build_loaded(build().float())
    assert answers(loaded, [prompt])[0][0] == answers(wide, [prompt])[0][0]


def test_a_model_whose_first_layer_does_not_fit_still_finds_its_kernel():
    stock = build_stock().bfloat16()
    expected = kernel_for(stock)
    with torch.no_grad():
        stock.model.layers[0].self_attn.q_proj.weight.fill_(1e6)
    assert kernel_for(stock) == expected
    assert kernel_for(nn.ReLU()) is TORCH


def test_a_float32_norm_is_bit_by_bit_the_stock_one_for_one_row_as_for_many():
    from transformers.models.llama.modeling_llama import LlamaRMSNorm

    torch.manual_seed(0)
    for size in (8, 576, 577):
        stock = LlamaRMSNorm(size, eps=1e-5)
        nn.init.normal_(stock.weight)
        rows = torch.randn(1, 33, size) * 5
        found = FusedNorm(stock)(rows)
        assert torch.equal(found, stock(rows))
        for index in range(33):
            row = rows[:, index : index + 1]
            assert torch.equal(FusedNorm(stock)(row), found[:, index : index + 1])


def test_a_widened_norm_is_right_to_the_last_bits_for_one_row_as_for_many():
    from transformers.models.llama.modeling_llama import LlamaRMSNorm

    torch.manual_seed(0)
    stock = LlamaRMSNorm(576, eps=1e-5)
    nn.init.normal_(stock.weight)
    norm = WidenedNorm(stock.bfloat16())
    stock.float()
    for rows in (0, 1, 2, 9):
        for scale in (0.0, 1e-3, 1.0, 1e3):
            x = torch.randn(1, rows, 576) * scale
            assert torch.allclose(norm(x), stock(x), rtol=1e-6, atol=1e-6)


def test_only_a_model_that_is_widened_has_widened_norms():
    def norms(loaded):
        return {type(m) for m in loaded.model.modules() if isinstance(m, FusedNorm)}

    assert WidenedNorm not in norms(build_loaded(build_stock()))
    if HAS_FBGEMM:
        assert norms(build_loaded(build_stock().bfloat16())) == {WidenedNorm}


def test_a_step_reads_each_weight_once_and_no_embedding():
    layers = 2 * (32 * 64 + 32 * 32 + 2 * 32 * 48 + 48 * 32)  # QKV, O, gate and up, down
    for dtype, size in ((torch.float32, 4), (torch.bfloat16, 2)):
        loaded = build_loaded(build_stock().to(dtype))
        assert weight_bytes(loaded.model) == size * (layers + 32 * VOCAB_SIZE)
    assert weight_bytes(build_stock()) == 4 * (layers + 32 * VOCAB_SIZE)


def test_fused_layers_stand_side_by_side():
    torch.manual_seed(0)
    layers = [nn.Linear(16, size) for size in (8, 4, 4)]
    x = torch.randn(1, 3, 16)
    with torch.no_grad():
        expected = torch.cat([layer(x) for layer in layers], dim=-1)
        found = fuse(layers, choose_kernel(layers[0].weight))(x)
    assert (found - expected).abs().max() < 1e-6


def test_turning_q_and_k_together_is_bit_by_bit_what_the_stock_model_does():
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    torch.manual_seed(0)
    query, key = torch.randn(1, 5, 6, 8), torch.randn(1, 5, 2, 8)
    angles = torch.randn(1, 5, 4).repeat(1, 1, 2)
    cosine, sine = angles.cos(), angles.sin()
    stock = apply_rotary_pos_emb(query.transpose(1, 2), key.transpose(1, 2), cosine, sine)
    signed = torch.cat((-sine[..., :4], sine[..., 4:]), dim=-1)
    turned = turn(torch.cat((query, key), dim=2), cosine[:, :, None], signed[:, :, None])
    assert torch.equal(turned[:, :, :6].transpose(1, 2), stock[0])
    assert torch.equal(turned[:, :, 6:].transpose(1, 2), stock[1])


@pytest.mark.parametrize(
    ("architecture", "fused"),
    [("Llama", True), ("Qwen2", True), ("Mistral", True), ("Qwen3", False), ("Olmo2", False)],
)
def test_only_known_classes_are_fused_and_others_are_still_packed(architecture, fused):
    stock = build_stock(architecture)
    if choose_kernel(stock.lm_head.weight) is TORCH:
        pytest.skip("this processor has no packing kernel")
    loaded = build_loaded(stock)
    assert loaded.linear_path.endswith("-fused") is fused
    kinds = {type(module) for module in loaded.model.modules()}
    assert (FusedLayer in kinds) is fused
    assert nn.Linear not in kinds
    assert PackedLinear in kinds


def test_a_layer_of_an_unknown_class_leaves_the_whole_model_as_it_is():
    class LlamaDecoderLayer(nn.Module):  # the name alone is not enough
        pass

    stock = build_stock()
    stock.model.layers[1] = LlamaDecoderLayer()
    assert not fuse_layers(stock, TORCH)
    assert type(stock.model.layers[0]) is type(build_stock().model.layers[0])


def test_without_a_kernel_nothing_is_touched():
    stock = build_stock()
    pack_linears(stock, TORCH)
    assert type(stock.lm_head) is nn.Linear
