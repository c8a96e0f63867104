"""Which steps of an engine are replayed as a captured graph.

A step in which every request decodes one token. Prefill, mixed steps and more requests than the
largest bucket has rows go the ordinary way, and what a request says does not depend on it.
"""

import weakref
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from engine.core.output import ScheduledRequest, SchedulerOutput
from engine.core.request import BlockTables
from engine.errors import Sentence
from engine.runner.decode_graph import CudaRecorder, DecodeGraphs, Recorder
from engine.runner.decode_step import DecodeStep, Kind
from engine.runner.step_buffer import DecodeRow

CAPTURE_ERRORS = (RuntimeError,)  # what torch raises of CUDA's errors are RuntimeErrors


# Models with a step that could not be captured, and the sentence: no other runner of theirs tries.
_refused: "weakref.WeakKeyDictionary[nn.Module, Sentence]" = weakref.WeakKeyDictionary()


class DecodePath:
    """The graphs of one runner, until one of them cannot be captured."""

    def __init__(self, graphs: DecodeGraphs, step: DecodeStep) -> None:
        self.graphs, self.step = graphs, step
        self.name = f"graph-{step.name}"
        self.refusal = _refused.get(step.model)  # one sentence: why no graph is used (any more)

    @property
    def reason(self) -> Sentence | None:
        """One sentence: why decode steps take a slower way than they might; None: they do not."""
        return self.refusal or self.step.reason

    def logits_of(self, output: SchedulerOutput, block_tables: BlockTables) -> Tensor | None:
        """[num_requests, vocab_size], valid until the next step; None: not a step for a graph."""
        if self.refusal is not None or not self._takes(output):
            return None
        rows = [_row(share, block_tables) for share in output.scheduled]
        try:
            return self.graphs.run(rows)
        except CAPTURE_ERRORS as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            self.refusal = Sentence.of(
                "path.no_graphs",
                "Decode steps run without CUDA graphs: {cause}.",
                cause=lines[0].rstrip(".")[:200],
            )
            if not isinstance(error, torch.cuda.OutOfMemoryError):  # memory may be free next time
                _refused[self.step.model] = self.refusal
            return None

    def _takes(self, output: SchedulerOutput) -> bool:
        return 0 < len(output.scheduled) <= self.graphs.max_rows and all(
            share.num_scheduled_tokens == 1 and share.samples for share in output.scheduled
        )


def cuda_decode_path(
    model: Any,
    *,
    kv_caches: Sequence[Tensor],  # by layer
    kinds: Sequence[Kind],  # by layer
    block_sizes: Sequence[int],  # by KV-cache group
    max_model_len: int,
    recorder: Recorder | None = None,  # None: CUDA graphs
) -> DecodePath:
    """The decode path of a runner whose attention is the Triton kernels."""
    step = DecodeStep(model, kv_caches=kv_caches, kinds=kinds, max_seq_len=max_model_len)
    graphs = DecodeGraphs(
        step,
        block_sizes=block_sizes,
        most_blocks=[-(-max_model_len // size) for size in block_sizes],
        device=kv_caches[0].device,
        recorder=recorder or CudaRecorder(),
    )
    return DecodePath(graphs, step)


def _row(share: ScheduledRequest, block_tables: BlockTables) -> DecodeRow:
    position = share.num_computed_tokens
    request = share.request
    return DecodeRow(request.token_ids[position], position, block_tables(request.request_id))
