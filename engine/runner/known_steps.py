"""Steps that were computed once for exactly this history, and are not computed again.

Thirty visitors who open the same example run the same engine thirty times. What a step of the model
gives is decided by the weights, the path on which they are multiplied, the step's own batch, and the
K and V that it reads. Those were all written by earlier steps of the same runner, into tensors that
began as zeros. So a digest over everything that a runner has executed since its beginning stands for
everything that its next step can depend on:

    digest 0    layout of the cache, dtype, backend, path
    digest n    digest n - 1, threads, token ids, positions, slots, block tables, lengths, sample rows

Two runners at the same digest hold the same numbers, bit for bit, and the next step gives both the
same. Nothing is approximated and nothing of a prompt, a draw or a setting is guessed: what a runner
takes over is what it would have computed. One digit elsewhere, in a prompt or in a block table, is
another digest for this step and for all that follow.

What is taken over is copied into the runner's own tensors. Tokens are drawn anew from the logits, by
the request's own parameters.
"""

import hashlib
import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from engine.runner.input_batch import InputBatch
from engine.runner.kv_cache import KVCacheLayout

DIGEST_BYTES = 32


class KnownStep(NamedTuple):
    """What one step gave. Read-only: several runners may copy from it at once."""

    written: Tensor  # [num_layers, 2, num_tokens, num_kv_heads, head_size]: K and V of its slots
    logits: Tensor  # [num_samples, vocab_size]

    @property
    def num_bytes(self) -> int:
        return self.written.nbytes + self.logits.nbytes


class KnownSteps:
    """The steps of all runners of one model, by digest; those not used for the longest time go first.

    Safe to be asked from many threads.
    """

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.num_bytes = 0
        self.num_found = 0  # steps that were not computed again
        self._steps: OrderedDict[bytes, KnownStep] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._steps)

    def find(self, digest: bytes) -> KnownStep | None:
        with self._lock:
            known = self._steps.get(digest)
            if known is not None:
                self._steps.move_to_end(digest)
                self.num_found += 1
            return known

    def keep(self, digest: bytes, step: KnownStep) -> None:
        """A step larger than all the room is not kept. Two threads that computed one keep one."""
        with self._lock:
            if digest in self._steps or step.num_bytes > self.most_bytes:
                return
            self._steps[digest] = step
            self.num_bytes += step.num_bytes
            while self.num_bytes > self.most_bytes:
                _, oldest = self._steps.popitem(last=False)
                self.num_bytes -= oldest.num_bytes


class RunnerSteps:
    """The steps of one runner: its history so far, and the tensors that hold it.

    Every batch that writes to these tensors has to come through `run`.
    """

    def __init__(
        self,
        known: KnownSteps,
        layout: KVCacheLayout,
        kv_caches: Sequence[Tensor],  # by layer
        path: str,
    ) -> None:
        """`path`: everything besides the batch that decides how a step is computed, in words."""
        self.known = known
        num_layers = layout.num_layers
        self._groups = [layout.group_of_layer(layer) for layer in range(num_layers)]
        self._slots = [cache.view(2, -1, *cache.shape[3:]) for cache in kv_caches]
        shape = tuple(kv_caches[0].shape)
        self._digest: bytes | None = _digest(f"{path} {layout} {shape} {kv_caches[0].dtype}")

    def run(self, batch: InputBatch, compute: Callable[[InputBatch], Tensor]) -> Tensor:
        """The step's logits; K and V are in the tensors afterwards.

        If `compute` raises, nobody knows what was written: no later step of this runner is known.
        """
        before, self._digest = self._digest, None
        if before is None:
            return compute(batch)
        digest = _digest_of(before, batch)
        known = self.known.find(digest)
        if known is None:
            logits = compute(batch)
            self.known.keep(digest, KnownStep(self._read(batch), logits.clone()))
        else:
            self._write(batch, known.written)
            logits = known.logits.clone()
        self._digest = digest
        return logits

    def _read(self, batch: InputBatch) -> Tensor:
        """Once the whole step is computed: what a slot holds then is what counts."""
        slots = [batch.groups[group].slot_mapping for group in self._groups]
        return torch.stack([cache[:, at] for cache, at in zip(self._slots, slots, strict=True)])

    def _write(self, batch: InputBatch, written: Tensor) -> None:
        for cache, group, numbers in zip(self._slots, self._groups, written, strict=True):
            cache[:, batch.groups[group].slot_mapping] = numbers


def _digest(said: str) -> bytes:
    return hashlib.blake2b(said.encode(), digest_size=DIGEST_BYTES).digest()


def _digest_of(before: bytes, batch: InputBatch) -> bytes:
    """Every list goes in with its length, so that no two batches write the same bytes."""
    hashed = hashlib.blake2b(before, digest_size=DIGEST_BYTES)
    for numbers in _numbers_of(batch):
        packed = array("q", numbers)
        hashed.update(len(packed).to_bytes(8, "little"))
        hashed.update(packed.tobytes())
    return hashed.digest()


def _numbers_of(batch: InputBatch) -> Iterable[Iterable[int]]:
    yield (torch.get_num_threads(), len(batch.groups))
    for row in (batch.input_ids, batch.positions, batch.sample_rows):
        yield row.flatten().tolist()
    for group in batch.groups:
        yield (group.block_size, group.num_seqs)
        yield group.query_start
        yield group.seq_lens
        yield group.slot_mapping.tolist()
        yield from group.block_tables
