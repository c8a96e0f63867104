"""Beginnings of prompts whose K and V were computed once, in compiled steps.

    chat template's own words                          | what somebody typed
    <|im_start|> system .. You are ..  user \n         | Why is the sky blue? ..
    piece 0       piece 1       piece 2                | piece 3 ..
    known: K and V are copied into the request's slots | computed

A compiled step (native/) computes row by row: what comes out of a row depends on its token, its position
and the rows before it in its own request, and on nothing else. It is the same, bit for bit, however many
rows are in the batch, in whichever blocks they lie, and on however many threads. That is what `matrix.c`
and `attention.c` are written for, and `is_row_by_row` tries it on the library that this machine's
compiler made. So the first tokens of a request that begins in this step have K and V that may have been
computed in another run, and only the rest of the rows goes through the model.

The engine knows nothing of this: its tables, hits and counts are those of a step that computed every row.
Torch's matrix products round otherwise when they have another number of rows: no prefix is taken there.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from engine.runner.input_batch import InputBatch
from engine.runner.known_steps import Compute, KnownSteps, digest_of
from engine.runner.kv_cache import CacheRows
from engine.runner.loaded_model import LoadedModel
from engine.runner.native.trial import is_row_by_row

PIECE = 8  # tokens
LEFT = 2  # rows to compute at least: weights in groups have a way of their own for a single row


def share_steps(loaded: LoadedModel, most_bytes: int) -> LoadedModel:
    """`loaded`, whose runners do not compute again what one of them has computed."""
    native = loaded.native.model
    has_prefixes = native is not None and is_row_by_row(
        native,
        loaded.windows,
        cache_shape=(loaded.num_kv_heads, loaded.head_size),
        dtype=loaded.dtype,
    )
    return replace(loaded, known_steps=KnownSteps(most_bytes, has_prefixes=has_prefixes))


class Beginning(NamedTuple):
    """A request whose first token is in this step: its rows, cut into pieces."""

    first_row: int
    digests: Sequence[bytes]  # of the tokens up to the end of each piece
    known: Sequence[Tensor]  # K and V of the first of these pieces

    def rows_of(self, first_piece: int, last_piece: int) -> range:
        return range(self.first_row + first_piece * PIECE, self.first_row + last_piece * PIECE)

    @property
    def known_rows(self) -> range:
        return self.rows_of(0, len(self.known))

    @property
    def new_rows(self) -> range:
        """Of the pieces that are still to be computed."""
        return self.rows_of(len(self.known), len(self.digests))


class RunnerPrefixes:
    """Beginnings of requests in the cache of one runner."""

    def __init__(self, known: KnownSteps, rows: CacheRows) -> None:
        self._known, self._rows = known, rows

    def run(self, batch: InputBatch, compute: Compute) -> Tensor:
        """The step's logits; `compute` gets the rows that are not known."""
        beginnings = self._beginnings(batch)
        known = [row for each in beginnings for row in each.known_rows]
        if known:
            numbers = torch.cat([piece for each in beginnings for piece in each.known], dim=2)
            self._rows.write(_slots(batch, known), numbers)
        logits = compute(_without(batch, set(known)) if known else batch)
        self._keep(batch, beginnings)
        return logits

    def _beginnings(self, batch: InputBatch) -> list[Beginning]:
        token_ids, group = batch.input_ids[0].tolist(), batch.groups[0]
        found = []
        for start, end, length in zip(group.query_start, group.query_start[1:], group.seq_lens):
            if length == end - start > PIECE:
                found.append(self._beginning(start, token_ids[start:end]))
        return found

    def _beginning(self, first_row: int, token_ids: list[int]) -> Beginning:
        digests, digest = [], b"a prefix"
        for place in range((len(token_ids) - LEFT) // PIECE):
            digest = digest_of(digest, token_ids[place * PIECE : (place + 1) * PIECE])
            digests.append(digest)
        known = []
        for digest in digests:
            piece = self._known.find(digest)
            if piece is None:
                break
            known.append(piece[0])
        return Beginning(first_row, digests, known)

    def _keep(self, batch: InputBatch, beginnings: Sequence[Beginning]) -> None:
        new = [row for each in beginnings for row in each.new_rows]
        if not new:
            return
        pieces = iter(torch.chunk(self._rows.read(_slots(batch, new)), len(new) // PIECE, dim=2))
        for each in beginnings:
            for digest in each.digests[len(each.known) :]:
                self._known.keep(digest, next(pieces).clone())


def _slots(batch: InputBatch, rows: list[int]) -> list[Tensor]:
    """By group."""
    return [group.slot_mapping[rows] for group in batch.groups]


def _without(batch: InputBatch, known: set[int]) -> InputBatch:
    """The same requests, with less to compute: what is left of their rows, at the same slots."""
    num_rows = batch.input_ids.shape[1]
    rows = [row for row in range(num_rows) if row not in known]
    place_of = {row: place for place, row in enumerate(rows)}
    starts = [sum(row < start for row in rows) for start in batch.groups[0].query_start]
    return replace(
        batch,
        input_ids=batch.input_ids[:, rows],
        positions=batch.positions[:, rows],
        sample_rows=torch.tensor([place_of[row] for row in batch.sample_rows.tolist()]).long(),
        groups=tuple(
            replace(group, query_start=starts, slot_mapping=group.slot_mapping[rows])
            for group in batch.groups
        ),
    )
