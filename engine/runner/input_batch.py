"""SchedulerOutput and block tables -> what one forward pass takes."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.core.output import ScheduledRequest, SchedulerOutput
from engine.core.request import BlockTables
from engine.runner.attention.backend import GroupBatch


@dataclass(slots=True, frozen=True)
class InputBatch:
    """The packed tokens of all scheduled requests, in scheduled order.

        request  A A A B C C     B decodes, A and C compute a chunk of their prompts
        position 4 5 6 9 0 1     each request counts its own tokens
        samples      x x         only the last known token of a request draws a new one

    vLLM 0.17.1: v1/worker/gpu_model_runner.py GPUModelRunner._prepare_inputs
    """

    input_ids: Tensor  # [1, num_tokens] int64
    positions: Tensor  # [1, num_tokens] int64
    sample_rows: Tensor  # [num_samples] int64
    sampling: tuple[ScheduledRequest, ...]  # whose rows `sample_rows` are
    groups: tuple[GroupBatch, ...]

    @property
    def is_lone_decode(self) -> bool:
        """One token in all, and it samples."""
        return len(self.sampling) == 1 == self.input_ids.shape[1]


def build_input_batch(
    output: SchedulerOutput,
    block_tables: BlockTables,
    block_sizes: Sequence[int],
    device: torch.device,
) -> InputBatch:
    """`block_sizes` is one per KV-cache group, in the order of the tables of `block_tables`."""
    scheduled = output.scheduled
    token_ids: list[int] = []
    positions: list[int] = []
    query_start = [0]
    for share in scheduled:
        start, end = _range(share)
        token_ids.extend(share.request.token_ids[start:end])
        positions.extend(range(start, end))
        query_start.append(len(token_ids))
    assert len(token_ids) == len(positions) == output.total_num_scheduled_tokens, (
        len(token_ids),
        output.total_num_scheduled_tokens,
    )
    sampling = tuple(share for share in scheduled if share.samples)
    sample_rows = [end - 1 for end, share in zip(query_start[1:], scheduled) if share.samples]
    tables = [block_tables(share.request.request_id) for share in scheduled]
    seq_lens = [share.num_computed_tokens + share.num_scheduled_tokens for share in scheduled]
    return InputBatch(
        input_ids=torch.tensor([token_ids], device=device),
        positions=torch.tensor([positions], device=device),
        sample_rows=torch.tensor(sample_rows, dtype=torch.int64, device=device),
        sampling=sampling,
        groups=tuple(
            GroupBatch(
                block_size=block_size,
                query_start=query_start,
                seq_lens=seq_lens,
                block_tables=[table[group_id] for table in tables],
                slot_mapping=torch.tensor(
                    slots_of(scheduled, [table[group_id] for table in tables], block_size),
                    dtype=torch.int64,
                    device=device,
                ),
            )
            for group_id, block_size in enumerate(block_sizes)
        ),
    )


def slots_of(
    scheduled: Sequence[ScheduledRequest], tables: Sequence[Sequence[int]], block_size: int
) -> list[int]:
    """slot = block_id * block_size + offset, for every token of the step."""
    slots: list[int] = []
    for share, table in zip(scheduled, tables):
        for position in range(*_range(share)):
            index, offset = divmod(position, block_size)
            slots.append(table[index] * block_size + offset)
    return slots


def _range(share: ScheduledRequest) -> tuple[int, int]:
    """The positions that a request computes in this step."""
    assert not share.spec_token_ids, "drafts need a model that checks several tokens at once"
    start = share.num_computed_tokens
    return start, start + share.num_scheduled_tokens
