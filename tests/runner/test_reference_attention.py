"""Paged attention against dense attention in float64. Every slot nobody wrote is NaN."""

import pytest
import torch

from engine.runner.attention.backend import GroupBatch
from engine.runner.attention.plan import Span, span_of, split_by_length
from engine.runner.attention.reference import ReferenceAttention
from tests.runner.scattered import Scattered

BLOCK_SIZES = (1, 3, 4, 16, 32)
TOLERANCES = {torch.float32: 2e-6, torch.bfloat16: 2e-2, torch.float16: 3e-3}


def attend(case: Scattered, window: int | None = None, scale: float = 0.3) -> torch.Tensor:
    backend = ReferenceAttention()
    plan = backend.plan(case.batch, window=window, dtype=case.dtype)
    keys, values = case.new(case.keys), case.new(case.values)
    return backend.forward(case.query, keys, values, case.kv_cache, plan=plan, scale=scale)


def assert_right(case: Scattered, window: int | None = None) -> None:
    found = attend(case, window)
    assert found.shape == case.query.shape
    assert found.dtype == case.query.dtype
    error = (found.double() - case.dense(window, 0.3)).abs().max()
    assert error < TOLERANCES[case.dtype], f"off by {error}"


@pytest.mark.parametrize("block_size", BLOCK_SIZES)
def test_a_decode_is_right_at_every_block_edge(block_size):
    for old in (0, 1, block_size - 1, block_size, block_size + 1, 2 * block_size + 1):
        assert_right(Scattered([(old, 1)], block_size))


@pytest.mark.parametrize("dtype", list(TOLERANCES))
def test_a_lone_decode_is_right_whether_its_blocks_stand_in_a_row_or_not(dtype):
    for tables in ([[1, 2, 3, 4]], [[2, 1, 4, 3]], [[3, 4, 5, 2]]):
        for window in (None, 3, 6):
            case = Scattered([(13, 1)], 4, dtype=dtype, tables=tables)
            assert_right(case, window)


@pytest.mark.parametrize("head_size", [1, 5, 8, 64, 65])
@pytest.mark.parametrize(("num_kv_heads", "group"), [(1, 1), (1, 7), (3, 1), (3, 3)])
@pytest.mark.parametrize("dtype", list(TOLERANCES))
def test_a_lone_decode_is_right_for_any_heads_and_ready_to_be_viewed(
    dtype, num_kv_heads, group, head_size
):
    shape = {"num_kv_heads": num_kv_heads, "group": group, "head_size": head_size}
    for tables in ([[1, 2, 3, 4]], [[2, 1, 4, 3]]):
        for window in (None, 1, 6):
            case = Scattered([(13, 1)], 4, dtype=dtype, tables=tables, **shape)
            assert_right(case, window)
            assert attend(case, window).is_contiguous()


@pytest.mark.parametrize("tables", [[[1, 2, 3, 4]], [[2, 1, 4, 3]]])
def test_a_lone_decode_writes_its_slot_and_no_other(tables):
    case = Scattered([(13, 1)], 4, tables=tables)
    before = case.kv_cache.clone()
    attend(case, window=6)
    slot = int(case.batch.slot_mapping[0])
    after, earlier = case.kv_cache.flatten(1, 2), before.flatten(1, 2)
    assert torch.equal(after[0, slot], case.keys[0][13])
    assert torch.equal(after[1, slot], case.values[0][13])
    after[:, slot] = earlier[:, slot]
    assert torch.equal(after.nan_to_num(7), earlier.nan_to_num(7))


@pytest.mark.parametrize("block_size", BLOCK_SIZES)
def test_a_chunk_is_right_at_every_block_edge(block_size):
    edges = (1, block_size - 1, block_size, block_size + 1)
    for old in (0, *edges):
        for new in (2, *edges):
            if new:
                assert_right(Scattered([(old, new)], block_size))


@pytest.mark.parametrize("group", [1, 3, 7])
@pytest.mark.parametrize("num_kv_heads", [1, 3])
def test_any_number_of_query_heads_may_share_a_kv_head(group, num_kv_heads):
    shares = [(9, 1), (0, 6), (5, 4), (3, 1)]
    assert_right(Scattered(shares, 4, num_kv_heads=num_kv_heads, group=group))


@pytest.mark.parametrize("block_size", BLOCK_SIZES)
@pytest.mark.parametrize("dtype", list(TOLERANCES))
def test_decodes_and_chunks_of_ragged_lengths_share_a_step(block_size, dtype):
    shares = [(70, 1), (0, 5), (1, 1), (33, 9), (0, 1), (64, 2), (31, 1)]
    assert_right(Scattered(shares, block_size, dtype=dtype))


@pytest.mark.parametrize("block_size", [1, 3, 4, 16])
@pytest.mark.parametrize("window", [1, 2, 4, 5, 16, 100])
def test_a_sliding_window_hides_what_is_older(block_size, window):
    for old in (0, window - 1, window, window + 1, 2 * window):
        assert_right(Scattered([(old, 1), (old, window), (old, window + 1)], block_size), window)


def test_blocks_outside_the_window_are_never_read():
    """Their places in the table are the null block by then."""
    case = Scattered([(40, 1), (38, 3)], 4)
    expected = case.dense(window=6, scale=0.3)
    for seq, old in ((0, 40), (1, 38)):
        outside = max(0, old - 5) // 4
        case.tables[seq][:outside] = [0] * outside
    found = attend(case, window=6)
    assert (found.double() - expected).abs().max() < 2e-6


def test_a_prefix_written_in_the_same_step_is_read():
    """Sequence 1 hits the blocks that sequence 0 fills right now."""
    case = Scattered([(0, 8), (8, 2)], 4)
    case.tables[1][:2] = case.tables[0]
    case.keys[1][:8], case.values[1][:8] = case.keys[0], case.values[0]
    case.kv_cache.fill_(float("nan"))
    assert_right(case)


def test_only_the_slots_of_the_step_are_written():
    case = Scattered([(5, 1), (2, 3)], 4)
    before = case.kv_cache.clone()
    attend(case)
    slots = case.batch.slot_mapping
    written = torch.zeros(before.shape[1] * 4, dtype=torch.bool)
    written[slots] = True
    after, earlier = case.kv_cache.flatten(1, 2), before.flatten(1, 2)
    assert torch.equal(after[0, slots], case.new(case.keys))
    assert torch.equal(after[1, slots], case.new(case.values))
    assert torch.equal(after[:, ~written].nan_to_num(7), earlier[:, ~written].nan_to_num(7))


def test_float32_activations_run_over_a_bfloat16_cache():
    for shares in ([(9, 1), (0, 6), (5, 4)], [(9, 1), (5, 1)], [(9, 1)], [(0, 6)]):
        case = Scattered(shares, 4)
        expected = case.dense(window=None, scale=0.3)
        case.kv_cache = case.kv_cache.to(torch.bfloat16)
        found = attend_narrow(case)
        assert found.dtype == torch.float32
        assert (found.double() - expected).abs().max() < 3e-2


def attend_narrow(case: Scattered) -> torch.Tensor:
    backend = ReferenceAttention()
    plan = backend.plan(case.batch, window=None, dtype=torch.bfloat16)
    keys, values = case.new(case.keys), case.new(case.values)
    return backend.forward(case.query, keys, values, case.kv_cache, plan=plan, scale=0.3)


def test_a_row_of_a_step_does_not_depend_on_its_neighbours():
    together = Scattered([(70, 1), (9, 1), (20, 6)], 4)
    rows = attend(together)
    case = Scattered([(70, 1), (9, 1), (20, 6)], 4)
    case.shares, case.query = case.shares[1:2], case.query[1:2]
    case.lengths, case.tables = case.lengths[1:2], case.tables[1:2]
    case.keys, case.values = case.keys[1:2], case.values[1:2]
    assert (attend(case) - rows[1:2]).abs().max() < 1e-6


@pytest.mark.parametrize(
    ("window", "num_rows", "last", "expected"),
    [
        (None, 1, 9, Span(0, 0, 9, 0, 3)),
        (5, 1, 9, Span(0, 4, 9, 1, 2)),  # sees 4..8, which begin block 1
        (6, 1, 9, Span(0, 3, 9, 0, 3)),
        (1, 1, 9, Span(0, 8, 9, 2, 1)),
        (5, 3, 9, Span(0, 2, 9, 0, 3)),  # the first row is at 6 and sees 2..6
        (9, 1, 9, Span(0, 0, 9, 0, 3)),
        (None, 1, 1, Span(0, 0, 1, 0, 1)),
        (None, 8, 8, Span(0, 0, 8, 0, 2)),
    ],
)
def test_a_span_covers_what_the_rows_see_in_blocks_of_4(window, num_rows, last, expected):
    batch = GroupBatch(4, (0, num_rows), (last,), ((1, 2, 3),), torch.arange(num_rows))
    assert span_of(batch, 0, window) == expected


def test_a_long_decode_is_no_reason_to_pad_thirty_short_ones():
    spans = [Span(seq, 0, 16, 0, 1) for seq in range(30)]
    long = Span(30, 0, 4096, 0, 256)
    assert split_by_length([*spans, long], 16) == [[long], spans]
    assert split_by_length(spans[:4], 16) == [spans[:4]]
    assert split_by_length([], 16) == []
