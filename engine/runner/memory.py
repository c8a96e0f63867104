"""Bytes: of the weights, of the cache, and what is left for a cache. No measuring run."""

import os
from typing import Any

import torch

CPU_SHARE = 0.5  # of what is free: other programs live there too
CUDA_SHARE = 0.9  # vLLM's gpu_memory_utilization


def weight_bytes(model: Any) -> int:
    """Parameters and buffers, each once although tied ones have two names."""
    tensors = {t.data_ptr(): t for t in (*model.parameters(), *model.buffers()) if t.numel()}
    return sum(t.numel() * t.element_size() for t in tensors.values())


def free_bytes(device: torch.device) -> int:
    """Memory that nobody uses at this moment on `device`."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    return _free_host_bytes()


def available_kv_bytes(device: torch.device, share: float | None = None) -> int:
    """What a KV cache may take of the free memory once the model is loaded.

    vLLM 0.17.1: v1/worker/gpu_worker.py Worker.determine_available_memory
    """
    if share is None:
        share = CUDA_SHARE if device.type == "cuda" else CPU_SHARE
    return int(free_bytes(device) * share)


def _free_host_bytes() -> int:
    """MemAvailable where Linux says it, else a half of the physical memory, else 4 GiB."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:  # noqa: PTH123
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, ValueError, OSError):
        return 4 << 30
