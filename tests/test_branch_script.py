"""A branch of a scripted run, and every golden run repeated from its inputs alone."""

import msgspec
import pytest

from engine.engine import Engine
from engine.errors import ConfigError
from engine.sources.branch import (
    ScriptedBranch,
    beginning,
    course_of,
    plan_branch,
    scripted_changes,
)
from engine.trace.codec import without_times
from engine.trace.events import BlocksTaken, StepBegan
from engine.trace.header import TraceHeader
from engine.trace.trace import Trace
from engine.workload import ScriptedRunner, read_workload
from tests.views.runs import NAMES, WORKLOADS, golden_trace


def plain(trace):
    return [without_times(event) for event in trace.events_from(0)]


def script_branch(name, cursor, settings):
    trace = golden_trace(name)
    plan = plan_branch(trace, cursor, settings)
    workload = msgspec.structs.replace(
        read_workload(WORKLOADS / f"{name}.json"), config=plan.config
    )
    branch = Trace(TraceHeader(config=plan.config.to_mapping()))
    changes = scripted_changes(trace, cursor, plan)
    run = ScriptedBranch(workload, changes, emit=branch.append)
    for _ in run.run():
        pass
    run.check_changes()
    return branch


@pytest.mark.parametrize("name", NAMES)
def test_a_golden_run_repeats_itself_from_its_inputs(name):
    """Course on the bare engine: aborts in the middle, resets and adapters included."""
    trace = golden_trace(name)
    workload = read_workload(WORKLOADS / f"{name}.json")
    if workload.config.spec is not None:
        pytest.skip("drafts belong to the script, not to the inputs")
    cursor = trace.cursor_at(trace.num_positions // 2)
    course = course_of(trace, cursor, plan_branch(trace, cursor, {}), keep_later=True)
    again = Trace(trace.header)
    engine = Engine(workload.config, ScriptedRunner(workload), emit=again.append)
    course.begin(engine)
    while engine.step_index < trace.num_steps:
        course.take_step(engine)
    assert plain(again) == plain(trace)


def test_a_script_goes_on_with_its_own_tokens_after_a_branch():
    trace = golden_trace("doc_example")
    branch = script_branch("doc_example", trace.after_update(2), {})
    assert plain(branch) == plain(trace)
    slow = script_branch("doc_example", trace.after_update(2), {"max_num_seqs": 1})
    outputs = {id_: r.output_token_ids for id_, r in trace.at(trace.last).requests.items()}
    assert {id_: r.output_token_ids for id_, r in slow.at(slow.last).requests.items()} == outputs
    assert slow.num_steps > trace.num_steps
    assert slow.events(*beginning(slow, 3))[0].step == 3
    assert isinstance(slow.events(*beginning(slow, 3))[0], StepBegan)


def test_a_script_with_other_blocks_does_its_past_again():
    trace = golden_trace("doc_example")
    branch = script_branch("doc_example", trace.after_update(2), {"block_size": 8})
    first_taken = next(e for e in plain(branch) if isinstance(e, BlocksTaken))
    assert first_taken.block_ids == (1, 2)
    assert beginning(branch, 99) == branch.last


def test_at_its_end_a_script_has_nothing_left_that_a_setting_could_change():
    trace = golden_trace("doc_example")
    with pytest.raises(ConfigError, match="the script is at its end"):
        script_branch("doc_example", trace.last, {"max_num_seqs": 1})
