"""The cache tensors: which layers share them, how large they are, and a look inside."""

import pytest

from engine.config import SamplingParams
from engine.errors import ConfigError
from engine.runner.kv_cache import KVCacheLayout
from engine.runner.model_runner import ModelRunner
from tests.runner.builders import build_engine, build_loaded, build_stock


@pytest.fixture(scope="module")
def tiny():
    return build_loaded(build_stock())


def test_the_cache_is_one_tensor_per_layer_or_per_position_in_a_group(tiny):
    runner = ModelRunner(tiny, num_blocks=10, block_size=4)
    assert [tuple(tensor.shape) for tensor in runner.tensors] == [(2, 10, 4, 2, 8)] * 2
    assert runner.kv_bytes == 2 * 2 * 10 * 4 * 2 * 8 * 4
    shared = ModelRunner(tiny, num_blocks=10, block_size=4, groups=[[0], [1]])
    assert len(shared.tensors) == 1
    assert shared.kv_caches[0] is shared.kv_caches[1]
    assert shared.kv_bytes == runner.kv_bytes // 2


def test_layers_of_two_groups_find_their_tensor():
    layout = KVCacheLayout(10, ((0, 2, 4), (1, 3)), (4, 4))
    assert layout.num_layers == 5
    assert layout.num_tensors == 3
    assert [layout.group_of_layer(i) for i in range(5)] == [0, 1, 0, 1, 0]
    assert [layout.tensor_of_layer(i) for i in range(5)] == [0, 0, 1, 1, 2]


def test_groups_of_different_block_sizes_are_refused():
    with pytest.raises(ConfigError, match=r"block sizes \(4, 8\) make pages of different sizes"):
        KVCacheLayout(10, ((0,), (1,)), (4, 8))


def test_a_cache_beyond_the_memory_is_refused_with_its_size(tiny):
    with pytest.raises(
        ConfigError, match=r"num_blocks=4000000 needs \d+ bytes for the KV cache, more than cpu has"
    ):
        ModelRunner(tiny, num_blocks=4_000_000, block_size=1 << 30)


def test_peek_shows_what_was_written_and_refuses_what_is_not_there(tiny):
    engine, _ = build_engine(tiny, block_size=4)
    engine.add_request("a", [1, 2, 3, 4, 5], sampling=SamplingParams(max_tokens=1))
    engine.schedule()
    engine.run()
    (table,) = engine.scheduler.kv_cache_manager.get_block_tables("a")
    keys, values = engine.runner.peek_kv(table[1], layer=1, head=0)
    assert (len(keys), len(keys[0]), len(values)) == (4, 8, 4)
    assert any(keys[0])
    assert keys[1] == [0.0] * 8  # only one token lies in the second block
    for place in ((200, 0, 0), (-1, 0, 0), (0, 2, 0), (0, 0, 2)):
        with pytest.raises(ConfigError, match="is out of range: give 0 to"):
            engine.runner.peek_kv(*place)
