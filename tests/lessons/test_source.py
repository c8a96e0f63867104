"""What is read off vLLM's source, and that the engine keeps to it where it has the same thing."""

import inspect
import os
from pathlib import Path

import pytest

from engine.core.block import Block
from engine.core.kv_cache_manager import KVCacheManager
from lessons.errors import FactError
from lessons.facts import reading, source
from lessons.library import load_lesson
from lessons.vllm_source import VllmSource, read_source

TREE = {
    "v1/core/kv_cache_utils.py": "class KVCacheBlock:\n    block_id: int\n    ref_cnt: int = 0\n",
    "v1/core/kv_cache_manager.py": (
        "class KVCacheManager:\n    def allocate_slots(self, request, num_new_tokens): ...\n"
    ),
    "config/cache.py": "class CacheConfig:\n    block_size: int = 8\n    other: int = other()\n",
    "platforms/moon.py": (
        "def f(c):\n"
        "    c.block_size = 7\n"
        "    if c and c.block_size is None:\n"
        "        if c.dust:\n            c.block_size = 64\n"
        "        else:\n            c.block_size = 16\n"
    ),
    "platforms/sun.py": "",
    "v1/attention/backends/plain.py": (
        "class B:\n    def get_kv_cache_shape(n, b):\n        return (2, n, b)\n"
    ),
    "v1/attention/backends/odd.py": (
        "class B:\n    def get_kv_cache_shape(n, b):\n        return (n, b * 2)\n"
    ),
}


def test_fields_parameters_defaults_and_shapes_are_read_without_an_import(tmp_path: Path) -> None:
    for name, content in TREE.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    assert read_source(tmp_path, "9.9") == VllmSource(
        version="9.9",
        block_fields=("block_id", "ref_cnt"),
        allocate_slots=("request", "num_new_tokens"),
        declared_block_size=8,
        block_sizes={"moon": (16, 64)},
        cache_shapes={"plain": ("2", "n", "b")},
    )


@pytest.mark.skipif("VLLM_SOURCE" not in os.environ, reason="VLLM_SOURCE is no folder of vLLM")
def test_the_file_is_what_the_source_says() -> None:
    assert read_source(Path(os.environ["VLLM_SOURCE"]), "0.17.1") == source.vllm_source()


def test_the_engine_keeps_no_time_of_a_block_and_is_given_the_request_too() -> None:
    assert source.vllm_source().version == "0.17.1"
    assert not any(
        "time" in name for name in (*Block.__slots__, *source.vllm_source().block_fields)
    )
    parameters = list(inspect.signature(KVCacheManager.allocate_slots).parameters)[1:]
    assert tuple(parameters[:2]) == source.vllm_source().allocate_slots[:2]


def test_a_lookup_asks_for_the_prompts_hashes_up_to_the_first_miss() -> None:
    trace = load_lesson("23").traces["docs"]
    assert reading.num_hashes_asked_for(trace, request="r0") == 1
    assert reading.num_hashes_asked_for(trace, request="r1") == 3
    assert reading.num_hashes_asked_for(trace, request="r2") == 4
    with pytest.raises(FactError, match="r1 is looked up 1 times"):
        reading.num_hashes_asked_for(trace, request="r1", nth=2)


def test_attention_reads_the_blocks_of_its_own_request_and_of_no_other() -> None:
    trace = load_lesson("23").traces["pressure"]
    assert reading.blocks_read(trace, request="a", step=0) == (1, 2)
    assert reading.blocks_read(trace, request="b", step=0) == (3, 4)
    with pytest.raises(FactError, match="b is not scheduled in step 8"):
        reading.blocks_read(trace, request="b", step=8)


def test_what_the_source_does_not_have_is_a_sentence() -> None:
    trace = load_lesson("23").traces["docs"]
    assert source.default_block_sizes(trace) == (16, 64, 128)
    with pytest.raises(FactError, match="not on moon"):
        source.default_block_sizes(trace, platform="moon")
    with pytest.raises(FactError, match="not moon"):
        source.cache_shape(trace, backend="moon")
