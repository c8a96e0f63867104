"""Blocks, the free queue, and what the pool forgets when."""

import pytest

from engine.core.block import FreeBlockQueue
from engine.core.block_pool import BlockPool, FullBlocks
from tests.core.builders import build_pool, build_request


def cache(pool, request, block_ids, first=0):
    hashes = request.block_hashes
    full = FullBlocks(
        0, 4, first, block_ids, hashes[first : first + len(block_ids)],
        hashes[first - 1] if first else None,
    )  # fmt: skip
    pool.cache_full_blocks(request, full)


def test_block_0_is_the_null_block_and_ids_start_at_1():
    pool = BlockPool(11)
    assert list(pool.free_queue) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    assert pool.usage == 0.0


def test_a_freed_request_gives_up_its_tail_first():
    pool = build_pool(num_blocks=5, block_tables={"A": [1, 2]})
    pool.free("A", [1, 2])
    assert list(pool.free_queue) == [3, 4, 2, 1]


def test_usage_has_exactly_vllms_form():
    pool = build_pool(num_blocks=6, block_tables={"A": [1]})
    assert pool.usage == 0.19999999999999996


@pytest.mark.parametrize(
    ("removed", "left"),
    [(1, [2, 3, 4]), (2, [1, 3, 4]), (4, [1, 2, 3])],
    ids=["head", "middle", "tail"],
)
def test_a_block_leaves_the_queue_from_any_place(removed, left):
    queue = FreeBlockQueue(5)
    queue.remove(0)
    queue.remove(removed)
    assert list(queue) == left
    assert list(reversed(queue)) == left[::-1]
    assert removed not in queue
    assert len(queue) == 3
    queue.append([removed])
    assert list(queue) == [*left, removed]


def test_an_empty_queue_fills_again():
    queue = FreeBlockQueue(3)
    assert queue.pop_left(3) == [0, 1, 2]
    assert list(queue) == []
    queue.append([2, 0])
    assert list(queue) == [2, 0]
    with pytest.raises(AssertionError, match="3 wanted, 2 free"):
        queue.pop_left(3)


def test_a_freed_block_keeps_its_hash_until_it_is_taken_again():
    pool = build_pool(num_blocks=4, block_tables={"a": [1]})
    request = build_request([1, 2, 3, 4, 5])
    cache(pool, request, [1])
    pool.free("a", [1])
    assert pool.get_cached_block(request.block_hashes[0], [0]) == [1]
    assert list(pool.free_queue) == [2, 3, 1]
    assert pool.take("b", 0, 2) == [2, 3]
    assert pool.get_cached_block(request.block_hashes[0], [0]) == [1]
    assert pool.take("b", 0, 1) == [1]
    assert pool.get_cached_block(request.block_hashes[0], [0]) is None


def test_of_equal_blocks_the_oldest_is_found_and_each_is_forgotten_alone():
    pool = build_pool(num_blocks=4, block_tables={"a": [1], "b": [2]})
    request = build_request([1, 2, 3, 4])
    cache(pool, request, [1])
    cache(pool, build_request([1, 2, 3, 4], request_id="b"), [2])
    assert pool.get_cached_block(request.block_hashes[0], [0]) == [1]
    pool.free("a", [1])
    assert pool.take("c", 0, 2) == [3, 1]
    assert pool.get_cached_block(request.block_hashes[0], [0]) == [2]


def test_a_touched_block_leaves_the_middle_of_the_queue():
    pool = build_pool(num_blocks=5, block_tables={"a": [1]})
    pool.free("a", [1])
    pool.touch("b", 0, [2])
    assert list(pool.free_queue) == [3, 4, 1]
    pool.touch("c", 0, [2])
    assert pool.blocks[2].ref_cnt == 2


def test_reset_forgets_hashes_but_not_the_order_of_the_queue():
    pool = build_pool(num_blocks=4, block_tables={"a": [1]})
    cache(pool, build_request([1, 2, 3, 4]), [1])
    assert not pool.reset_prefix_cache()
    pool.free("a", [1])
    assert pool.reset_prefix_cache()
    assert list(pool.free_queue) == [2, 3, 1]
    assert pool.cached == {}
