"""The short way for a step of one row says what the model's own forward says."""

import itertools
from dataclasses import replace

import pytest
import torch
from torch import nn

from engine.config import SamplingParams
from engine.runner import one_row
from engine.runner.architecture import AttentionShape, StockAnswer, ask_stock
from engine.runner.attention.reference import ReferenceAttention
from engine.runner.fused_layers import FusedNorm
from engine.runner.model_runner import ModelRunner
from engine.runner.one_row import OneRowModel, is_supported, one_row_model
from engine.runner.packed_linear import TORCH, choose_kernel
from tests.runner.builders import (
    FAMILIES,
    VOCAB_SIZE,
    answers,
    build_engine,
    build_loaded,
    build_stock,
    generate,
    random_prompt,
    stock_answer,
)

PACKS = choose_kernel(torch.ones(8, 8)) is not TORCH
needs_packing = pytest.mark.skipif(not PACKS, reason="this processor has no packing kernel")


class Counting(ModelRunner):
    """Notes how many steps went the short way, and the logits of all."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.num_short, self.logits = 0, []
        self.native = None  # it would be asked first
        model, self.one_row = self.one_row, self._short
        self.model = model

    def _short(self, *args):
        self.num_short += 1
        return self.model(*args)

    def forward(self, batch):
        self.logits.append(super().forward(batch))
        return self.logits[-1]


def run(loaded, prompt, *, short=True, **settings):
    """The tokens, the logits of every step, and how many steps went the short way."""
    engine, _ = build_engine(loaded, **settings)
    layout = engine.runner.layout
    sizes = {"num_blocks": layout.num_blocks, "block_size": layout.block_sizes}
    runner = Counting(loaded, groups=layout.groups, **sizes)
    if not short:
        runner.one_row = None
    engine.runner = runner
    engine.add_request("a", prompt, sampling=SamplingParams(max_tokens=12, ignore_eos=True))
    tokens = generate(engine)["a"]
    return tokens, torch.cat(runner.logits), runner.num_short


@needs_packing
@pytest.mark.parametrize(("architecture", "config"), FAMILIES)
@pytest.mark.parametrize("block_size", [1, 4])
def test_logits_are_those_of_the_layers_through_the_models_forward(
    architecture, config, block_size
):
    loaded = build_loaded(build_stock(architecture, **config))
    assert loaded.one_row is not None
    prompt = random_prompt(11)
    long, expected, num_long = run(loaded, prompt, short=False, block_size=block_size)
    short, found, num_short = run(loaded, prompt, block_size=block_size)
    assert (num_short, num_long) == (len(short) - 1, 0)
    assert len(short) == 12
    assert short == long
    assert torch.equal(found, expected)


@needs_packing
def test_blocks_that_stand_apart_are_gathered():
    loaded = build_loaded(build_stock())
    prompts = [random_prompt(9), random_prompt(14), random_prompt(5)]
    together = answers(loaded, prompts, block_size=2)
    engine, _ = build_engine(loaded, block_size=2)
    for index, prompt in enumerate(prompts):  # their blocks alternate while all three decode
        engine.add_request(
            str(index), prompt, sampling=SamplingParams(max_tokens=12, ignore_eos=True)
        )
    for _ in range(6):
        engine.step()
    tables = engine.scheduler.kv_cache_manager.get_block_tables("1")[0]
    assert any(after != before + 1 for before, after in itertools.pairwise(tables))
    engine.abort("0")
    engine.abort("2")
    left = generate(engine)["1"]
    assert left[:6] == together[1][6:12]


@needs_packing
def test_tokens_equal_generate_beyond_the_positions_that_are_computed_at_once(monkeypatch):
    monkeypatch.setattr(one_row, "POSITIONS_AT_ONCE", 4)
    prompt = random_prompt(7)
    expected = stock_answer(build_stock(), prompt, 20)
    loaded = build_loaded(build_stock())
    sampling = SamplingParams(max_tokens=20, ignore_eos=True)
    assert answers(loaded, [prompt], sampling=sampling) == [expected]
    assert sorted(loaded.one_row.turns) == [0, 1, 2, 3, 4, 5, 6]


@needs_packing
def test_half_precision_differs_by_rounding_alone():
    loaded = build_loaded(build_stock().bfloat16())
    _, expected, _ = run(loaded, random_prompt(11), short=False)
    _, found, num_short = run(loaded, random_prompt(11))
    assert num_short == 11
    error = (found[:3].float() - expected[:3].float()).abs().max()
    assert error < 0.02 * expected[:3].float().std()


def test_a_row_is_normed_as_the_stock_norm_rounds_it():
    from transformers.models.llama.modeling_llama import LlamaRMSNorm

    torch.manual_seed(0)
    for dtype, tolerance in ((torch.float32, 0.0), (torch.bfloat16, 2**-7)):
        stock = LlamaRMSNorm(576, eps=1e-5)
        nn.init.normal_(stock.weight)
        stock.to(dtype)
        row = (torch.randn(1, 576) * 3).to(dtype)
        found = FusedNorm(stock).of_row(row)
        assert found.dtype == dtype
        assert torch.allclose(found, stock(row), rtol=tolerance, atol=0)


@pytest.mark.parametrize("architecture", ["Qwen3", "Olmo2", "GPT2"])
def test_other_architectures_go_the_long_way(architecture):
    assert build_loaded(build_stock(architecture)).one_row is None


def test_a_stock_model_is_not_supported():
    assert not is_supported(build_stock())


@needs_packing
def test_a_form_that_says_something_else_is_not_taken():
    stock = build_stock()
    answer = ask_stock(stock, VOCAB_SIZE)
    loaded = build_loaded(stock)
    shape = AttentionShape(loaded.num_kv_heads, loaded.head_size, loaded.windows)
    assert isinstance(one_row_model(loaded.model, answer, shape), OneRowModel)
    wrong = StockAnswer(answer.input_ids, answer.logits.flip(-1))
    assert one_row_model(loaded.model, wrong, shape) is None


@needs_packing
def test_another_backend_gets_its_own_calls():
    class Other(ReferenceAttention):
        name = "other"

    loaded = build_loaded(build_stock())
    runner = ModelRunner(loaded, num_blocks=9, block_size=4, backend=Other())
    assert runner.one_row is None
    assert ModelRunner(replace(loaded), num_blocks=9, block_size=4).one_row is loaded.one_row
