"""Greedy tokens equal transformers' own `generate`, whatever the cache did on the way (fp32)."""

import copy
import random
from typing import Any

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from engine.config import EngineConfig, SamplingParams
from engine.engine import Engine
from engine.runner.model_folder import say_nothing
from engine.runner.model_loader import LoadedModel, _find, assemble, load_model
from engine.runner.model_runner import ModelRunner
from engine.trace.events import BlocksTouched, RequestPreempted

LENGTHS = (1, 2, 7, 16, 17, 33, 64, 130, 301, 600)
MAX_TOKENS = 8


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def build_prompts(vocab_size: int, lengths=LENGTHS) -> list[list[int]]:
    """Prompts of the given lengths; every second one begins as the one before it."""
    rng = random.Random(7)
    prompts: list[list[int]] = []
    for place, length in enumerate(lengths):
        fresh = [rng.randrange(3, vocab_size) for _ in range(length)]
        if place % 2:
            shared = prompts[-1][: length - 1]
            fresh[: len(shared)] = shared
        prompts.append(fresh)
    return prompts


def generate(stock: Any, prompts: list[list[int]]) -> list[list[int]]:
    with torch.inference_mode():
        return [
            stock.generate(
                torch.tensor([prompt]),
                attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
                max_new_tokens=MAX_TOKENS,
                min_new_tokens=MAX_TOKENS,
                do_sample=False,
                pad_token_id=0,
            )[0, len(prompt) :].tolist()
            for prompt in prompts
        ]


def run(
    loaded: LoadedModel, prompts: list[list[int]], *, together: bool = True, **settings: Any
) -> tuple[list[list[int]], list[Any]]:
    """The engine's greedy tokens, and its events. Alone: one after the other, on one cache."""
    given = {"block_size": 16, "num_blocks": 1500, "max_num_batched_tokens": 64, **settings}
    config = EngineConfig(max_num_seqs=7, max_model_len=640, recompute_invalid_hits=True, **given)
    runner = ModelRunner(
        loaded, num_blocks=config.num_blocks, block_size=config.block_size, max_model_len=640
    )
    events: list[Any] = []
    engine = Engine(config, runner, emit=events.append)
    tokens: dict[str, list[int]] = {}
    for place, prompt in enumerate(prompts):
        sampling = SamplingParams(max_tokens=MAX_TOKENS, ignore_eos=True)
        engine.add_request(str(place), prompt, sampling=sampling)
        while engine.has_unfinished_requests and (not together or place == len(prompts) - 1):
            for output in engine.step():
                tokens.setdefault(output.request_id, []).extend(output.token_ids)
            assert not engine.is_stuck
    return [tokens[str(place)] for place in range(len(prompts))], events


def tiny(model_class: Any, config_class: Any, **options: Any) -> Any:
    torch.manual_seed(0)
    config = config_class(
        vocab_size=101,
        hidden_size=48,
        intermediate_size=64,
        num_hidden_layers=3,
        num_attention_heads=6,
        num_key_value_heads=2,
        max_position_embeddings=700,
        eos_token_id=None,
        bos_token_id=None,
        pad_token_id=0,
        **options,
    )
    return model_class(config).eval()


@pytest.fixture(scope="module", params=["llama", "qwen2"])
def tiny_pair(request, default_model):
    classes = {"llama": (LlamaForCausalLM, LlamaConfig), "qwen2": (Qwen2ForCausalLM, Qwen2Config)}
    stock = tiny(*classes[request.param])
    ours = assemble(copy.deepcopy(stock), default_model.tokenizer.pretrained, name=request.param)
    prompts = build_prompts(101)
    return ours, prompts, generate(stock, prompts)


@pytest.fixture(scope="module")
def default_model():
    return load_model(dtype="float32", num_threads=1)


@pytest.fixture(scope="module")
def default_answers(default_model):
    prompts = build_prompts(default_model.vocab_size)
    stock = AutoModelForCausalLM.from_pretrained(
        _find(None, say_nothing)[0], dtype=torch.float32
    ).eval()
    return prompts, generate(stock, prompts)


@pytest.mark.parametrize("together", [False, True], ids=["alone", "together"])
@pytest.mark.parametrize("budget", [7, 64])
@pytest.mark.parametrize("block_size", [1, 4, 16, 32])
def test_a_tiny_models_tokens_equal_generate(tiny_pair, block_size, budget, together):
    loaded, prompts, expected = tiny_pair
    tokens, events = run(
        loaded, prompts, together=together, block_size=block_size, max_num_batched_tokens=budget
    )
    assert tokens == expected
    assert any(isinstance(event, BlocksTouched) for event in events)


def test_tokens_equal_generate_without_prefix_caching(tiny_pair):
    loaded, prompts, expected = tiny_pair
    tokens, events = run(loaded, prompts, enable_prefix_caching=False)
    assert tokens == expected
    assert not any(isinstance(event, BlocksTouched) for event in events)


@pytest.mark.parametrize("policy", ["fcfs", "priority"])
def test_tokens_equal_generate_through_preemption(tiny_pair, policy):
    loaded, prompts, expected = tiny_pair
    tokens, events = run(loaded, prompts[:9], block_size=4, num_blocks=82, policy=policy)
    assert tokens == expected[:9]
    assert any(isinstance(event, RequestPreempted) for event in events)


@pytest.mark.parametrize(
    ("block_size", "budget", "together"), [(16, 64, True), (4, 7, True), (32, 64, False)]
)
def test_the_default_models_tokens_equal_generate(
    default_model, default_answers, block_size, budget, together
):
    prompts, expected = default_answers
    tokens, _ = run(
        default_model,
        prompts,
        together=together,
        block_size=block_size,
        max_num_batched_tokens=budget,
    )
    assert tokens == expected


def test_a_sliding_windows_tokens_equal_generate(default_model):
    stock = tiny(
        Qwen2ForCausalLM,
        Qwen2Config,
        use_sliding_window=True,
        sliding_window=9,
        max_window_layers=0,
        attn_implementation="eager",
    )
    prompts = build_prompts(101, (1, 8, 9, 10, 40))
    expected = generate(stock, prompts)
    ours = assemble(copy.deepcopy(stock), default_model.tokenizer.pretrained, name="windowed")
    assert set(ours.windows) == {9}
    tokens, _ = run(ours, prompts, block_size=4, max_num_batched_tokens=16)
    assert tokens == expected
