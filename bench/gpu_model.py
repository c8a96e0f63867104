"""A decode step and a prefill of the whole model: SmolLM2-135M's shape with random weights, since
speed does not depend on what they say."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

from bench.gpu_attention import HEAD_SIZE, NUM_HEADS, NUM_KV_HEADS, group_batch
from bench.gpu_clock import MAX_CACHED_TOKENS, Clock
from bench.gpu_logits import Float32Step, complaint, off_by
from bench.gpu_report import Report, number
from engine.runner.attention.plug import ATTENTION_NAME, STEP_ARGUMENT, PagedStep
from engine.runner.attention.triton_backend import TritonAttention
from engine.runner.decode_graph import CudaRecorder, DecodeGraphs
from engine.runner.decode_step import DecodeStep
from engine.runner.step_buffer import DecodeRow

BLOCK_SIZE = 16
TOKEN_ID = 5
PROMPT_TOKENS = 128


class Eager:
    """Instead of a graph of a step: the step itself, each time."""

    def __init__(self, work: Callable[[], Tensor]) -> None:
        self.work, self.output = work, work()

    def replay(self) -> None:
        self.output = self.work()


class Path(NamedTuple):
    """One way to compute a decode step. Each fills its inputs first, as the engine has to."""

    fuse: bool
    is_captured: bool = True
    is_served: bool = False  # for the longest request there may be, as the engine captures it


PATHS = {
    "stock": Path(fuse=False, is_captured=False),
    "graph": Path(fuse=False),
    "fused": Path(fuse=True),
    "fused_served": Path(fuse=True, is_served=True),
}


class ModelBench:
    def __init__(self, clock: Clock, report: Report) -> None:
        self.clock, self.report = clock, report
        torch.manual_seed(0)
        config = LlamaConfig(
            vocab_size=clock.size.vocab_size,
            hidden_size=NUM_HEADS * HEAD_SIZE,
            intermediate_size=1536,
            num_hidden_layers=clock.size.num_layers,
            num_attention_heads=NUM_HEADS,
            num_key_value_heads=NUM_KV_HEADS,
            max_position_embeddings=clock.size.max_model_len
            + PROMPT_TOKENS
            + clock.size.new_tokens,
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=None,
            pad_token_id=0,
        )
        self.model: Any = LlamaForCausalLM(config).to(clock.device).eval()
        for parameter in self.model.parameters():  # and not the angles of the positions
            parameter.data = parameter.data.to(clock.dtype)
        self.exact = Float32Step(self.model)
        self.weight_bytes = sum(p.numel() * p.element_size() for p in self.model.parameters())

    def measure(self) -> None:
        """transformers' own generate() first: afterwards the model's attention is ours."""
        with self.report.attempt("generate"):
            self.generate()
        self.model.set_attn_implementation(ATTENTION_NAME)
        with self.report.attempt("prefill_step"):
            self.prefill()
        with self.report.attempt("decode_step"):
            self.decode()

    def generate(self) -> None:
        rows, new = self.report.rows("generate"), self.clock.size.new_tokens
        options = GenerationConfig(
            do_sample=False, max_new_tokens=new, min_new_tokens=new, pad_token_id=0
        )
        for batch in self.clock.size.batches:
            ids = torch.randint(0, 300, (batch, PROMPT_TOKENS), device=self.clock.device)
            mask = torch.ones_like(ids)
            run = functools.partial(
                self.model.generate, ids, attention_mask=mask, generation_config=options
            )
            run()
            total_s = self.clock.wall_s(run, rounds=3)
            rows.append({"batch": batch, "ms_per_step": number(total_s / new * 1e3)})
        self.report.table(
            "transformers generate", f"{PROMPT_TOKENS} + {new} tokens, prefill included", rows
        )

    def caches(self, num_blocks: int) -> list[Tensor]:
        shape = (2, num_blocks, BLOCK_SIZE, NUM_KV_HEADS, HEAD_SIZE)
        return [
            torch.randn(shape, device=self.clock.device, dtype=self.clock.dtype)
            for _ in range(self.clock.size.num_layers)
        ]

    @torch.inference_mode()
    def prefill(self) -> None:
        rows = self.report.rows("prefill_step")
        for batch, length in self.clock.size.prompts:
            with self.report.attempt(f"prefill_step {batch} x {length}"):
                rows.append(self._prefill(batch, length))
        self.report.table("Prefill step", "stock model, our attention, eager", rows)

    def _prefill(self, batch: int, length: int) -> dict[str, Any]:
        num_blocks = -(-length // BLOCK_SIZE)
        tables = torch.randperm(batch * num_blocks).view(batch, -1).tolist()
        group = group_batch(self.clock, tables, length, block_size=BLOCK_SIZE, query_len=length)
        caches = self.caches(batch * num_blocks)
        plan = TritonAttention().plan(group, window=None, dtype=self.clock.dtype)
        step = PagedStep(TritonAttention(), tuple(caches), (plan,) * len(caches))
        ids = torch.randint(0, 300, (1, batch * length), device=self.clock.device)
        positions = torch.arange(length, device=self.clock.device).repeat(batch)[None]
        last = torch.arange(1, batch + 1, device=self.clock.device) * length - 1
        run = functools.partial(
            self.model, input_ids=ids, position_ids=positions, use_cache=False,
            logits_to_keep=last, **{STEP_ARGUMENT: step},
        )  # fmt: skip
        run()
        step_s = self.clock.wall_s(run, rounds=5)
        return {
            "batch": batch,
            "tokens": length,
            "ms": number(step_s * 1e3),
            "tokens_s": number(batch * length / step_s),
        }

    @torch.inference_mode()
    def decode(self) -> None:
        rows = self.report.rows("decode_step")
        for batch in self.clock.size.batches:
            for context in self.clock.size.contexts:
                if batch * context <= MAX_CACHED_TOKENS:
                    with self.report.attempt(f"decode_step {batch} x {context}"):
                        rows.append(self._decode(batch, context))
        self.report.table(
            "Decode step, ms",
            "weights and K and V over the speed of a copy = the floor; stock: eager; graph: the same, "
            "captured; fused: captured, for just this context; served: captured for "
            f"{self.clock.size.max_model_len} tokens; each with filling the inputs; off_by: logits, "
            "from float32's",
            rows,
        )

    def _decode(self, batch: int, context: int) -> dict[str, Any]:
        """The step whose token is the last of `context`."""
        num_blocks = -(-context // BLOCK_SIZE)
        tables = torch.randperm(batch * num_blocks).view(batch, -1).tolist()
        caches = self.caches(batch * num_blocks)
        rows = [DecodeRow(TOKEN_ID, context - 1, [table]) for table in tables]
        seconds, errors = self._run_paths(caches, rows)
        kv_bytes = sum(cache.nbytes for cache in caches)
        floor_s = (self.weight_bytes + kv_bytes) / self.clock.bytes_s
        return {
            "batch": batch,
            "context": context,
            "floor": number(floor_s * 1e3),
            **{name: number(seconds.get(name, math.nan) * 1e3) for name in PATHS},
            "served_of_floor": number(floor_s / seconds.get("fused_served", math.nan)),
            **{f"{name}_off_by": number(errors.get(name)) for name in ("stock", "fused")},
        }

    def _run_paths(
        self, caches: list[Tensor], rows: list[DecodeRow]
    ) -> tuple[dict[str, float], dict[str, float]]:
        """Seconds by path, and how far its logits are off float32's; a path that fails has none."""
        context = rows[0].position + 1
        place = f"decode_step {len(rows)} x {context}"
        exact: Tensor | None = None
        with self.report.attempt(f"{place}, float32"):
            exact = self._exact_logits(caches, rows)
        seconds: dict[str, float] = {}
        errors: dict[str, float] = {}
        for name, path in PATHS.items():
            with self.report.attempt(f"{place}, {name}"):
                graphs = self._graphs(caches, len(rows), context, path)
                logits = graphs.run(rows)
                if exact is not None:
                    errors[name] = off_by(logits, exact)
                seconds[name] = self.clock.wall_s(functools.partial(graphs.run, rows))
        for name in ("fused", "fused_served"):
            if {"stock", name} <= errors.keys():
                wrong = complaint(stock=errors["stock"], fused=errors[name])
                if wrong is not None:
                    self.report.fail(f"{place}, {name}", wrong)
        return seconds, errors

    def _exact_logits(self, caches: list[Tensor], rows: list[DecodeRow]) -> Tensor:
        tables = [row.block_tables[0] for row in rows]
        length = rows[0].position + 1
        group = group_batch(self.clock, tables, length, block_size=BLOCK_SIZE, query_len=1)
        token_ids = torch.full((len(rows),), TOKEN_ID, device=self.clock.device)
        return self.exact.logits(token_ids, group, caches)

    def _graphs(
        self, caches: Sequence[Tensor], batch: int, context: int, path: Path
    ) -> DecodeGraphs:
        max_model_len = self.clock.size.max_model_len if path.is_served else context
        step = DecodeStep(
            self.model,
            kv_caches=caches,
            kinds=[(0, None)] * len(caches),
            max_seq_len=max_model_len,
            fuse=path.fuse,
        )
        return DecodeGraphs(
            step,
            block_sizes=[BLOCK_SIZE],
            most_blocks=[-(-max_model_len // BLOCK_SIZE)],
            device=self.clock.device,
            recorder=CudaRecorder() if path.is_captured and not self.clock.dry else Eager,
            buckets=(batch,),
        )
