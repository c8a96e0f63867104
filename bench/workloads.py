"""The prompts that all contenders get. Token ids are drawn at random: speed does not depend on
what a text says, and nothing is shared by accident."""

import random
from typing import NamedTuple

VOCAB_SIZE = 49_152
FIRST_ORDINARY_ID = 20  # the ids below are control tokens of SmolLM2

BATCHES = (1, 8, 32)
DECODE_PROMPT_TOKENS = 64
PREFILL_TOKENS = 512
SHARED_REQUESTS = 16
SHARED_PREFIX_TOKENS = 256
OWN_TOKENS = 8
SHARED_NEW_TOKENS = 16
RUNNING_REQUESTS = 256
SCHEDULER_PROMPT_TOKENS = 48


class Size(NamedTuple):
    """How long a run of the benchmark is."""

    num_rounds: int
    num_new_tokens: int
    num_scheduler_steps: int
    num_trace_steps: int


FULL = Size(num_rounds=3, num_new_tokens=32, num_scheduler_steps=400, num_trace_steps=10_000)
QUICK = Size(num_rounds=1, num_new_tokens=12, num_scheduler_steps=60, num_trace_steps=1_000)

_draw = random.Random(20_251_129)


def random_prompt(num_tokens: int) -> list[int]:
    return [_draw.randrange(FIRST_ORDINARY_ID, VOCAB_SIZE) for _ in range(num_tokens)]


def decode_prompts(num_requests: int) -> list[list[int]]:
    return [random_prompt(DECODE_PROMPT_TOKENS) for _ in range(num_requests)]


def shared_prefix_prompts() -> list[list[int]]:
    prefix = random_prompt(SHARED_PREFIX_TOKENS)
    return [prefix + random_prompt(OWN_TOKENS) for _ in range(SHARED_REQUESTS)]


def scheduler_prompts() -> list[list[int]]:
    return [random_prompt(SCHEDULER_PROMPT_TOKENS) for _ in range(RUNNING_REQUESTS)]
