"""A decode step and a prefill of the whole model: SmolLM2-135M's shape with random weights, since
speed does not depend on what they say."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

from bench.gpu_attention import HEAD_SIZE, NUM_HEADS, NUM_KV_HEADS, group_batch
from bench.gpu_clock import MAX_CACHED_TOKENS, Call, Clock
from bench.gpu_logits import Float32Step, complaint, off_by
from bench.gpu_report import Report, number
from engine.runner.attention.plug import ATTENTION_NAME, STEP_ARGUMENT, PagedStep
from engine.runner.attention.triton_backend import TritonAttention
from engine.runner.decode_graph import CudaRecorder, DecodeGraphs, DecodeRow
from engine.runner.decode_step import DecodeStep

BLOCK_SIZE = 16
TOKEN_ID = 5
PROMPT_TOKENS = 128


class Again:
    """Without CUDA: the step itself instead of a graph of it."""

    def __init__(self, work: Callable[[], Tensor]) -> None:
        self.work, self.output = work, work()

    def replay(self) -> None:
        self.output.copy_(self.work())


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
            max_position_embeddings=8192 + 256,
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
            "captured; fused: captured; each with filling the inputs; off_by: logits, from float32's",
            rows,
        )

    def _decode(self, batch: int, context: int) -> dict[str, Any]:
        num_blocks = -(-(context + 1) // BLOCK_SIZE)
        tables = torch.randperm(batch * num_blocks).view(batch, -1).tolist()
        caches = self.caches(batch * num_blocks)
        decode_rows = [DecodeRow(TOKEN_ID, context, [table]) for table in tables]
        stock, fused = (
            self._graphs(caches, batch, num_blocks, fuse=fuse) for fuse in (False, True)
        )
        errors = self._errors(caches, tables, context, stock=stock.run, fused=fused.run)
        buffer, _ = stock.captured[batch]
        kv_bytes = sum(cache[:, : batch * num_blocks].nbytes for cache in caches)
        floor_s = (self.weight_bytes + kv_bytes) / self.clock.bytes_s
        times: dict[str, Call] = {
            "stock": lambda: stock.step(buffer.inputs),
            "graph": lambda: stock.run(decode_rows),
            "fused": lambda: fused.run(decode_rows),
        }
        found = {name: self.clock.wall_s(call) for name, call in times.items()}
        return {
            "batch": batch,
            "context": context,
            "floor": number(floor_s * 1e3),
            **{name: number(seconds * 1e3) for name, seconds in found.items()},
            "fused_of_floor": number(floor_s / found["fused"]),
            **{f"{name}_off_by": number(error) for name, error in errors.items()},
        }

    def _errors(
        self,
        caches: list[Tensor],
        tables: list[list[int]],
        context: int,
        **paths: Callable[[list[DecodeRow]], Tensor],
    ) -> dict[str, float]:
        """How far the logits of each path are off float32's; a complaint goes into the report."""
        rows = [DecodeRow(TOKEN_ID, context, [table]) for table in tables]
        group = group_batch(self.clock, tables, context + 1, block_size=BLOCK_SIZE, query_len=1)
        token_ids = torch.full((len(tables),), TOKEN_ID, device=self.clock.device)
        exact = self.exact.logits(token_ids, group, caches)
        errors = {name: off_by(run(rows), exact) for name, run in paths.items()}
        wrong = complaint(stock=errors["stock"], fused=errors["fused"])
        if wrong is not None:
            self.report.fail(f"decode_step {len(tables)} x {context}", wrong)
        return errors

    def _graphs(
        self, caches: Sequence[Tensor], batch: int, num_blocks: int, *, fuse: bool
    ) -> DecodeGraphs:
        kinds = [(0, None)] * len(caches)
        longest = num_blocks * BLOCK_SIZE
        step = DecodeStep(self.model, kv_caches=caches, kinds=kinds, max_seq_len=longest, fuse=fuse)
        return DecodeGraphs(
            step,
            block_sizes=[BLOCK_SIZE],
            most_blocks=[num_blocks],
            device=self.clock.device,
            recorder=Again if self.clock.dry else CudaRecorder(),
            buckets=(batch,),
        )
