"""Paged attention on a GPU: three Triton kernels. triton_backend.py launches them.

The K and V of one sequence lie in blocks that may stand anywhere in the cache. Its block table says
where, so a kernel finds a token by its position alone. With block_size = 4:

    position         0  1  2  3 | 4  5  6  7 | 8  9
    block_table           7     |     2      |   5
    slot            28 29 30 31 | 8  9 10 11 | 20 21      block_table[pos // 4] * 4 + pos % 4

    write_kernel        puts the K and V rows of a step into their slots
    attention_kernel    lets every query row see the slots of its sequence: in prefill, in a chunk
                        of one, in decode, or all of them in one step
    combine_kernel      joins the parts where the KV of a sequence was split over several programs

A kernel's body is what one *program* does. The launch says how many there are (the grid), and the
GPU runs them side by side, in no order. A program of `attention_kernel` has one tile of the queries
of one sequence, and one KV head, and walks over that sequence's K and V tile by tile: read it from
`attention_kernel` to `walk` to `find_rows`, where the paging is. Names in capitals are constants:
Triton compiles a kernel anew for each of their values.

Without a GPU the same code runs in Triton's interpreter, on CPU tensors: TRITON_INTERPRET=1, set
before torch is imported.
"""

import triton
import triton.language as tl


@triton.jit
def find_rows(
    table_ptr: tl.tensor,  # the block table of one sequence
    positions: tl.tensor,
    is_seen: tl.tensor,
    stride_block: tl.tensor,
    stride_slot: tl.tensor,
    BLOCK_SIZE: tl.constexpr,
) -> tl.tensor:
    """The paging itself: position -> logical block -> physical block -> where its row begins."""
    logical_blocks = positions // BLOCK_SIZE
    blocks = tl.load(table_ptr + logical_blocks, mask=is_seen, other=0).to(tl.int64)
    return blocks * stride_block + (positions % BLOCK_SIZE) * stride_slot


@triton.jit
def fold_in(
    scores: tl.tensor,
    value: tl.tensor,
    top: tl.tensor,
    total: tl.tensor,
    acc: tl.tensor,
    PRECISION: tl.constexpr,
) -> tl.tensor:
    """Online softmax: take the next tile of scores into `acc`, the weighted sum of the values.

    `top` is the largest score yet and `total` the sum of 2 ** (score - top). Where a tile brings a
    larger score, what was summed before fades to the new scale. A row that has seen nothing yet has
    top = -inf, and -inf - -inf is not a number: hence `base`.
    """
    new_top = tl.maximum(top, tl.max(scores, 1))
    base = tl.where(new_top == float("-inf"), 0.0, new_top)
    weights = tl.exp2(scores - base[:, None])
    fade = tl.exp2(top - base)
    acc = acc * fade[:, None] + tl.dot(weights.to(value.dtype), value, input_precision=PRECISION)
    return new_top, total * fade + tl.sum(weights, 1), acc


@triton.jit
def walk(
    query: tl.tensor,  # [TILE_ROWS, HEAD_PAD]
    own_position: tl.tensor,  # [TILE_ROWS]; of a row that is only there to fill the tile: -1
    key_ptr: tl.tensor,  # the cache, at this KV head
    value_ptr: tl.tensor,
    table_ptr: tl.tensor,
    begin: tl.tensor,  # no row sees a position before it
    end: tl.tensor,  # nor this one or any after it
    split: tl.tensor,
    scale_log2: tl.tensor,
    stride_block: tl.tensor,
    stride_slot: tl.tensor,
    TILE_ROWS: tl.constexpr,
    TILE_KV: tl.constexpr,
    HEAD_SIZE: tl.constexpr,
    HEAD_PAD: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    WINDOW: tl.constexpr,
    NUM_SPLITS: tl.constexpr,
    PRECISION: tl.constexpr,
    WIDEN: tl.constexpr,
) -> tl.tensor:
    """One split's share of the tiles of [begin, end): top, total and acc of fold_in.

    A position outside is not loaded, not even to be hidden: 0 * NaN is NaN, and a slot that nobody
    wrote may hold one.
    """
    top = tl.full([TILE_ROWS], float("-inf"), tl.float32)
    total = tl.zeros([TILE_ROWS], tl.float32)
    acc = tl.zeros([TILE_ROWS, HEAD_PAD], tl.float32)
    first_tile, end_tile = begin // TILE_KV, tl.cdiv(end, TILE_KV)
    share = tl.cdiv(end_tile - first_tile, NUM_SPLITS)
    first_tile += split * share
    d = tl.arange(0, HEAD_PAD)
    for tile in range(first_tile, tl.minimum(first_tile + share, end_tile)):
        positions = tile * TILE_KV + tl.arange(0, TILE_KV)
        is_seen = (positions >= begin) & (positions < end)
        rows = find_rows(table_ptr, positions, is_seen, stride_block, stride_slot, BLOCK_SIZE)
        mask = is_seen[:, None] & (d < HEAD_SIZE)[None, :]
        key = tl.load(key_ptr + rows[:, None] + d[None, :], mask=mask, other=0.0)
        value = tl.load(value_ptr + rows[:, None] + d[None, :], mask=mask, other=0.0)
        if WIDEN:
            key, value = key.to(tl.float32), value.to(tl.float32)
        scores = tl.dot(query, tl.trans(key), input_precision=PRECISION) * scale_log2
        distance = own_position[:, None] - positions[None, :]
        visible = distance >= 0
        if WINDOW:
            visible = visible & (distance < WINDOW)
        scores = tl.where(visible, scores, float("-inf"))
        top, total, acc = fold_in(scores, value, top, total, acc, PRECISION)
    return top, total, acc


# A block table that grows wider must not compile the kernel anew: its stride is a plain number.
@triton.jit(do_not_specialize=["stride_table"])
def attention_kernel(
    out_ptr: tl.tensor,  # [num_tokens, num_heads, head_size]
    part_ptr: tl.tensor,  # [num_tokens, num_heads, NUM_SPLITS, head_size] float32; unused without splits
    stats_ptr: tl.tensor,  # [num_tokens, num_heads, NUM_SPLITS, 2] float32: top and total of each part
    query_ptr: tl.tensor,  # [num_tokens, num_heads, head_size]
    key_ptr: tl.tensor,  # [num_blocks, block_size, num_kv_heads, head_size]
    value_ptr: tl.tensor,
    block_table_ptr: tl.tensor,  # [num_seqs, blocks of the longest]
    query_start_ptr: tl.tensor,  # [num_seqs + 1]
    seq_lens_ptr: tl.tensor,  # [num_seqs]
    tiles_ptr: tl.tensor,  # [num_tiles, 2]: a sequence, and which of its queries is the tile's first
    scale_log2: tl.tensor,  # softmax scale * log2(e): the GPU's own exponential is exp2
    stride_query: tl.tensor,
    stride_query_head: tl.tensor,
    stride_out: tl.tensor,
    stride_out_head: tl.tensor,
    stride_block: tl.tensor,
    stride_slot: tl.tensor,
    stride_kv_head: tl.tensor,
    stride_table: tl.tensor,
    ONE_QUERY_EACH: tl.constexpr,  # then tile n is the query of sequence n: nothing to look up
    GROUP: tl.constexpr,  # query heads that share a KV head: 3 in SmolLM2, 7 in Qwen2-0.5B
    TILE_QUERIES: tl.constexpr,
    TILE_ROWS: tl.constexpr,  # a power of two >= TILE_QUERIES * GROUP, and >= 16 for tl.dot
    TILE_KV: tl.constexpr,  # a power of two, whatever the block size
    HEAD_SIZE: tl.constexpr,
    HEAD_PAD: tl.constexpr,  # HEAD_SIZE made up to a power of two
    BLOCK_SIZE: tl.constexpr,
    WINDOW: tl.constexpr,  # a query sees so many keys, its own included; 0: all up to its own
    NUM_SPLITS: tl.constexpr,
    PRECISION: tl.constexpr,
    WIDEN: tl.constexpr,  # compute in float32 whatever the cache holds
) -> None:
    """One tile of queries, one KV head, one split of the KV."""
    tile, split = tl.program_id(0) // NUM_SPLITS, tl.program_id(0) % NUM_SPLITS
    kv_head = tl.program_id(1)
    if ONE_QUERY_EACH:
        seq, first_query, start, num_queries = tile, 0, tile, 1
    else:
        seq, first_query = tl.load(tiles_ptr + 2 * tile), tl.load(tiles_ptr + 2 * tile + 1)
        start = tl.load(query_start_ptr + seq)
        num_queries = tl.load(query_start_ptr + seq + 1) - start
    num_before = tl.load(seq_lens_ptr + seq) - num_queries  # queries are a sequence's last tokens

    # Row i is query i // GROUP and head i % GROUP of the group: they share every K and V loaded.
    i, d = tl.arange(0, TILE_ROWS), tl.arange(0, HEAD_PAD)
    index = first_query + i // GROUP
    is_row = (i < TILE_QUERIES * GROUP) & (index < num_queries)
    token, head = (start + index).to(tl.int64), kv_head * GROUP + i % GROUP
    mask = is_row[:, None] & (d < HEAD_SIZE)[None, :]
    at = (token * stride_query + head * stride_query_head)[:, None] + d[None, :]
    query = tl.load(query_ptr + at, mask=mask, other=0.0)

    end = num_before + tl.minimum(first_query + TILE_QUERIES, num_queries)
    begin = tl.maximum(num_before + first_query - WINDOW + 1, 0) if WINDOW else 0
    top, total, acc = walk(
        query.to(tl.float32) if WIDEN else query, tl.where(is_row, num_before + index, -1),
        key_ptr + kv_head * stride_kv_head, value_ptr + kv_head * stride_kv_head,
        block_table_ptr + seq.to(tl.int64) * stride_table,
        begin, end, split, scale_log2, stride_block, stride_slot,
        TILE_ROWS, TILE_KV, HEAD_SIZE, HEAD_PAD, BLOCK_SIZE, WINDOW, NUM_SPLITS, PRECISION, WIDEN,
    )  # fmt: skip
    if NUM_SPLITS == 1:
        out = acc / tl.where(total == 0.0, 1.0, total)[:, None]  # a row that saw nothing: zeros
        at = (token * stride_out + head * stride_out_head)[:, None] + d[None, :]
        tl.store(out_ptr + at, out.to(out_ptr.dtype.element_ty), mask=mask)
    else:
        part = (token * (tl.num_programs(1) * GROUP) + head) * NUM_SPLITS + split
        tl.store(stats_ptr + part * 2, top, mask=is_row)
        tl.store(stats_ptr + part * 2 + 1, total, mask=is_row)
        tl.store(part_ptr + part[:, None] * HEAD_SIZE + d[None, :], acc, mask=mask)


@triton.jit
def combine_kernel(
    out_ptr: tl.tensor,
    part_ptr: tl.tensor,
    stats_ptr: tl.tensor,
    stride_out: tl.tensor,
    stride_out_head: tl.tensor,
    HEAD_SIZE: tl.constexpr,
    HEAD_PAD: tl.constexpr,
    NUM_SPLITS: tl.constexpr,
    SPLITS_PAD: tl.constexpr,
) -> None:
    """One query row of one head: bring its parts to the scale of the largest score, and add."""
    token, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    split, d = tl.arange(0, SPLITS_PAD), tl.arange(0, HEAD_PAD)
    part = (token * tl.num_programs(1) + head) * NUM_SPLITS + split
    is_split = split < NUM_SPLITS
    top = tl.load(stats_ptr + part * 2, mask=is_split, other=float("-inf"))
    total = tl.load(stats_ptr + part * 2 + 1, mask=is_split, other=0.0)
    is_used = total > 0.0  # a split may have had nothing to see
    highest = tl.max(tl.where(is_used, top, -1e30), 0)
    weight = tl.where(is_used, tl.exp2(top - highest), 0.0)
    mask = is_used[:, None] & (d < HEAD_SIZE)[None, :]
    acc = tl.load(part_ptr + part[:, None] * HEAD_SIZE + d[None, :], mask=mask, other=0.0)
    sum_total = tl.sum(weight * total, 0)
    out = tl.sum(acc * weight[:, None], 0) / tl.where(sum_total == 0.0, 1.0, sum_total)
    at = token * stride_out + head * stride_out_head + d
    tl.store(out_ptr + at, out.to(out_ptr.dtype.element_ty), mask=d < HEAD_SIZE)


@triton.jit
def write_kernel(
    key_ptr: tl.tensor,  # [num_tokens, num_kv_heads, head_size]
    value_ptr: tl.tensor,
    key_cache_ptr: tl.tensor,  # [num_blocks, block_size, num_kv_heads, head_size]
    value_cache_ptr: tl.tensor,
    slot_mapping_ptr: tl.tensor,  # [num_tokens]; -1: a row that is only there to fill a graph
    stride_key: tl.tensor,
    stride_key_head: tl.tensor,
    stride_value: tl.tensor,
    stride_value_head: tl.tensor,
    stride_block: tl.tensor,
    stride_slot: tl.tensor,
    stride_kv_head: tl.tensor,
    BLOCK_SIZE: tl.constexpr,
    NUM_KV_HEADS: tl.constexpr,
    HEAD_SIZE: tl.constexpr,
    ROW_PAD: tl.constexpr,  # NUM_KV_HEADS * HEAD_SIZE made up to a power of two
) -> None:
    """One token: all of its KV heads into its slot."""
    token = tl.program_id(0).to(tl.int64)
    slot = tl.load(slot_mapping_ptr + token).to(tl.int64)
    i = tl.arange(0, ROW_PAD)
    head, d = i // HEAD_SIZE, i % HEAD_SIZE
    mask = (i < NUM_KV_HEADS * HEAD_SIZE) & (slot >= 0)
    row = slot // BLOCK_SIZE * stride_block + slot % BLOCK_SIZE * stride_slot
    key = tl.load(key_ptr + token * stride_key + head * stride_key_head + d, mask=mask)
    value = tl.load(value_ptr + token * stride_value + head * stride_value_head + d, mask=mask)
    tl.store(key_cache_ptr + row + head * stride_kv_head + d, key, mask=mask)
    tl.store(value_cache_ptr + row + head * stride_kv_head + d, value, mask=mask)
