"""Bytes to blocks, layers to groups."""

import pytest

from engine.config import EngineConfig, GroupConfig
from engine.core.kv_cache_manager import KVCacheManager
from engine.core.kv_cache_spec import (
    ChunkedLocalAttentionSpec,
    FullAttentionSpec,
    MambaSpec,
    MLAAttentionSpec,
    SinkFullAttentionSpec,
    SlidingWindowSpec,
    spec_of,
)
from engine.core.sizing import num_blocks_from_bytes, plan_kv_cache
from engine.errors import ConfigError

FULL = FullAttentionSpec(16, num_kv_heads=2, head_size=64, dtype_bytes=2)
SLIDING = SlidingWindowSpec(16, num_kv_heads=2, head_size=64, dtype_bytes=2, window=512)


def test_the_known_example_has_131928_blocks():
    plan = plan_kv_cache([FULL] * 24)
    assert plan.page_size_bytes == 8_192
    assert plan.num_blocks(25_938_100_224) == 131_928
    assert plan.tensor_bytes(131_928) == 1_080_754_176
    assert plan.pool_bytes(131_928) == 24 * 1_080_754_176
    assert plan.num_blocks(plan.pool_bytes(131_928)) == 131_928


@pytest.mark.parametrize(
    ("spec", "bytes_"),
    [
        (FullAttentionSpec(16, 2, 64, 2, head_size_v=32), 16 * 2 * 96 * 2),
        (SLIDING, 8_192),
        (ChunkedLocalAttentionSpec(16, 2, 64, 2, chunk=128), 8_192),
        (MLAAttentionSpec(16, 1, 576, 2), 16 * 576 * 2),
        (MLAAttentionSpec(64, 1, 576, 1, cache_format="fp8_ds_mla"), 64 * 656),
        (SinkFullAttentionSpec(16, 2, 64, 2), 8_192),
        (MambaSpec(16, dtype_bytes=2, state_shapes=((4, 8), (3,))), 70),
        (MambaSpec(16, dtype_bytes=2, state_shapes=((4, 8),), padded_bytes=8_192), 8_192),
    ],
)
def test_the_page_of_each_spec(spec, bytes_):
    assert spec.page_size_bytes == bytes_


@pytest.mark.parametrize(
    ("num_full", "num_sliding", "group_size", "sizes"),
    [
        (4, 0, 4, [4]),
        (3, 15, 3, [3, 3, 3, 3, 3, 3]),  # min
        (5, 6, 6, [5, 6]),  # 6 < 1.25 * 5: max, and the first group is padded
        (4, 5, 4, [4, 3, 2]),  # 5 is not below 1.25 * 4
    ],
)
def test_layers_are_dealt_to_groups(num_full, num_sliding, group_size, sizes):
    plan = plan_kv_cache([FULL] * num_full + [SLIDING] * num_sliding)
    assert plan.group_size == group_size
    assert [len(group) for group in plan.groups] == sizes
    assert sorted(layer for group in plan.groups for layer in group) == list(
        range(num_full + num_sliding)
    )


def test_the_ith_layers_of_all_groups_share_a_tensor():
    plan = plan_kv_cache([FULL, SLIDING, SLIDING, SLIDING])
    assert plan.groups == ((0,), (1,), (2,), (3,))
    assert plan.tensors == ((0, 1, 2, 3),)
    plan = plan_kv_cache([FULL, FULL, SLIDING, SLIDING, SLIDING, SLIDING])
    assert plan.groups == ((0, 1), (2, 4), (3, 5))
    assert plan.tensors == ((0, 2, 3), (1, 4, 5))


def test_concurrency_counts_blocks_of_a_full_length_request_in_every_group():
    plan = plan_kv_cache([FULL, SLIDING])
    # full: 4096 / 16; sliding: (511 + 2048) / 16 rounded up, and one for the window's edge
    assert plan.blocks_per_request(4096, 2048) == 256 + 160 + 1
    assert plan.max_concurrency(834, 4096, 2048) == 2.0


def test_pages_of_different_size_are_refused():
    with pytest.raises(ConfigError, match="different sizes"):
        plan_kv_cache([FULL, FullAttentionSpec(32, 2, 64, 2)])


def test_a_pool_sized_from_bytes_must_hold_max_model_len():
    plan = plan_kv_cache([FullAttentionSpec(16, 8, 128, 2)] * 8)
    config = EngineConfig(block_size=16, max_model_len=256)
    with pytest.raises(ConfigError) as caught:
        num_blocks_from_bytes(plan, 1_048_576, config)
    assert str(caught.value) == (
        "kv_cache_bytes=1048576 buys 2 blocks of 16 tokens (524288 bytes each), but "
        "max_model_len=256 needs 16: raise kv_cache_bytes to 8388608 or lower max_model_len to 32"
    )
    assert num_blocks_from_bytes(plan, 8_388_608, config) == 16


@pytest.mark.parametrize("kind", ["mamba", "cross", "sink_full"])
def test_what_cannot_be_run_says_what_is_missing(kind):
    config = EngineConfig(kv_groups=(GroupConfig(type=kind),))
    with pytest.raises(ConfigError, match="missing"):
        KVCacheManager(config)


def test_mla_is_managed_as_full_attention():
    config = EngineConfig(kv_groups=(GroupConfig(type="mla"),))
    assert isinstance(spec_of(config.groups[0], 4), MLAAttentionSpec)
    assert KVCacheManager(config).get_block_tables("nobody") == ([],)
