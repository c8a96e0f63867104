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

import torch
from torch import Tensor

from engine.runner.input_batch import InputBatch
from engine.runner.kv_cache import CacheRows

DIGEST_BYTES = 32
Compute = Callable[[InputBatch], Tensor]  # a step: its logits


class KnownSteps:
    """What the runners of one model computed, by digest; what was not used for the longest time goes first.

    Safe to be asked from many threads. The tensors are read-only: several runners copy from them.
    """

    def __init__(self, most_bytes: int, *, has_prefixes: bool = False) -> None:
        """`has_prefixes`: whether beginnings of prompts are kept as well (known_prefixes.py)."""
        self.most_bytes, self.has_prefixes = most_bytes, has_prefixes
        self.num_bytes = 0
        self.num_found = 0  # times that something was not computed again
        self._kept: OrderedDict[bytes, tuple[Tensor, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, digest: bytes) -> tuple[Tensor, ...] | None:
        with self._lock:
            known = self._kept.get(digest)
            if known is not None:
                self._kept.move_to_end(digest)
                self.num_found += 1
            return known

    def keep(self, digest: bytes, *computed: Tensor) -> None:
        """What is larger than all the room is not kept. Two threads that computed one keep one."""
        num_bytes = sum(tensor.nbytes for tensor in computed)
        with self._lock:
            if digest in self._kept or num_bytes > self.most_bytes:
                return
            self._kept[digest] = computed
            self.num_bytes += num_bytes
            while self.num_bytes > self.most_bytes:
                _, oldest = self._kept.popitem(last=False)
                self.num_bytes -= sum(tensor.nbytes for tensor in oldest)


class RunnerSteps:
    """The steps of one runner, and its history so far.

    Every batch that writes to the runner's cache has to come through `run`.
    """

    def __init__(self, known: KnownSteps, rows: CacheRows, path: str) -> None:
        """`path`: what besides the batches decides what is computed and where it lies, in words."""
        self._known, self._rows = known, rows
        self._digest: bytes | None = digest_of(path.encode())

    def run(self, batch: InputBatch, compute: Compute) -> Tensor:
        """The step's logits; K and V are in the cache afterwards.

        If `compute` raises, nobody knows what was written: no later step of this runner is known.
        """
        before, self._digest = self._digest, None
        if before is None:
            return compute(batch)
        digest = digest_of(before, *_numbers_of(batch))
        slots = [group.slot_mapping for group in batch.groups]
        if (known := self._known.find(digest)) is not None:
            written, logits = known
            self._rows.write(slots, written)
        else:
            logits = compute(batch)
            self._known.keep(digest, self._rows.read(slots), logits.clone())
        self._digest = digest
        return logits if known is None else logits.clone()


def digest_of(before: bytes, *lists: Sequence[int]) -> bytes:
    """Every list goes in with its length, so that no two histories are the same bytes."""
    hashed = hashlib.blake2b(before, digest_size=DIGEST_BYTES)
    for numbers in lists:
        packed = array("q", numbers)
        hashed.update(len(packed).to_bytes(8, "little"))
        hashed.update(packed.tobytes())
    return hashed.digest()


def _numbers_of(batch: InputBatch) -> Iterable[Sequence[int]]:
    yield (torch.get_num_threads(), len(batch.groups))
    for row in (batch.input_ids, batch.positions, batch.sample_rows):
        yield row.flatten().tolist()
    for group in batch.groups:
        yield (group.block_size, group.num_seqs)
        yield group.query_start
        yield group.seq_lens
        yield group.slot_mapping.tolist()
        yield from group.block_tables
