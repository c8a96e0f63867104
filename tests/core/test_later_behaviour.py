"""What versions of vLLM after 0.17.1 do, on the settings that turn it on."""

from pathlib import Path

import msgspec
import pytest

from engine.config import EngineConfig
from engine.core.block import FreeBlockQueue
from engine.core.block_pool import BlockPool
from engine.errors import ConfigError
from engine.recorded_run import recorded_run
from engine.trace.events import BlocksFreed, BlocksTaken
from engine.trace.header import TraceHeader
from engine.trace.invariants import check
from engine.trace.trace import Trace
from engine.workload import ScriptedRun, read_workload
from tests.core.builders import run_script
from tests.trace.stories import fold

WORKLOADS = sorted((Path(__file__).parents[1] / "data/golden/workloads").glob("*.json"))
BOTH = {"reuse_unhashed_first": True, "count_lookups_once": True}
WAITS = [  # 8 and 20 tokens in six usable blocks: the second waits for the first
    {"id": "runs", "arrival_step": 0, "prompt": [*range(8)], "output": [*range(3)]},
    {"id": "big", "arrival_step": 0, "prompt": [*range(100, 120)], "output": [1]},
]


def test_ids_are_put_in_front_and_the_first_of_them_is_taken_next():
    queue = FreeBlockQueue(5)
    assert queue.pop_left(3) == [0, 1, 2]
    queue.prepend([2, 0])
    assert list(queue) == [2, 0, 3, 4]
    assert list(reversed(queue)) == [4, 3, 0, 2]
    queue.prepend([])
    assert queue.pop_left(4) == [2, 0, 3, 4]
    queue.prepend([1])
    assert (list(queue), len(queue)) == ([1], 1)


def test_a_freed_tail_without_a_hash_is_taken_before_blocks_that_were_never_used():
    request = {"id": "a", "arrival_step": 0, "prompt": [*range(9)], "output": [1]}
    run, events = run_script([request], num_blocks=7, reuse_unhashed_first=True)
    assert list(run.engine.scheduler.kv_cache_manager.pool.free_queue) == [3, 4, 5, 6, 2, 1]
    freed = next(event for event in events if isinstance(event, BlocksFreed))
    assert (freed.block_ids, freed.to_head) == ((3, 2, 1), (3,))
    state = fold(events, num_blocks=7)
    assert (state.at_head, list(state.freed)) == ([3], [2, 1])
    assert list(state.free_queue()) == [3, 4, 5, 6, 2, 1]
    assert state.free_queue_ends(2, 4) == ([3, 4], [5, 6, 2, 1])


def test_without_prefix_caching_the_table_comes_back_in_the_order_in_which_it_was_freed():
    settings = {"num_blocks": 7, "reuse_unhashed_first": True, "enable_prefix_caching": False}
    requests = [
        {"id": "a", "arrival_step": 0, "prompt": [*range(12)], "output": [1]},
        {"id": "b", "arrival_step": 1, "prompt": [*range(8)], "output": [1]},
    ]
    _, events = run_script(requests, **settings)
    taken = [event.block_ids for event in events if isinstance(event, BlocksTaken)]
    assert taken == [(1, 2, 3), (3, 2)]
    assert list(fold(events, **settings).free_queue()) == [2, 3, 1, 4, 5, 6]


def test_as_0_17_1_does_it_nothing_is_put_at_the_head():
    pool = BlockPool(5)
    pool.take("a", 0, 2)
    assert pool.release([2, 1]) == ()
    assert list(pool.free_queue) == [3, 4, 2, 1]


def test_a_lookup_counts_at_admission_alone():
    run, _ = run_script(WAITS[:1], num_blocks=7, count_lookups_once=True)
    assert run.engine.step_index == 3
    counted = [stats_after(num_steps, count_lookups_once=True) for num_steps in (1, 2, 3, 4)]
    assert counted == [(1, 8), (1, 8), (1, 8), (2, 28)]
    assert [stats_after(num_steps) for num_steps in (1, 2, 3, 4)] == [
        (2, 28),
        (3, 48),
        (4, 68),
        (5, 88),
    ]


def stats_after(num_steps, **settings):
    """Lookups and tokens counted in the first steps of WAITS."""
    _, events = run_script(WAITS, num_blocks=7, **settings)
    trace = Trace(TraceHeader(config=EngineConfig(num_blocks=7, **settings).to_mapping()))
    trace.extend(events)
    stats = trace.at(trace.after_update(num_steps - 1)).stats
    return stats.requests, stats.queries


def test_whoever_may_not_read_the_cache_is_not_counted():
    request = {**WAITS[0], "skip_reading_prefix_cache": True}
    _, events = run_script([request], num_blocks=7, count_lookups_once=True)
    assert fold(events, num_blocks=7).stats.queries == 0


@pytest.mark.parametrize("path", WORKLOADS, ids=lambda path: path.stem)
def test_the_fold_equals_the_engine_with_later_behaviour(path):
    workload = read_workload(path)
    config = msgspec.structs.replace(workload.config, **BOTH)
    trace = Trace(TraceHeader(config=config.to_mapping()))
    run = ScriptedRun(msgspec.structs.replace(workload, config=config), emit=trace.emit)
    while not run.is_over:
        run.step()
        state = trace.at(trace.last)
        assert state.snapshot() == run.engine.snapshot()
        check(state)
    middle = trace.cursor_at(trace.num_positions // 2)
    assert (
        trace.at(middle).snapshot()
        == fold(trace.events_before(middle), **trace.header.config).snapshot()
    )


def test_settings_that_are_off_are_named_nowhere():
    assert not BOTH.keys() & EngineConfig().to_mapping().keys()
    config = EngineConfig(count_lookups_once=True)
    assert EngineConfig.from_mapping(config.to_mapping()) == config


@pytest.mark.parametrize("name", BOTH)
def test_a_later_behaviour_is_on_or_off_and_has_no_recorded_run(name):
    with pytest.raises(ConfigError, match=f"{name}=1 is neither true nor false"):
        EngineConfig(**{name: 1})
    workload = read_workload(WORKLOADS[0])
    later = msgspec.structs.replace(workload.config, **{name: True})
    with pytest.raises(ConfigError, match=f"{name} is what versions of vLLM after 0.17.1 do"):
        next(recorded_run(msgspec.structs.replace(workload, config=later)))
