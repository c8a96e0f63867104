"""One row of a step as `attention_kernel` works on it: which program, which tiles, which slots.

    batch      r0 r0 r0 r0 r0 | r1 | r2 r2 ..      queries of a sequence, cut into tiles
    program    (tile * NUM_SPLITS + split, kv_head)
    walk       positions 0..63 | 64..127 | ..      TILE_KV at a time, whatever the block size

A position is loaded if some query of the tile sees it; a row sees those that its own mask leaves.

engine/runner/attention/paged_triton.py attention_kernel, walk, find_rows
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from engine.runner.attention.tiling import (
    AttentionSizes,
    Tiling,
    choose_num_splits,
    choose_tiling,
    cut_queries,
    longest_walk,
)
from views.figures.batch.batch_rows import Share

READ, LATER, OUTSIDE = "read", "later", "outside"


class Launch(NamedTuple):
    """How the batch of one step is cut into programs, for the layers of one KV-cache group."""

    sizes: AttentionSizes
    tiling: Tiling
    tiles: Sequence[tuple[int, int]]  # a sequence, and which of its queries is the first
    num_splits: int
    one_query_each: bool
    block_size: int
    window: int | None

    @property
    def num_programs(self) -> tuple[int, int]:
        return len(self.tiles) * self.num_splits, self.sizes.num_kv_heads


class Program(NamedTuple):
    """The programs (one for each split) that have the row, for one KV head."""

    share: Share
    tile: int
    kv_head: int
    first_query: int  # of the tile, counted in its sequence's queries
    own_query: int  # the row's
    begin: int
    end: int
    visits: Sequence[tuple[int, int]]  # a split, and which tile of positions it visits

    @property
    def num_queries(self) -> int:
        return self.share.row.num_scheduled_tokens

    @property
    def num_before(self) -> int:
        return self.share.start

    @property
    def position(self) -> int:
        return self.num_before + self.own_query


class Spot(NamedTuple):
    """One position of a tile that is loaded."""

    position: int
    sight: str  # of the row: READ, LATER or OUTSIDE
    logical: int  # entry of the block table
    physical: int
    offset: int
    slot: int
    row_at: int  # what find_rows returns: where the slot begins, in numbers


def launch_of(
    shares: Sequence[Share],
    sizes: AttentionSizes,
    *,
    block_size: int,
    window: int | None,
) -> Launch:
    starts = [share.first_row for share in shares]
    starts.append(shares[-1].first_row + shares[-1].row.num_scheduled_tokens)
    one_each = starts == list(range(len(shares) + 1))
    tiling = choose_tiling(sizes.group, sizes.head_size, sizes.itemsize, one_query_each=one_each)
    tiles = cut_queries(starts, tiling.queries)
    num_splits = choose_num_splits(
        len(tiles) * sizes.num_kv_heads,
        longest_walk(max(share.stop for share in shares), tiling.queries, window),
        tiling.kv,
        num_processors=sizes.num_processors,
    )
    return Launch(sizes, tiling, tiles, num_splits, one_each, block_size, window)


def program_of(
    launch: Launch, shares: Sequence[Share], share: Share, *, position: int, kv_head: int
) -> Program:
    seq, own = list(shares).index(share), position - share.start
    queries = launch.tiling.queries
    first = own // queries * queries
    end = share.start + min(first + queries, share.row.num_scheduled_tokens)
    begin = max(share.start + first - launch.window + 1, 0) if launch.window else 0
    tile = list(launch.tiles).index((seq, first))
    visits = _visits(launch, begin, end)
    return Program(share, tile, kv_head, first, own, begin, end, visits)


def _visits(launch: Launch, begin: int, end: int) -> list[tuple[int, int]]:
    first_tile, end_tile = begin // launch.tiling.kv, _cdiv(end, launch.tiling.kv)
    share = _cdiv(end_tile - first_tile, launch.num_splits)
    return [
        (split, tile)
        for split in range(launch.num_splits)
        for tile in range(
            first_tile + split * share, min(first_tile + (split + 1) * share, end_tile)
        )
    ]


def _cdiv(number: int, by: int) -> int:
    return -(-number // by)


def spots(launch: Launch, program: Program, tile: int) -> list[Spot]:
    """The positions of one tile that are loaded, in order; at least one."""
    stride_block, stride_slot, _ = launch.sizes.strides(launch.block_size)
    found = []
    first, last = tile * launch.tiling.kv, (tile + 1) * launch.tiling.kv
    for position in range(max(first, program.begin), min(last, program.end)):
        logical, offset = divmod(position, launch.block_size)
        physical = program.share.table[logical]
        slot = physical * launch.block_size + offset
        row_at = physical * stride_block + offset * stride_slot
        sight = _sight(launch, program.position - position)
        found.append(Spot(position, sight, logical, physical, offset, slot, row_at))
    return found


def _sight(launch: Launch, distance: int) -> str:
    if distance < 0:
        return LATER
    return OUTSIDE if launch.window and distance >= launch.window else READ


def window_of(group: dict[str, Any]) -> int | None:
    """WINDOW of the kernel; None: all up to the row's own."""
    return int(group["window"]) if group["type"] == "sliding" else None


def is_walkable(group: dict[str, Any]) -> bool:
    """The kernel knows full attention and a window, as the models that run here have them."""
    return group["type"] in ("full", "sliding")
