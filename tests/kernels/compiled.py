"""Compiles what the launchers launch, for a GPU that is not there: `python -m tests.kernels.compiled`.

A driver that only claims to be the GPU stands in for CUDA's, and every launch stops after the
compiler. So the launcher's own constants, argument types and alignments are what is compiled, by
the real compiler and the real assembler. Prints one JSON line per kernel.
"""

import functools
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
import triton
from torch import Tensor
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction

from engine.runner.attention.triton_backend import PagedPlan, paged_attention, write_kv
from engine.runner.fused_kernels import Norm, Rotary, silu_mul

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


class ClaimedGpu(DriverBase):  # type: ignore[misc]
    """A device of one compute capability on which nothing can run."""

    def __init__(self, capability: int) -> None:
        super().__init__()
        self.target = GPUTarget("cuda", capability, 32)

    @classmethod
    def is_active(cls) -> bool:
        return True

    def map_python_to_cpp_type(self, ty: str) -> str:
        return ty

    def get_current_target(self) -> GPUTarget:
        return self.target

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cpu")

    def get_benchmarker(self) -> Any:
        raise AssertionError("nothing runs here")

    def get_current_device(self) -> int:
        return self.target.arch  # the cache of compiled kernels is by device

    def get_current_stream(self, device: int) -> int:
        return 0


class Case(NamedTuple):
    """A call of paged_attention."""

    name: str
    dtype: str = "bf16"
    query_lens: tuple[int, ...] = (1, 1)
    num_kv_heads: int = 3
    group: int = 3
    head_size: int = 64
    block_size: int = 16
    window: int | None = None
    num_splits: int = 1


CASES = (
    Case("decode of SmolLM2", num_splits=8),
    Case("decode of Qwen2-0.5B in blocks of 1", num_kv_heads=2, group=7, block_size=1),
    Case("decode of 71 heads on one, in float16", dtype="fp16", num_kv_heads=1, group=71),
    Case("decode in float32, heads of 256", dtype="fp32", group=1, head_size=256, num_splits=2),
    Case("decode with a window, split", window=300, block_size=256, num_splits=3),
    Case("decode, heads of 16 in blocks of 3", group=7, head_size=16, block_size=3),
    Case(
        "decode, heads of 128", dtype="fp16", num_kv_heads=8, group=4, head_size=128, num_splits=64
    ),
    Case("prefill of SmolLM2", query_lens=(200, 1, 30)),
    Case("prefill in float32", dtype="fp32", query_lens=(200, 1, 30)),
    Case("prefill, heads of 80, a window", query_lens=(64,), head_size=80, window=50),
    Case("prefill, heads of 128 in blocks of 3", query_lens=(64,), head_size=128, block_size=3),
    Case("prefill, 7 heads of 16, split", query_lens=(9, 3), group=7, head_size=16, num_splits=2),
    Case("prefill, heads of 256, in float16", "fp16", (64, 64), group=4, head_size=256),
)


def launches() -> Iterator[tuple[str, Callable[[], object]]]:
    for case in CASES:
        yield case.name, functools.partial(attend, case)
    yield "write_kv", write
    yield "fused", small_steps


def attend(case: Case) -> Tensor:
    starts = [0]
    for num_queries in case.query_lens:
        starts.append(starts[-1] + num_queries)
    num_seqs = len(case.query_lens)
    dtype, heads = DTYPES[case.dtype], case.num_kv_heads * case.group
    one_each = set(case.query_lens) == {1}
    plan = PagedPlan(
        slot_mapping=torch.zeros(starts[-1], dtype=torch.int64),
        block_table=torch.zeros((num_seqs, 7), dtype=torch.int32),
        seq_lens=torch.tensor(case.query_lens, dtype=torch.int32),
        query_start=torch.tensor(starts, dtype=torch.int32),
        max_seq_len=1024,
        window=case.window,
        query_starts=None if one_each else starts,
    )
    cache = torch.zeros(2, 8, case.block_size, case.num_kv_heads, case.head_size, dtype=dtype)
    query = torch.zeros(starts[-1], heads, case.head_size, dtype=dtype)
    return paged_attention(query, cache, plan=plan, scale=0.1, num_splits=case.num_splits)


def write() -> None:
    cache = torch.zeros(2, 8, 16, 3, 64, dtype=torch.bfloat16)
    key = torch.zeros(5, 3, 64, dtype=torch.bfloat16)
    write_kv(key, key, cache, torch.zeros(5, dtype=torch.int64))


def small_steps() -> None:
    """What FusedModel does between the multiplications of SmolLM2."""
    hidden, gate_up, qkv = (
        torch.zeros(2, size, dtype=torch.bfloat16) for size in (576, 3072, 15 * 64)
    )
    norm = Norm(hidden[0], 1e-5)
    norm(hidden)
    norm(hidden, hidden)
    silu_mul(gate_up)
    numbers, angles = torch.zeros(2, dtype=torch.int32), torch.zeros(8, 32)
    cache = torch.zeros(2, 8, 16, 3, 64, dtype=torch.bfloat16)
    Rotary(angles, angles, num_heads=9, num_kv_heads=3)(qkv, numbers, cache, numbers)


def compile_all(capability: int) -> Iterator[dict[str, object]]:
    """What the compiler made of each kernel that the launches would start."""
    found: list[Any] = []
    run = JITFunction.run

    def compile_only(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> None:
        found.append((self.__name__, run(self, *args, grid=grid, warmup=True, **kwargs)))

    driver.set_active(ClaimedGpu(capability))
    JITFunction.run = compile_only
    try:
        for case, launch in launches():
            found.clear()
            launch()
            for kernel, binary in found:
                ptx = binary.asm["ptx"]
                yield {
                    "capability": capability,
                    "case": case,
                    "kernel": kernel,
                    "shared_bytes": binary.metadata.shared,
                    "is_elf": binary.asm["cubin"].startswith(b"\x7fELF"),
                    "ptx_target": next(x for x in ptx.splitlines() if x.startswith(".target")),
                    "tensor_cores": "mma.sync" in ptx or "wgmma.mma_async" in ptx,
                }
    finally:
        JITFunction.run = run


if __name__ == "__main__":
    assert not triton.knobs.runtime.interpret, "the interpreter compiles nothing"
    for capability in map(int, sys.argv[1:]):
        for row in compile_all(capability):
            sys.stdout.write(json.dumps(row) + "\n")
