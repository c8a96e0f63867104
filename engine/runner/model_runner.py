"""One forward pass a step: the packed tokens of all scheduled requests through a stock model."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from engine.core.output import ModelOutput, ScheduledRequest, SchedulerOutput
from engine.core.request import BlockTables, Request, SampledTokens
from engine.errors import ConfigError
from engine.runner import sampler
from engine.runner.attention.backend import AttentionBackend
from engine.runner.attention.choice import BackendChoice, explain_backend
from engine.runner.attention.plug import STEP_ARGUMENT, PagedStep
from engine.runner.attention.reference import ReferenceAttention
from engine.runner.attention.tiling import AttentionSizes
from engine.runner.detokenizer import Detokenizer
from engine.runner.input_batch import InputBatch, build_input_batch
from engine.runner.known_prefixes import RunnerPrefixes
from engine.runner.known_steps import KnownSteps, RunnerSteps
from engine.runner.kv_cache import CacheRows, KVCacheLayout, allocate_kv_cache, tensors_by_layer
from engine.runner.loaded_model import LoadedModel
from engine.runner.native.model import MAX_ROWS, NativeDecode
from engine.runner.probe import RowQuery, query_of
from engine.runner.sampler import Row, Sampled

if TYPE_CHECKING:
    from engine.runner.decode_path import DecodePath

ForcedTokens = Mapping[str, Sequence[int]]


class ModelRunner:
    """Computes what the scheduler scheduled, in cache tensors of its own.

    The model is shared with other runners and holds nothing of this one.

    vLLM 0.17.1: v1/worker/gpu_model_runner.py GPUModelRunner
    """

    def __init__(
        self,
        loaded: LoadedModel,
        *,
        num_blocks: int,
        block_size: int | Sequence[int],
        groups: Sequence[Sequence[int]] | None = None,
        max_model_len: int | None = None,
        backend: AttentionBackend | None = None,
    ) -> None:
        """`block_size` of all groups or by group; `groups` are layer indices, by default one
        group; `max_model_len` ends a request's text, by default the model's longest."""
        groups = [range(loaded.num_layers)] if groups is None else groups
        sizes = [block_size] * len(groups) if isinstance(block_size, int) else block_size
        self.loaded = loaded
        self.layout = KVCacheLayout(
            num_blocks, tuple(tuple(group) for group in groups), tuple(sizes)
        )
        assert self.layout.num_layers == loaded.num_layers, (groups, loaded.num_layers)
        self.max_model_len = min(max_model_len or loaded.max_model_len, loaded.max_model_len)
        choice = BackendChoice(backend, None) if backend else explain_backend(loaded.device)
        self.backend, self._backend_reason = choice
        self.tensors = allocate_kv_cache(
            self.layout,
            num_kv_heads=loaded.num_kv_heads,
            head_size=loaded.head_size,
            dtype=loaded.dtype,
            device=loaded.device,
        )
        self.kv_caches = tensors_by_layer(self.layout, self.tensors)
        layers = range(loaded.num_layers)
        self.kinds = [(self.layout.group_of_layer(i), loaded.windows[i]) for i in layers]
        self.decode_path = self._find_decode_path()
        is_torch = self.backend.name == ReferenceAttention.name
        self.one_row = loaded.one_row if is_torch else None
        self.native: NativeDecode | None = None
        if is_torch and loaded.native.model is not None:
            self.native = NativeDecode(loaded.native.model, self.kv_caches, self.kinds)
        self.steps: RunnerSteps | None = None
        self.prefixes: RunnerPrefixes | None = None
        self._share_steps(loaded.known_steps)
        self.eos_token_ids = frozenset(loaded.eos_token_ids)
        self.vocab_size = loaded.vocab_size
        self.detokenizers: dict[str, Detokenizer] = {}

    @property
    def kv_bytes(self) -> int:
        """Bytes of all cache tensors."""
        return sum(tensor.numel() * tensor.element_size() for tensor in self.tensors)

    def execute(
        self,
        output: SchedulerOutput,
        block_tables: BlockTables,
        forced: ForcedTokens | None = None,
    ) -> ModelOutput:
        """Write K and V of all scheduled tokens; draw a token for each request whose last token
        is among them, or take the one in `forced` (a recorded run)."""
        if not output.scheduled:
            return ModelOutput()
        logits, sampling = self._compute(output, block_tables)
        forced = forced or {}
        rows = [_row(share.request, forced) for share in sampling]
        sampled = sampler.sample(logits, rows)
        return ModelOutput(
            {
                share.request.request_id: self._readable(share, drawn)
                for share, drawn in zip(sampling, sampled, strict=True)
            }
        )

    def _compute(
        self, output: SchedulerOutput, block_tables: BlockTables
    ) -> tuple[Tensor, Sequence[ScheduledRequest]]:
        """Logits [num_samples, vocab_size], and whose rows they are."""
        if self.decode_path is not None:
            logits = self.decode_path.logits_of(output, block_tables)
            if logits is not None:
                return logits, output.scheduled
        batch = build_input_batch(output, block_tables, self.layout.block_sizes, self.loaded.device)
        return self.forward(batch), batch.sampling

    @torch.inference_mode()
    def forward(self, batch: InputBatch) -> Tensor:
        """Logits [num_samples, vocab_size] of the rows that sample."""
        return self._forward(batch) if self.steps is None else self.steps.run(batch, self._forward)

    def _forward(self, batch: InputBatch) -> Tensor:
        if self.native is not None and batch.input_ids.shape[1] <= MAX_ROWS:
            compute = self.native.step
            return compute(batch) if self.prefixes is None else self.prefixes.run(batch, compute)
        plans = {
            (group_id, window): self.backend.plan(
                batch.groups[group_id], window=window, dtype=self.loaded.dtype
            )
            for group_id, window in dict.fromkeys(self.kinds)
        }
        by_layer = tuple(plans[kind] for kind in self.kinds)
        if self.one_row is not None and batch.is_lone_decode:
            position = batch.groups[0].seq_lens[0] - 1
            lones = [plan.lone for plan in by_layer]
            return self.one_row(batch.input_ids[0], position, self.kv_caches, lones)
        step = PagedStep(self.backend, self.kv_caches, by_layer)
        outputs = self.loaded.model(
            input_ids=batch.input_ids,
            position_ids=batch.positions,
            use_cache=False,
            logits_to_keep=batch.sample_rows,
            **{STEP_ARGUMENT: step},
        )
        logits: Tensor = outputs.logits[0]
        return logits

    def _share_steps(self, known: KnownSteps | None) -> None:
        """On a CPU, with the model's other runners."""
        if known is None or self.loaded.device.type != "cpu":
            return
        rows = CacheRows(self.layout, self.kv_caches)
        path = (self.kernel_path, self.one_row is not None, self.kinds, self.loaded.dtype)
        self.steps = RunnerSteps(known, rows, f"{path} {self.layout}")
        if known.has_prefixes and self.native is not None:
            self.prefixes = RunnerPrefixes(known, rows)

    def _find_decode_path(self) -> "DecodePath | None":
        """Captured graphs, where the Triton kernels run on a GPU."""
        if self.backend.name != "triton" or self.loaded.device.type != "cuda":
            return None
        from engine.runner.decode_path import cuda_decode_path

        return cuda_decode_path(
            self.loaded.model,
            kv_caches=self.kv_caches,
            kinds=self.kinds,
            block_sizes=self.layout.block_sizes,
            max_model_len=self.max_model_len,
        )

    def forget(self, request_id: str) -> None:
        """Drop what is kept about a request that finished; unknown ones are no error."""
        self.detokenizers.pop(request_id, None)

    def peek_kv(
        self, block_id: int, layer: int, head: int
    ) -> tuple[list[list[float]], list[list[float]]]:
        """K and V of one block, layer and KV head: [block_size][head_size] each, for a picture."""
        for name, index, end in (
            ("block_id", block_id, self.layout.num_blocks),
            ("layer", layer, self.loaded.num_layers),
            ("head", head, self.loaded.num_kv_heads),
        ):
            if not 0 <= index < end:
                raise ConfigError(f"{name}={index} is out of range: give 0 to {end - 1}")
        key, value = self.kv_caches[layer][:, block_id, :, head].float().cpu()
        return key.tolist(), value.tolist()

    def peek_query(
        self, token_id: int, position: int, block_tables: Sequence[Sequence[int]], *, layer: int
    ) -> RowQuery:
        """What a layer asks at this place of a request: computed once more, nothing is written.

        K and V of the request up to this position must be in the cache (`block_tables` by group).
        """
        sizes = self.layout.block_sizes
        slots = [
            _slots_seen(block_tables[group_id], sizes[group_id], position, window)
            for group_id, window in self.kinds
        ]
        return query_of(self.loaded, self.kv_caches, token_id, position, layer=layer, slots=slots)

    @property
    def attention_sizes(self) -> AttentionSizes:
        """What decides how attention is cut and where its K and V lie."""
        loaded, device = self.loaded, self.loaded.device
        is_gpu = device.type == "cuda"
        return AttentionSizes(
            num_heads=int(loaded.model.config.get_text_config().num_attention_heads),
            num_kv_heads=loaded.num_kv_heads,
            head_size=loaded.head_size,
            itemsize=loaded.dtype.itemsize,
            num_processors=torch.cuda.get_device_properties(device).multi_processor_count
            if is_gpu
            else 0,
        )

    @property
    def path_reason(self) -> str | None:
        """Why a GPU does without the kernels, or without graphs any more, or a CPU without compiled
        decode steps: one sentence."""
        of_graphs = None if self.decode_path is None else self.decode_path.reason
        of_native = self.loaded.native.reason
        return self._backend_reason or of_graphs or of_native  # no device has two of them

    @property
    def kernel_path(self) -> str:
        """How a step is computed: attention, linear layers, and what is compiled or captured."""
        names = [self.backend.name, self.loaded.linear_path]
        if self.decode_path is not None:
            names.append(self.decode_path.name)
        if self.native is not None:
            names.append(self.native.model.name)
        return "+".join(names)

    def header_fields(self) -> dict[str, Any]:
        """What is fixed for a run and decides its numbers: stands in the trace's header."""
        loaded = self.loaded
        return {
            "model": loaded.name,
            "dtype": loaded.dtype_name,
            "device": str(loaded.device),
            "kernel_path": self.kernel_path,
            "tokenizer_id": loaded.tokenizer_id,
        }

    def _readable(self, share: ScheduledRequest, drawn: Sampled) -> SampledTokens:
        request, token_id = share.request, drawn.token_id
        new = self._detokenizer(request).append(token_id, is_last=self._is_last(request, token_id))
        return SampledTokens(
            token_ids=(token_id,),
            stopped=new.stopped,
            text=new.text,
            token_bytes=(self.loaded.tokenizer.bytes_of(token_id),),
            logprobs=(drawn.logprob,),
            top_logprobs=(drawn.top_logprobs,),
        )

    def _detokenizer(self, request: Request) -> Detokenizer:
        """The request's stream; a new one catches up with what was generated elsewhere."""
        stream = self.detokenizers.get(request.request_id)
        if stream is None or stream.num_tokens != request.num_output_tokens:
            stream = Detokenizer(self.loaded.tokenizer, request.sampling.stop)
            stream.replay(request.output_token_ids)
            self.detokenizers[request.request_id] = stream
        return stream

    def _is_last(self, request: Request, token_id: int) -> bool:
        """Whether the scheduler will end the request with this token, unless a stop string does."""
        return token_id in request.stop_token_ids or request.num_tokens + 1 >= min(
            request.max_total_tokens, self.max_model_len
        )


def _row(request: Request, forced: ForcedTokens) -> Row:
    recorded = forced.get(request.request_id, ())
    return Row(
        sampling=request.sampling,
        output_index=request.num_output_tokens,
        forced_token_id=recorded[0] if recorded else None,
    )


def _slots_seen(
    table: Sequence[int], block_size: int, position: int, window: int | None
) -> list[int]:
    """Of the positions that the row at `position` attends to, its own the last."""
    first = 0 if window is None else max(0, position - window + 1)
    return [
        table[p // block_size] * block_size + p % block_size for p in range(first, position + 1)
    ]
