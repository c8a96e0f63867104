"""Which prompts are refused at once, because they could never be served."""

from collections.abc import Sequence

from engine.config import EngineConfig
from engine.core.kv_cache_spec import KVCacheSpec, cdiv
from engine.errors import ConfigError, Sentence


def check_admissible(
    config: EngineConfig, specs: Sequence[KVCacheSpec], num_prompt_tokens: int, max_tokens: int
) -> None:
    """ConfigError if the prompt leaves no room for an answer, or would outgrow the whole pool.

    The second is checked with `refuse_oversized` only: vLLM 0.17.1 admits such a request, preempts
    it when the pool is full, and lets it wait for ever (SEMANTICS 7, `oversized`).
    """
    limit = config.max_model_len
    if num_prompt_tokens >= limit:
        raise ConfigError.of(
            "prompt.too_many_tokens",
            "the prompt has {tokens} tokens, but max_model_len={limit} leaves room for {most} and "
            "one answer: shorten it",
            tokens=num_prompt_tokens,
            limit=limit,
            most=limit - 1,
        )
    if not config.refuse_oversized:
        return
    needed = num_blocks_ever_held(config, specs, num_prompt_tokens + max_tokens)
    usable = config.num_blocks - 1
    if needed > usable:
        capped = ""
        if num_prompt_tokens + max_tokens > limit:
            capped = Sentence.of(
                "oversized.capped", ", capped by max_model_len={limit},", limit=limit
            )
        raise ConfigError.of(
            "oversized",
            "{tokens} prompt tokens and up to {max_tokens} new ones{capped} need {needed} blocks of "
            "{size} tokens, but the pool has {usable}: raise num_blocks to {enough}, lower "
            "max_tokens, or shorten the prompt (vLLM would preempt the request and let it wait for "
            "ever)",
            tokens=num_prompt_tokens,
            max_tokens=max_tokens,
            capped=capped,
            needed=needed,
            size=config.block_size,
            usable=usable,
            enough=needed + 1,
        )


def num_blocks_ever_held(
    config: EngineConfig, specs: Sequence[KVCacheSpec], num_tokens: int
) -> int:
    """The most blocks that a request of `num_tokens` in all holds at once; its last token has
    no K and V, and so no slot."""
    num_slots = min(num_tokens, config.max_model_len) - 1
    return sum(
        min(
            cdiv(num_slots, spec.block_size),
            spec.max_blocks_per_request(num_slots, config.max_num_batched_tokens),
        )
        for spec in specs
    )
