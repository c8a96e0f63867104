"""One decode step as a function of fixed buffers: what decode_graph.py captures."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from engine.runner.attention.plug import STEP_ARGUMENT, PagedStep
from engine.runner.attention.triton_backend import PagedPlan, TritonAttention
from engine.runner.fused_model import fused_model, why_refused
from engine.runner.step_buffer import DecodeInputs

Kind = tuple[int, int | None]  # a layer's KV-cache group and window


class DecodeStep:
    """The logits of one token for each row, through the fused model where there is one.

    Everything that Python decides here (sizes, splits, windows) is the same for every step, as a
    graph demands; lengths and block tables are read by the kernels.
    """

    def __init__(
        self,
        model: Any,
        *,
        kv_caches: Sequence[Tensor],  # by layer
        kinds: Sequence[Kind],  # by layer
        max_seq_len: int,
        fuse: bool = True,
    ) -> None:
        self.model = model
        self.fused = fused_model(model) if fuse else None
        self.reason = why_refused(model) if fuse else None  # one sentence: why it is not fused
        self.kv_caches, self.kinds = tuple(kv_caches), tuple(kinds)
        self.max_seq_len = max_seq_len

    @property
    def name(self) -> str:
        return "stock" if self.fused is None else "fused"

    def __call__(self, inputs: DecodeInputs) -> Tensor:
        """[num_rows, vocab_size]"""
        plans = {kind: self._plan(inputs, kind) for kind in dict.fromkeys(self.kinds)}
        by_layer = tuple(plans[kind] for kind in self.kinds)
        if self.fused is not None:
            return self.fused(inputs.input_ids, inputs.positions, self.kv_caches, by_layer)
        outputs = self.model(
            input_ids=inputs.input_ids[None],
            position_ids=inputs.positions[None],
            use_cache=False,
            **{STEP_ARGUMENT: PagedStep(TritonAttention(), self.kv_caches, by_layer)},
        )
        logits: Tensor = outputs.logits[0]
        return logits

    def _plan(self, inputs: DecodeInputs, kind: Kind) -> PagedPlan:
        group, window = kind
        return PagedPlan(
            slot_mapping=inputs.slot_mappings[group],
            block_table=inputs.block_tables[group],
            seq_lens=inputs.seq_lens,
            query_start=inputs.query_start,
            max_seq_len=self.max_seq_len,
            window=window,
        )
