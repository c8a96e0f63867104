"""A step of a few rows in C: decode.h. What is left to Python is where everything lies.

A few rows: decodes, and prompts of which little is left to compute. More rows go through torch,
whose matrix products are better at many rows.
"""

import ctypes
from array import array
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from engine.runner.attention.backend import GroupBatch
from engine.runner.input_batch import InputBatch
from engine.runner.native.library import library
from engine.runner.native.panels import Weight, weight_of
from engine.runner.native.structures import (
    KINDS,
    NO_SUCH_TOKEN,
    Kind,
    Layer,
    Model,
    Places,
    Pointer,
    Step,
)

MAX_ROWS = 64
FEW_ROWS = 8  # a step of no more waits for memory
TURNS_AT_ONCE = 1024  # positions whose cosines and sines are computed together

Kinds = Sequence[tuple[int, int | None]]  # by layer: KV-cache group and window


class NativeModel:
    """The weights of a stock model that `is_supported`, in panels. Holds no engine's state."""

    def __init__(self, stock: Any) -> None:
        """Before anything in `stock` is replaced."""
        self.prompt_threads = 1  # at least, for a step of many rows; more where torch has more
        decoder, first = stock.model, stock.model.layers[0].self_attn
        self.embed_tokens, self.rotary = decoder.embed_tokens, decoder.rotary_emb
        self.head_size = int(first.head_dim)
        self.kept: list[Any] = []  # what the structures point to
        layers = [self._layer(layer) for layer in decoder.layers]
        self.vocab_size = stock.lm_head.out_features
        self.structure = Model(
            num_layers=len(layers),
            hidden_size=self.embed_tokens.embedding_dim,
            num_heads=first.q_proj.out_features // self.head_size,
            num_kv_heads=first.k_proj.out_features // self.head_size,
            head_size=self.head_size,
            epsilon=decoder.norm.variance_epsilon,
            scale=first.scaling,
            layers=(Layer * len(layers))(*layers),
            last_norm=self._norm(decoder.norm),
            head=self._weight(stock.lm_head).matrix,
        )
        self.cosines = self.sines = torch.empty(0, self.head_size, dtype=torch.float32)

    @property
    def name(self) -> str:
        """native-bfloat16, native-four_bit, ..: how the layers' weights are stored."""
        return f"native-{Kind(self.structure.layers[0].qkv.kind).name.lower()}"

    @property
    def num_bytes(self) -> int:
        """What a step reads of the weights."""
        return sum(weight.panels.nbytes for weight in self.kept if isinstance(weight, Weight))

    def turns(self, num_positions: int) -> tuple[Tensor, Tensor]:
        """Cosines and signed sines of that many positions or more, [.., head_size]. Two threads
        that miss compute the same."""
        cosines, sines = self.cosines, self.sines
        if num_positions > min(len(cosines), len(sines)):
            every = torch.arange(0, -(-num_positions // TURNS_AT_ONCE) * TURNS_AT_ONCE)
            found = self.rotary(torch.zeros(1, dtype=torch.float32), every[None])
            cosines, sines = (x[0].clone(memory_format=torch.contiguous_format) for x in found)
            sines[:, : self.head_size // 2].neg_()
            self.cosines, self.sines = cosines, sines
        return cosines, sines

    def _layer(self, stock: Any) -> Layer:
        attention, mlp = stock.self_attn, stock.mlp
        gate, up = weight_of([mlp.gate_proj]), weight_of([mlp.up_proj])
        if gate.kind != up.kind:  # they share what is prepared of a row
            gate, up = (weight_of([part], as_stored=False) for part in (mlp.gate_proj, mlp.up_proj))
        self.kept += (gate, up)
        return Layer(
            norm=self._norm(stock.input_layernorm),
            norm_again=self._norm(stock.post_attention_layernorm),
            qkv=self._weight(attention.q_proj, attention.k_proj, attention.v_proj).matrix,
            o=self._weight(attention.o_proj).matrix,
            gate=gate.matrix,
            up=up.matrix,
            down=self._weight(mlp.down_proj).matrix,
        )

    def _weight(self, *layers: nn.Linear) -> Weight:
        weight = weight_of(layers)
        self.kept.append(weight)
        return weight

    def _norm(self, stock: Any) -> int:
        weight = stock.weight.detach().float().clone()
        self.kept.append(weight)
        return int(weight.data_ptr())


class NativeDecode:
    """A native model on the cache tensors of one runner."""

    def __init__(self, model: NativeModel, kv_caches: Sequence[Tensor], kinds: Kinds) -> None:
        """`kv_caches` and `kinds` by layer."""
        found = library().loaded
        assert found is not None, "a NativeModel is made only where the library was loaded"
        self.decode_step = found.decode_step
        self.model, self.kinds = model, list(dict.fromkeys(kinds))
        self.caches = tuple(kv_caches)  # alive as long as the pointers
        self.pointers = (Pointer * len(kv_caches))(*(cache.data_ptr() for cache in kv_caches))
        self.places = (Places * len(self.kinds))()
        by_layer = [ctypes.pointer(self.places[self.kinds.index(kind)]) for kind in kinds]
        self.places_by_layer = (ctypes.POINTER(Places) * len(kinds))(*by_layer)
        self.cache_kind = KINDS[kv_caches[0].dtype]
        self.value_offset = kv_caches[0].stride(0)

    def step(self, batch: InputBatch) -> Tensor:
        return self(batch.input_ids[0], batch.positions[0], batch.sample_rows, batch.groups)

    def __call__(
        self,
        input_ids: Tensor,  # [num_rows]
        positions: Tensor,  # [num_rows]
        sample_rows: Tensor,  # [num_samples]
        groups: Sequence[GroupBatch],
    ) -> Tensor:
        """[num_samples, vocab_size] float32. IndexError, as of torch, for a token that there is not."""
        model, num_threads = self.model, torch.get_num_threads()
        if len(input_ids) > FEW_ROWS:
            num_threads = max(num_threads, model.prompt_threads)
        logits = torch.empty(len(sample_rows), model.vocab_size, dtype=torch.float32)
        embeddings = model.embed_tokens.weight
        cosines, sines = model.turns(max(groups[0].seq_lens))
        kept = [
            _fill(places, groups[group], window)
            for places, (group, window) in zip(self.places, self.kinds, strict=True)
        ]
        step = Step(
            num_rows=len(input_ids),
            num_samples=len(sample_rows),
            num_threads=num_threads,
            cache_kind=self.cache_kind,
            embedding_kind=KINDS[embeddings.dtype],
            vocab_size=len(embeddings),
            value_offset=self.value_offset,
            kv_caches=self.pointers,
            places=self.places_by_layer,
            input_ids=input_ids.data_ptr(),
            positions=positions.data_ptr(),
            sample_rows=sample_rows.data_ptr(),
            embeddings=embeddings.data_ptr(),
            cosines=cosines.data_ptr(),
            sines=sines.data_ptr(),
            logits=logits.data_ptr(),
        )
        failed = self.decode_step(model.structure, step)
        del kept  # not before
        if failed == NO_SUCH_TOKEN:
            raise IndexError(f"of {input_ids.tolist()} not all are among {len(embeddings)} tokens")
        if failed:
            raise MemoryError(f"no memory for a step of {len(input_ids)} rows")
        return logits


def _fill(places: Places, batch: GroupBatch, window: int | None) -> tuple[array, ...]:  # type: ignore[type-arg]
    """Point `places` to arrays made of `batch`, which must stay alive while it is used."""
    tables, starts, firsts, lengths = array("i"), array("q"), array("i"), array("i")
    for seq, table in enumerate(batch.block_tables):
        num_rows = batch.query_start[seq + 1] - batch.query_start[seq]
        start = len(tables)
        tables.extend(table)
        for length in range(batch.seq_lens[seq] - num_rows + 1, batch.seq_lens[seq] + 1):
            starts.append(start)
            lengths.append(length)
            firsts.append(0 if window is None else max(0, length - window))
    places.block_size = batch.block_size
    places.slots = batch.slot_mapping.data_ptr()
    places.block_tables, places.table_starts = _address(tables), _address(starts)
    places.first_tokens, places.num_tokens = _address(firsts), _address(lengths)
    return tables, starts, firsts, lengths


def _address(numbers: "array[int]") -> int:
    return numbers.buffer_info()[0]
