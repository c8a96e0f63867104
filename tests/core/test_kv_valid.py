"""K and V that nobody computed are not trusted (a defect of vLLM 0.17.1's priority policy)."""

from pathlib import Path

import msgspec
import pytest

from engine.config import EngineConfig
from engine.trace.events import HitCut
from engine.workload import ScriptedRun, Workload, read_workload

PATH = Path(__file__).parents[1] / "data/golden/workloads/priority_stale_blocks.json"


def run(workload: Workload):
    events = []
    scripted = ScriptedRun(workload, emit=events.append)
    snapshots = []
    for _ in scripted.run():
        snapshots.append(scripted.engine.snapshot())
    return events, snapshots


def with_recompute(workload: Workload) -> Workload:
    config = {**workload.config.to_mapping(), "recompute_invalid_hits": True}
    return msgspec.structs.replace(workload, config=EngineConfig.from_mapping(config))


def test_a_block_hashed_for_tokens_that_never_ran_is_marked_invalid():
    _, snapshots = run(read_workload(PATH))
    assert 15 in snapshots[6]["invalid_blocks"]
    assert all(not snapshot["invalid_blocks"] for snapshot in snapshots[:6])


def test_vllm_hits_the_invalid_block_and_we_cut_before_it_when_asked():
    workload = read_workload(PATH)
    events, _ = run(workload)
    assert not [event for event in events if isinstance(event, HitCut)]
    events, _ = run(with_recompute(workload))
    cuts = [event for event in events if isinstance(event, HitCut)]
    assert cuts
    assert cuts[0].block_id == 15
    assert (cuts[0].num_hit_tokens_before, cuts[0].num_hit_tokens) == (52, 48)


@pytest.mark.parametrize("name", ["same_step_sharing", "shared_system_prompt_100", "fuzz_00"])
def test_without_the_defect_nothing_is_cut(name):
    events, _ = run(with_recompute(read_workload(PATH.with_name(f"{name}.json"))))
    assert not [event for event in events if isinstance(event, HitCut)]
