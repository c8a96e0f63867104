"""transformers' own two ways to generate, timed token by token on a stock model."""

import logging
import time
from collections.abc import Sequence
from typing import Any

import torch
from transformers import (
    AutoModelForCausalLM,
    ContinuousBatchingConfig,
    GenerationConfig,
    StoppingCriteria,
    StoppingCriteriaList,
)

from bench.measure import Timing
from engine.runner.default_model import NAME
from engine.runner.model_folder import models_root

PAGE_SIZE = 16

Prompts = Sequence[Sequence[int]]


def load_stock_model(folder: str, dtype: torch.dtype) -> Any:
    """The stock model with its own attention; it never ends a text by itself."""
    logging.getLogger("ContinuousBatchingLogger").setLevel(logging.CRITICAL)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)
    model.generation_config.eos_token_id = None
    return model.eval()


class _Clock(StoppingCriteria):
    """Never stops anything; notes when generate() has another token."""

    def __init__(self) -> None:
        self.times_s: list[float] = []

    def __call__(self, input_ids: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
        self.times_s.append(time.perf_counter())
        return torch.zeros(input_ids.shape[0], dtype=torch.bool)


def _greedy(num_new_tokens: int) -> GenerationConfig:
    """Greedy, and without an end-of-text token, so that every request gets all its tokens."""
    return GenerationConfig(do_sample=False, max_new_tokens=num_new_tokens, pad_token_id=0)


def time_generate(model: Any, prompts: Prompts, num_new_tokens: int) -> Timing:
    """generate(): one padded batch; prompts of equal length here, so nothing is padded."""
    clock = _Clock()
    batch = torch.tensor(prompts)  # [num_requests, num_prompt_tokens]
    start_s = time.perf_counter()
    with torch.inference_mode():
        model.generate(
            batch,
            attention_mask=torch.ones_like(batch),
            generation_config=_greedy(num_new_tokens),
            stopping_criteria=StoppingCriteriaList([clock]),
        )
    assert len(clock.times_s) == num_new_tokens
    return Timing(start_s, [clock.times_s] * len(prompts))


def time_generate_batch(model: Any, prompts: Prompts, num_new_tokens: int) -> Timing:
    """generate_batch(): continuous batching with prefix sharing.

    The clock starts when its scheduler takes up the first request, so starting and stopping its
    thread is not counted.
    """
    num_tokens = sum(len(prompt) + num_new_tokens for prompt in prompts)
    num_pages = sum(-(-(len(prompt) + num_new_tokens) // PAGE_SIZE) + 1 for prompt in prompts)
    outputs = model.generate_batch(
        inputs=[list(prompt) for prompt in prompts],
        generation_config=_greedy(num_new_tokens),
        continuous_batching_config=ContinuousBatchingConfig(
            page_size=PAGE_SIZE, num_blocks=num_pages + 8, max_batch_tokens=max(256, num_tokens)
        ),
        record_timestamps=True,
        max_new_tokens=num_new_tokens,
    )
    assert all(len(output.generated_tokens) == num_new_tokens for output in outputs.values())
    start_s = min(output.lifespan[0] for output in outputs.values())
    return Timing(start_s, [output.timestamps for output in outputs.values()])


def default_model_folder() -> str:
    """The folder into which the set-up converted the packaged model."""
    return str(models_root() / NAME)
