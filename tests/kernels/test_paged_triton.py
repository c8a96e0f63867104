"""The Triton kernels against dense attention in float64. Every slot nobody wrote is NaN."""

import pytest
import torch

from engine.runner.attention import reference, triton_backend
from engine.runner.attention.backend import GroupBatch
from engine.runner.attention.tiling import (
    Tiling,
    choose_num_splits,
    choose_tiling,
    longest_walk,
)
from engine.runner.attention.triton_backend import (
    PagedPlan,
    TritonAttention,
    paged_attention,
    write_kv,
)
from tests.kernels import gate
from tests.runner.scattered import Scattered

pytestmark = pytest.mark.kernels

SCALE = 0.3
TOLERANCES = {torch.float32: 1e-5, torch.bfloat16: 2e-2, torch.float16: 3e-3}
if gate.DEVICE == "cuda":  # three TF32 products stand for one of float32
    TOLERANCES[torch.float32] = 1e-4


def scattered(shares, block_size=4, **options) -> Scattered:
    return Scattered(shares, block_size, device=gate.DEVICE, **options)


def plan_of(case: Scattered, window: int | None = None) -> PagedPlan:
    return TritonAttention().plan(case.batch, window=window, dtype=case.dtype)


def assert_right(case: Scattered, window: int | None = None, **options) -> None:
    plan = plan_of(case, window)
    write_kv(case.new(case.keys), case.new(case.values), case.kv_cache, plan.slot_mapping)
    found = paged_attention(case.query, case.kv_cache, plan=plan, scale=SCALE, **options)
    assert found.shape == case.query.shape
    assert found.dtype == case.query.dtype
    error = (found.double() - case.dense(window, SCALE)).abs().max()
    assert error < TOLERANCES[case.dtype], f"off by {error}"


@pytest.mark.parametrize("block_size", [1, 3, 4, 16, 32, 256])
def test_a_decode_is_right_at_every_block_edge(block_size):
    olds = {0, 1, block_size - 1, block_size, block_size + 1, 2 * block_size, 63, 64, 65}
    assert_right(scattered([(old, 1) for old in sorted(olds)], block_size))


@pytest.mark.parametrize("block_size", [1, 4, 256])
def test_prefill_chunks_and_decodes_share_one_launch(block_size):
    assert_right(scattered([(0, 37), (20, 17), (33, 1), (0, 1), (64, 3)], block_size))


@pytest.mark.parametrize("window", [1, 5, 64])
def test_a_window_counts_the_query_itself(window):
    assert_right(scattered([(70, 1), (3, 1), (0, 1)]), window)
    assert_right(scattered([(70, 1), (3, 1), (0, 1)]), window, num_splits=3, tile_kv=16)
    assert_right(scattered([(0, 30), (40, 9), (66, 1)]), window)


@pytest.mark.parametrize(
    ("num_kv_heads", "group", "head_size"),
    [(3, 3, 64), (2, 7, 64), (1, 1, 80), (2, 4, 16), (1, 2, 256), (1, 71, 16), (5, 1, 8)],
)
def test_any_number_of_heads_of_any_size(num_kv_heads, group, head_size):
    shape = {"num_kv_heads": num_kv_heads, "group": group, "head_size": head_size}
    assert_right(scattered([(20, 1), (3, 1)], **shape))
    assert_right(scattered([(20, 6), (0, 3)], **shape))


@pytest.mark.parametrize("dtype", list(TOLERANCES))
def test_every_dtype(dtype):
    assert_right(scattered([(40, 1), (3, 1)], dtype=dtype, head_size=64))
    assert_right(scattered([(40, 1), (3, 1)], dtype=dtype, head_size=64), num_splits=2, tile_kv=16)
    assert_right(scattered([(20, 9), (3, 1)], dtype=dtype, head_size=64))


@pytest.mark.parametrize("num_splits", [2, 3, 8])
def test_a_sequence_may_be_split_over_several_programs_and_some_find_nothing(num_splits):
    shares = [(0, 1), (15, 1), (16, 1), (70, 1)]
    assert_right(scattered(shares), num_splits=num_splits, tile_kv=16)
    assert_right(scattered([(30, 7), (0, 2)]), num_splits=num_splits, tile_kv=16)


@pytest.mark.parametrize("num_splits", [1, 3])
def test_what_left_the_window_may_hold_anything(num_splits):
    case = scattered([(40, 1), (18, 1)])
    for seq, length in enumerate(case.lengths):
        case.kv_cache.flatten(1, 2)[:, case.slots(seq)[: length - 6]] = float("nan")
    assert_right(case, window=6, num_splits=num_splits, tile_kv=16)


@pytest.mark.parametrize("num_splits", [1, 3])
def test_a_spare_row_of_a_graph_sees_nothing_and_writes_nothing(num_splits):
    case = scattered([(20, 1), (7, 1)])
    full = plan_of(case)
    spare = torch.full((1,), -1, device=gate.DEVICE)
    plan = PagedPlan(
        slot_mapping=torch.cat([full.slot_mapping, spare]),
        block_table=torch.cat([full.block_table, full.block_table[:1]]),
        seq_lens=torch.cat([full.seq_lens, torch.zeros_like(full.seq_lens[:1])]),
        query_start=torch.arange(4, dtype=torch.int32, device=gate.DEVICE),
        max_seq_len=full.max_seq_len,
    )
    rows = case.new(case.keys), case.new(case.values)
    key, value = (torch.cat([part, torch.ones_like(part[:1])]) for part in rows)
    before = case.kv_cache.clone()
    write_kv(key, value, case.kv_cache, plan.slot_mapping)
    changed = ~torch.isclose(before, case.kv_cache, equal_nan=True).all(-1).all(-1)
    assert changed.flatten(1).sum(1).tolist() == [2, 2]  # slots: two of the keys, two of the values
    query = torch.cat([case.query, torch.ones_like(case.query[:1])])
    out = paged_attention(
        query, case.kv_cache, plan=plan, scale=SCALE, num_splits=num_splits, tile_kv=16
    )
    assert (out[:2].double() - case.dense(None, SCALE)).abs().max() < TOLERANCES[torch.float32]
    assert out[2].eq(0).all()


def test_a_table_may_go_on_behind_the_sequence_with_anything():
    case = scattered([(9, 1), (30, 1)])
    plan = plan_of(case)
    plan.block_table = torch.nn.functional.pad(plan.block_table, (0, 3), value=-7)
    plan.block_table[0, 3:] = 2_000_000_000
    write_kv(case.new(case.keys), case.new(case.values), case.kv_cache, plan.slot_mapping)
    found = paged_attention(case.query, case.kv_cache, plan=plan, scale=SCALE)
    assert (found.double() - case.dense(None, SCALE)).abs().max() < TOLERANCES[torch.float32]


@pytest.mark.parametrize("block_size", [1, 4, 16])
@pytest.mark.parametrize("dtype", list(TOLERANCES))
def test_writing_puts_the_same_bits_where_torch_does(block_size, dtype):
    """K and V as a fused product leaves them: views with gaps between the rows."""
    generator = torch.Generator().manual_seed(1)
    qkv = torch.randn(20, 15 * 64, generator=generator).to(gate.DEVICE, dtype)
    key, value = (qkv[:, n * 64 : (n + 3) * 64].view(20, 3, 64) for n in (9, 12))
    slots = torch.randperm(11 * 16, generator=generator)[:20].to(gate.DEVICE)
    shape = (2, 11 * 16 // block_size, block_size, 3, 64)
    ours, theirs = (torch.zeros(shape, dtype=dtype, device=gate.DEVICE) for _ in range(2))
    write_kv(key, value, ours, slots)
    reference.write_kv(key, value, theirs, slots)
    assert torch.equal(ours, theirs)


def test_the_backend_gives_what_the_reference_gives():
    for shares in ([(0, 5), (9, 1), (4, 6)], [(9, 1), (30, 1)]):
        ours, theirs = scattered(shares), scattered(shares)
        outs = []
        for backend, case in (
            (TritonAttention(), ours),
            (reference.ReferenceAttention(), theirs),
        ):
            plan = backend.plan(case.batch, window=None, dtype=case.dtype)
            keys, values = case.new(case.keys), case.new(case.values)
            outs.append(
                backend.forward(case.query, keys, values, case.kv_cache, plan=plan, scale=SCALE)
            )
        torch.testing.assert_close(*outs, atol=TOLERANCES[torch.float32], rtol=0)
        torch.testing.assert_close(ours.kv_cache, theirs.kv_cache, equal_nan=True)


def test_an_empty_step_launches_nothing():
    batch = GroupBatch(4, (0,), (), (), torch.zeros(0, dtype=torch.int64, device=gate.DEVICE))
    backend, rows = TritonAttention(), torch.zeros(0, 4, 8, device=gate.DEVICE)
    plan = backend.plan(batch, window=None, dtype=rows.dtype)
    cache = torch.zeros(2, 3, 4, 2, 8, device=gate.DEVICE)
    out = backend.forward(rows, rows[:, :2], rows[:, :2], cache, plan=plan, scale=SCALE)
    assert out.shape == (0, 4, 8)


def test_a_tile_is_a_sequence_and_its_first_query():
    plan = plan_of(scattered([(2, 5), (7, 1), (0, 8)]))
    assert plan.tiles(4).tolist() == [[0, 0], [0, 4], [1, 0], [2, 0], [2, 4]]
    assert plan.tiles(8).tolist() == [[0, 0], [1, 0], [2, 0]]


def test_decodes_alone_need_no_list_of_tiles():
    assert plan_of(scattered([(2, 1), (7, 1)])).query_starts is None
    assert plan_of(scattered([(2, 2), (7, 1)])).query_starts == [0, 2, 3]


@pytest.mark.parametrize(
    ("group", "head_size", "dtype", "one_query_each", "expected"),
    [
        (3, 64, torch.bfloat16, True, Tiling(16, 1, 64, 4, 3)),
        (3, 64, torch.bfloat16, False, Tiling(64, 21, 64, 4, 3)),
        (7, 64, torch.float32, False, Tiling(64, 9, 32, 4, 3)),
        (1, 256, torch.float32, False, Tiling(16, 16, 16, 4, 2)),
        (71, 64, torch.bfloat16, True, Tiling(128, 1, 64, 4, 3)),
    ],
)
def test_how_large_the_tiles_are(group, head_size, dtype, one_query_each, expected):
    assert (
        choose_tiling(group, head_size, dtype.itemsize, one_query_each=one_query_each) == expected
    )


@pytest.mark.parametrize(
    ("num_programs", "walk", "expected"),
    [(3, 8192, 64), (3, 1024, 8), (3, 100, 1), (96, 8192, 2), (264, 8192, 1), (1000, 8192, 1)],
)
def test_few_programs_are_split_until_132_processors_are_busy(num_programs, walk, expected):
    assert choose_num_splits(num_programs, walk, 64, num_processors=132) == expected


@pytest.mark.parametrize(
    ("max_seq_len", "num_queries", "window", "expected"),
    [(8192, 1, None, 8192), (8192, 1, 512, 512), (100, 1, 512, 100), (8192, 21, 512, 532)],
)
def test_a_tile_walks_no_further_than_its_windows_reach(max_seq_len, num_queries, window, expected):
    assert longest_walk(max_seq_len, num_queries, window) == expected


@pytest.mark.parametrize(("window", "num_splits"), [(None, [16]), (300, [3]), (128, [])])
def test_the_splits_of_a_windowed_layer_are_those_of_its_window(window, num_splits, monkeypatch):
    """However long the context may grow that the plan was made for."""
    found = []
    real = triton_backend._parts
    monkeypatch.setattr(triton_backend, "num_processors", lambda device: 132)
    monkeypatch.setattr(
        triton_backend, "_parts", lambda query, num: (found.append(num), real(query, num))[1]
    )
    case = scattered([(330, 1), (0, 1)], block_size=16, num_kv_heads=1)
    plan = plan_of(case, window)
    plan.max_seq_len = 2048
    write_kv(case.new(case.keys), case.new(case.values), case.kv_cache, plan.slot_mapping)
    out = paged_attention(case.query, case.kv_cache, plan=plan, scale=SCALE)
    assert (out.double() - case.dense(window, SCALE)).abs().max() < TOLERANCES[torch.float32]
    assert found == num_splits
