"""Weights that stay in the 4 bits of their file say what their dequantised values say."""

import gguf
import numpy as np
import pytest
import torch
from torch import nn

from engine.config import SamplingParams
from engine.errors import ConfigError
from engine.runner import placement
from engine.runner.architecture import deviation
from engine.runner.four_bit import (
    FourBitWeight,
    four_bit_of,
    keep_stored_weights,
    kernel_works,
    multiplication,
    side_by_side,
)
from engine.runner.model_folder import say_nothing
from engine.runner.model_loader import load_model
from engine.runner.model_runner import ModelRunner
from engine.runner.other_form import load_beside
from engine.runner.packed_linear import TORCH, PackedLinear, fuse, weight_bytes
from tests.runner.builders import (
    answers,
    build_engine,
    build_loaded,
    build_stock,
    build_tokenizer,
    random_prompt,
)

needs_kernel = pytest.mark.skipif(not kernel_works(), reason="torch has no 4-bit kernel here")
SHAPE = {"intermediate_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2}
NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
Q4_0, Q4_1 = gguf.GGMLQuantizationType.Q4_0, gguf.GGMLQuantizationType.Q4_1


def random_weight(num_rows: int = 32, num_columns: int = 64) -> FourBitWeight:
    torch.manual_seed(3)
    quants = torch.randint(0, 16, (num_rows, num_columns), dtype=torch.uint8)
    scales = torch.rand(num_rows, num_columns // 32) * 0.02 + 0.01
    return FourBitWeight(quants, scales, -7.5 * scales + torch.randn_like(scales) * 0.01)


def interleaved(weight: np.ndarray, num_heads: int) -> np.ndarray:
    """The rows of a head as the llama.cpp converter orders Q and K: halves alternate."""
    apart = weight.reshape(num_heads, 2, -1, weight.shape[1])
    return np.ascontiguousarray(apart.swapaxes(1, 2)).reshape(weight.shape)


def write_gguf(path, stock, kind) -> None:
    """The linear layers of `stock`, quantised; `stock` gets the dequantised values."""
    writer = gguf.GGUFWriter(path, "llama")
    heads = {"attn_q": 4, "attn_k": 2}
    for index, layer in enumerate(stock.model.layers):
        for path_of, name in NAMES.items():
            linear = layer.get_submodule(path_of)
            stored = gguf.quants.quantize(linear.weight.detach().numpy(), kind)
            values = torch.from_numpy(gguf.quants.dequantize(stored, kind))
            linear.weight = nn.Parameter(values)
            if name in heads:
                stored = interleaved(stored, heads[name])
            writer.add_tensor(f"blk.{index}.{name}.weight", stored, raw_dtype=kind)
    writer.add_tensor("output.weight", stock.lm_head.weight.detach().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_dequantised_it_is_scale_times_q_plus_minimum():
    quants = torch.arange(32, dtype=torch.uint8)[None] % 16
    weight = FourBitWeight(quants, torch.tensor([[0.5]]), torch.tensor([[-2.0]]))
    assert weight.dequantised()[0, :6].tolist() == [-2.0, -1.5, -1.0, -0.5, 0.0, 0.5]
    assert weight.num_bytes == 16 + 4


@needs_kernel
@pytest.mark.parametrize("rows", [1, 2, 7, 33])
@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_multiplied_without_unpacking_it_differs_by_bfloat16_rounding(rows, has_bias, dtype):
    weight, bias = random_weight(), torch.randn(32) if has_bias else None
    x = torch.randn(1, rows, 64).to(dtype)
    found = multiplication(weight, bias)(x)
    expected = nn.functional.linear(x.float(), weight.dequantised(), bias)
    assert found.shape == (1, rows, 32)
    assert (found.float() - expected).abs().max() < 0.01 * expected.abs().max()


@needs_kernel
def test_several_layers_of_stored_weights_are_fused_as_stored():
    parts = [random_weight(32), random_weight(16)]
    layers = [nn.Linear(64, len(part.quants), bias=False) for part in parts]
    for layer, part in zip(layers, parts, strict=True):
        setattr(layer, "4bit", part)
    fused = fuse(layers, TORCH)
    assert fused.kernel_name == "int4pack"
    assert fused.num_bytes == (32 + 16) * (32 + 2 * 4)
    x = torch.randn(2, 64)
    expected = nn.functional.linear(x, side_by_side(parts).dequantised())
    assert (fused(x) - expected).abs().max() < 0.01 * expected.abs().max()


@needs_kernel
@pytest.mark.parametrize("kind", [Q4_0, Q4_1])
def test_every_layer_finds_its_bits_in_the_file_whatever_the_order_of_its_rows(tmp_path, kind):
    stock = build_stock(**SHAPE)
    write_gguf(tmp_path / "a.gguf", stock, kind)
    assert keep_stored_weights(stock, tmp_path / "a.gguf") == 2 * len(NAMES)
    for layer in stock.model.layers:
        for path in NAMES:
            linear = layer.get_submodule(path)
            assert torch.equal(four_bit_of(linear).dequantised(), linear.weight)
    assert four_bit_of(stock.lm_head) is None


@needs_kernel
def test_a_layer_that_the_file_does_not_hold_is_left_alone(tmp_path):
    stock = build_stock(**SHAPE)
    write_gguf(tmp_path / "a.gguf", stock, Q4_1)
    with torch.no_grad():
        stock.model.layers[1].mlp.up_proj.weight[3, 5] += 1.0
    assert keep_stored_weights(stock, tmp_path / "a.gguf") == 2 * len(NAMES) - 1
    assert four_bit_of(stock.model.layers[1].mlp.up_proj) is None


@needs_kernel
def test_a_model_keeps_its_bits_and_says_so(tmp_path):
    stock = build_stock(**SHAPE)
    write_gguf(tmp_path / "a.gguf", stock, Q4_1)
    stock = stock.bfloat16()
    assert weight_bytes(stock) == 2 * (2 * 9216 + 260 * 32)
    keep_stored_weights(stock, tmp_path / "a.gguf")
    loaded = build_loaded(stock)
    assert loaded.dtype_name == "4bit"
    assert loaded.dtype == torch.bfloat16
    assert loaded.linear_path.startswith("int4pack+")
    assert weight_bytes(loaded.model) == 2 * 9216 * 20 // 32 + 2 * 260 * 32
    packed = [layer for layer in loaded.model.modules() if isinstance(layer, PackedLinear)]
    assert [layer.kernel_name for layer in packed].count("int4pack") == 2 * 4
    prompts = [random_prompt(9), random_prompt(14)]
    assert all(len(answer) == 12 for answer in answers(loaded, prompts))


@needs_kernel
@pytest.mark.model
def test_the_default_models_bits_say_what_its_dequantised_weights_say(float32, bfloat16):
    loaded = load_beside(bfloat16, None, dtype="4bit", progress=say_nothing)
    assert loaded.tokenizer is bfloat16.tokenizer
    packed = [layer for layer in loaded.model.modules() if isinstance(layer, PackedLinear)]
    assert [layer.kernel_name for layer in packed].count("int4pack") == 30 * 4
    assert weight_bytes(loaded.model) < 0.5 * weight_bytes(bfloat16.model)
    runner = ModelRunner(loaded, num_blocks=8, block_size=16)
    assert runner.header_fields()["dtype"] == "4bit"
    text = "The lighthouse keeper climbed the stairs every evening and counted the ships. " * 6
    prompt = float32.tokenizer.encode(text, "raw").token_ids
    exact, kept, rounded = (_logits(model, prompt) for model in (float32, loaded, bfloat16))
    assert deviation(kept, exact) < 0.05
    assert deviation(rounded, exact) < 0.05
    assert (kept.argmax(-1) == exact.argmax(-1)).float().mean() > 0.95


def _logits(loaded, prompt):
    """[num_ends, vocab_size]: what follows the first 8, 16, 24, ... tokens."""
    engine, _ = build_engine(loaded, block_size=16, num_blocks=20)
    runner = Recording(loaded, num_blocks=20, block_size=16)
    engine.runner = runner
    for end in range(8, len(prompt), 8):
        engine.add_request(str(end), prompt[:end], sampling=SamplingParams(max_tokens=1))
        while engine.has_unfinished_requests:
            engine.step()
    return torch.cat(runner.logits)


class Recording(ModelRunner):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.logits = []

    def forward(self, batch):
        self.logits.append(super().forward(batch))
        return self.logits[-1]


def test_a_model_without_such_weights_gets_a_sentence(tmp_path):
    build_stock().save_pretrained(tmp_path / "plain")
    build_tokenizer().save_pretrained(tmp_path / "plain")
    if not kernel_works():
        pytest.skip("refused before the model is looked at")
    with pytest.raises(ConfigError, match=r"in 4 bits \(Q4_0 or Q4_1\), and plain has none") as no:
        load_model(str(tmp_path / "plain"), dtype="4bit")
    assert "choose another dtype" in str(no.value)


def test_without_the_kernel_the_choice_is_refused_before_anything_is_read(monkeypatch):
    monkeypatch.setattr(placement, "kernel_works", lambda: False)
    with pytest.raises(ConfigError, match="dtype='4bit' needs torch's packed 4-bit kernel"):
        load_model(dtype="4bit")
