"""How the kernels of paged_triton.py cut their work: plain numbers, no tensor.

triton_backend.py launches by them, and whoever explains a launch asks them as well.
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

MAX_SPLITS = 64
PROGRAMS_PER_PROCESSOR = 2  # at least so many, before a sequence is no longer split


class Tiling(NamedTuple):
    """How the work of one launch is cut."""

    rows: int  # query rows of a program: a power of two, >= 16
    queries: int  # tokens that they belong to
    kv: int  # positions of one step of the walk: a power of two, >= 16
    num_warps: int
    num_stages: int


class AttentionSizes(NamedTuple):
    """What decides the tiles and the addresses, beside the batch and the block size."""

    num_heads: int
    num_kv_heads: int
    head_size: int
    itemsize: int  # bytes of a number in the cache
    num_processors: int = 0  # streaming multiprocessors; 0: not a GPU

    @property
    def group(self) -> int:
        """Query heads that share a KV head."""
        return self.num_heads // self.num_kv_heads

    def strides(self, block_size: int) -> tuple[int, int, int]:
        """Of a block, a slot and a KV head, in numbers of the cache; those of a head lie together.

        The cache is [2, num_blocks, block_size, num_kv_heads, head_size], in one piece.
        """
        slot = self.num_kv_heads * self.head_size
        return block_size * slot, slot, self.head_size


def choose_tiling(group: int, head_size: int, itemsize: int, *, one_query_each: bool) -> Tiling:
    """Tiles that fit 99 KiB of shared memory, the least of any GPU from sm_80 on, without spilling.

    Several queries share what is loaded, so they get as many rows as the registers hold. tl.dot
    wants 16 at least. `itemsize`: bytes of a number of the query.
    """
    row_bytes = max(16, next_power_of_2(head_size)) * itemsize
    rows = 16 if one_query_each else max(16, min(64, 16384 // row_bytes))
    rows = max(rows, next_power_of_2(group))
    return Tiling(
        rows=rows,
        queries=1 if one_query_each else rows // group,
        kv=max(16, min(64, 8192 // row_bytes)),
        num_warps=4 if rows * row_bytes <= 16384 else 8,
        num_stages=3 if row_bytes <= 256 else 2,
    )


def longest_walk(max_seq_len: int, num_queries: int, window: int | None) -> int:
    """Positions that a tile of so many queries sees together, at most."""
    return max_seq_len if window is None else min(max_seq_len, window + num_queries - 1)


def choose_num_splits(num_programs: int, walk: int, tile_kv: int, *, num_processors: int) -> int:
    """So many that every processor of the GPU has work, and no split of a `longest_walk` less than
    two tiles of KV."""
    wanted = PROGRAMS_PER_PROCESSOR * num_processors // num_programs
    return max(1, min(wanted, -(-walk // (2 * tile_kv)), MAX_SPLITS))


def cut_queries(query_starts: Sequence[int], num_queries: int) -> list[tuple[int, int]]:
    """A sequence, and which of its queries is the first of the tile: one pair for each tile."""
    return [
        (seq, first)
        for seq, (start, end) in enumerate(itertools.pairwise(query_starts))
        for first in range(0, end - start, num_queries)
    ]


def next_power_of_2(number: int) -> int:
    return 1 << max(0, number - 1).bit_length()
