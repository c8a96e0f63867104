"""Bytes: of the weights, of the cache, and what is left for a cache. No measuring run."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

CPU_SHARE = 0.5  # of what is free: other programs live there too
CUDA_SHARE = 0.9  # vLLM's gpu_memory_utilization
CGROUPS, OWN_CGROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
LIMITS = (  # of a control group, version 2 and 1: its most, what it holds, and how much of that is
    ("memory.max", "memory.current", "inactive_file"),  # files that are given back on demand
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def weight_bytes(model: Any) -> int:
    """Parameters and buffers, each once although tied ones have two names."""
    tensors = {t.data_ptr(): t for t in (*model.parameters(), *model.buffers()) if t.numel()}
    return sum(t.numel() * t.element_size() for t in tensors.values())


def free_bytes(device: torch.device) -> int:
    """Memory that nobody uses at this moment on `device`."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    return min([_free_host_bytes(), *_left_by_cgroups()])


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


def _left_by_cgroups() -> Iterator[int]:
    """What the limits around this process leave, a container's say: the machine may have more."""
    try:
        lines = OWN_CGROUPS.read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        root = CGROUPS / controllers
        group = root / path.lstrip("/")  # inside of a container it may be there as `root` alone
        for folder in (group, *group.parents[: len(group.parts) - len(root.parts)]):
            yield from _left_by(folder)


def _left_by(folder: Path) -> Iterator[int]:
    """Nothing where the group sets no limit."""
    for most, held, files in LIMITS:
        try:
            limit, used = (int((folder / name).read_text()) for name in (most, held))
            lines = (folder / "memory.stat").read_text().splitlines()
        except (OSError, ValueError):
            continue
        stat = dict(line.split(maxsplit=1) for line in lines)
        yield max(0, limit - used + int(stat.get(files, 0)))
