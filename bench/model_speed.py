"""Tokens a second on the default model: Pagewalk beside transformers, same weights, dtype, threads."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch

from bench import workloads
from bench.apart import LLAMA, VLLM, run_apart
from bench.bookkeeping import scheduler_work
from bench.floor import Floor, read_bandwidth_gb_s
from bench.measure import Timing, alternating_medians, print_table, rounded
from bench.pagewalk import Pagewalk
from bench.references import (
    Prompts,
    default_model_folder,
    load_stock_model,
    time_generate,
    time_generate_batch,
)
from engine.runner.four_bit import FOUR_BIT
from engine.runner.packed_linear import weight_bytes


class Beside(Protocol):
    """Which other programs are measured after these."""

    vllm_python: str | None
    llama_python: str | None
    llama_models: list[str]


Timed = Callable[[Prompts, int], Timing]  # prompts and new tokens for each


class ModelBench:
    """All contenders over one set of weights; the prompts are drawn once and shared."""

    def __init__(
        self, model: str | None, *, dtype: str, num_threads: int, size: workloads.Size
    ) -> None:
        torch.set_num_threads(num_threads)
        bandwidth_gb_s = read_bandwidth_gb_s()  # first, while the machine holds nothing else
        print(f"Memory is read at {rounded(bandwidth_gb_s)} GB/s with {num_threads} threads")
        self.dtype = dtype
        self.stock_dtype = "bfloat16" if dtype == FOUR_BIT else dtype
        self.size = size
        self.num_threads = num_threads
        self.folder = model or default_model_folder()
        stock = load_stock_model(self.folder, getattr(torch, self.stock_dtype))
        self.pagewalk = Pagewalk(model, dtype)
        print(f"Pagewalk computes on {self.pagewalk.path}")
        native = self.pagewalk.loaded.native.model
        of_torch = weight_bytes(self.pagewalk.loaded.model)
        weight_mb = (of_torch if native is None else native.num_bytes) / 1e6
        self.floor = Floor(weight_mb, bandwidth_gb_s)
        self.contenders: dict[str, Timed] = {
            "pagewalk": self.pagewalk.time,
            "generate": functools.partial(time_generate, stock),
            "generate_batch": functools.partial(time_generate_batch, stock),
        }
        self.decode_prompts = {
            batch: workloads.decode_prompts(batch) for batch in workloads.BATCHES
        }
        self.prefill_prompt = workloads.random_prompt(workloads.PREFILL_TOKENS)
        self.shared_prompts = workloads.shared_prefix_prompts()
        for timed in self.contenders.values():  # warm up
            timed([workloads.random_prompt(16)], 4)

    def _medians(
        self, prompts: Prompts, num_new_tokens: int, figure: Callable[[Timing], float]
    ) -> dict[str, float]:
        runs = {
            name: lambda timed=timed: figure(timed(prompts, num_new_tokens))
            for name, timed in self.contenders.items()
        }
        found = alternating_medians(runs, num_rounds=self.size.num_rounds)
        return {name: rounded(value) for name, value in found.items()}

    def _method(self, what: str) -> str:
        rounds = self.size.num_rounds
        dtype = self.dtype
        if dtype != self.stock_dtype:
            dtype = f"{dtype} in pagewalk, {self.stock_dtype} in the others"
        return f"{what}; {dtype}, {self.num_threads} threads; median of {rounds} alternating rounds"

    def decode(self, batches: Sequence[int] = workloads.BATCHES) -> dict[str, Any]:
        num_new_tokens = self.size.num_new_tokens
        found = {
            str(batch): self._medians(
                self.decode_prompts[batch], num_new_tokens, lambda timing: timing.decode_tok_s
            )
            for batch in batches
        }
        prompt = workloads.DECODE_PROMPT_TOKENS
        method = self._method(
            f"{prompt} prompt + {num_new_tokens} greedy tokens; after the first ones"
        )
        floor = {} if 1 not in batches else self._floor_figures(found["1"]["pagewalk"])
        print_table(
            "Decode, tokens/s",
            f"{method}\n  {self._floor_method()}",
            ("batch", *self.contenders, "pagewalk's share of the floor"),
            [
                (batch, *row.values(), f"{floor['share']:.0%}" if batch == "1" else "")
                for batch, row in found.items()
            ],
        )
        path = self.pagewalk.path
        return {"decode_path": path, "decode_tok_s": found, "decode_floor": floor}

    def _floor_method(self) -> str:
        floor = self.floor
        return (
            f"floor: {rounded(floor.weight_mb)} MB of weights a step at "
            f"{rounded(floor.bandwidth_gb_s)} GB/s allow {rounded(floor.tok_s)} tokens/s at batch 1"
        )

    def _floor_figures(self, tok_s: float) -> dict[str, float]:
        """What `tok_s` at batch 1 reaches of it."""
        return {
            "read_gb_s": rounded(self.floor.bandwidth_gb_s),
            "weight_mb": rounded(self.floor.weight_mb),
            "tok_s": rounded(self.floor.tok_s),
            "share": rounded(tok_s / self.floor.tok_s),
        }

    def prefill(self) -> dict[str, Any]:
        num_tokens = workloads.PREFILL_TOKENS
        found = self._medians(
            [self.prefill_prompt], 1, lambda timing: num_tokens / timing.first_token_s
        )
        print_table(
            f"Prefill of {num_tokens}, tokens/s",
            self._method("one prompt, until its first token; cold cache"),
            tuple(found),
            [tuple(found.values())],
        )
        return {"prefill_512_tok_s": found}

    def shared_prefix(self) -> dict[str, Any]:
        found = self._medians(
            self.shared_prompts, workloads.SHARED_NEW_TOKENS, lambda timing: timing.total_s
        )
        what = (
            f"{workloads.SHARED_REQUESTS} requests at once: {workloads.SHARED_PREFIX_TOKENS} shared "
            f"+ {workloads.OWN_TOKENS} own + {workloads.SHARED_NEW_TOKENS} new tokens; cold cache"
        )
        print_table("Shared prefix, s", self._method(what), tuple(found), [tuple(found.values())])
        return {"shared_prefix_s": found}

    def recording(self) -> dict[str, Any]:
        """Appending the events of a real run to a new trace, as a share of that run's time."""
        share = self.pagewalk.recording_share(self.decode_prompts[8], self.size.num_new_tokens)
        print_table(
            "Recording, share of a model step",
            "batch 8: seconds to append the run's own events to a trace / seconds of the run",
            ("share",),
            [(f"{share:.4%}",)],
        )
        return {"recording_share_of_step": share}

    def beside(self, options: Beside) -> dict[str, Any]:
        """vLLM's and llama.cpp's figures, as far as an interpreter with them was named."""
        work = {
            "model": self.folder,
            "dtype": self.stock_dtype,
            "num_threads": self.num_threads,
            "num_rounds": self.size.num_rounds,
            "num_new_tokens": self.size.num_new_tokens,
            "decode": {str(batch): prompts for batch, prompts in self.decode_prompts.items()},
            "prefill": self.prefill_prompt,
            "shared_prefix": self.shared_prompts,
            "num_shared_new_tokens": workloads.SHARED_NEW_TOKENS,
            "scheduler": scheduler_work(self.size),
            "llama_models": options.llama_models,
        }
        found: dict[str, Any] = {"vllm": None, "llama_cpp": None}
        if options.vllm_python:
            found["vllm"] = run_apart(options.vllm_python, VLLM, work)
            self._print_beside("vLLM", "CPU backend, eager, blocks of 16", found["vllm"])
        if options.llama_python:
            found["llama_cpp"] = run_apart(options.llama_python, LLAMA, work)
            self._print_beside("llama.cpp", "one request", found["llama_cpp"])
        return found

    def _print_beside(self, name: str, what: str, found: dict[str, Any]) -> None:
        print_table(
            f"{name} {found['version']}, in its own process after the others",
            self._method(f"the same prompts; {what}"),
            ("figure", "value"),
            [(key, value) for key, value in found.items() if key != "version"],
        )
