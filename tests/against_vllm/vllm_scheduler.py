"""vLLM's own scheduler for the settings of a workload, without a model; part of record.py."""

from types import SimpleNamespace
from typing import Any

import torch
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.kv_cache_interface import (
    ChunkedLocalAttentionSpec,
    FullAttentionSpec,
    KVCacheConfig,
    KVCacheGroupSpec,
    SlidingWindowSpec,
)


def scheduler_of(config: dict[str, Any]) -> Scheduler:
    """As vLLM's engine core would make it, of those settings that Scheduler reads."""
    spec = config["spec"]
    speculative = spec and SimpleNamespace(
        num_speculative_tokens=spec["num_speculative_tokens"],
        use_eagle=lambda: spec["method"] == "eagle",
        uses_draft_model=lambda: spec["method"] == "draft_model",
    )
    lora = config["max_loras"] and SimpleNamespace(max_loras=config["max_loras"])
    vllm_config = SimpleNamespace(
        scheduler_config=SimpleNamespace(
            max_num_seqs=config["max_num_seqs"],
            max_num_batched_tokens=config["max_num_batched_tokens"],
            max_num_scheduled_tokens=None,
            enable_chunked_prefill=config["enable_chunked_prefill"],
            long_prefill_token_threshold=config["long_prefill_token_threshold"],
            policy=config["policy"],
            async_scheduling=False,
            disable_chunked_mm_input=False,
        ),
        cache_config=SimpleNamespace(
            num_gpu_blocks=config["num_blocks"],
            block_size=config["block_size"],
            enable_prefix_caching=config["enable_prefix_caching"],
            mamba_cache_mode="none",
        ),
        model_config=SimpleNamespace(
            max_model_len=config["max_model_len"],
            is_encoder_decoder=False,
            is_multimodal_model=False,
            enable_return_routed_experts=False,
            multimodal_config=None,
            skip_tokenizer_init=True,
        ),
        lora_config=lora,
        kv_events_config=SimpleNamespace(
            enable_kv_cache_events=True, publisher="null", topic="", endpoint=None
        ),
        parallel_config=SimpleNamespace(
            data_parallel_index=0,
            data_parallel_rank=0,
            decode_context_parallel_size=1,
            prefill_context_parallel_size=1,
            pipeline_parallel_size=1,
        ),
        observability_config=SimpleNamespace(kv_cache_metrics=False, enable_mfu_metrics=False),
        kv_transfer_config=None,
        ec_transfer_config=None,
        speculative_config=speculative,
    )
    return Scheduler(
        vllm_config=vllm_config,
        kv_cache_config=kv_cache_config_of(config),
        structured_output_manager=SimpleNamespace(should_advance=lambda request: False),
        block_size=config["block_size"],
        log_stats=True,
    )


def kv_cache_config_of(config: dict[str, Any]) -> KVCacheConfig:
    groups = config["kv_groups"] or [{"type": "full"}]
    return KVCacheConfig(
        num_blocks=config["num_blocks"],
        kv_cache_tensors=[],
        kv_cache_groups=[
            KVCacheGroupSpec([f"layer{number}"], spec_of(group, config["block_size"]))
            for number, group in enumerate(groups)
        ],
    )


def spec_of(group: dict[str, Any], block_size: int) -> Any:
    shape = {
        "block_size": group.get("block_size", block_size),
        "num_kv_heads": 1,
        "head_size": 1,
        "dtype": torch.float32,
    }
    if group["type"] == "sliding":
        return SlidingWindowSpec(sliding_window=group["window"], **shape)
    if group["type"] == "chunked_local":
        return ChunkedLocalAttentionSpec(attention_chunk_size=group["chunk"], **shape)
    return FullAttentionSpec(**shape)
