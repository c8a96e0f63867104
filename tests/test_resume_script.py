"""The bare engine goes on with every golden run that was killed on its way."""

import pytest

from engine.engine import Engine
from engine.sources.recorded import last_whole
from engine.sources.resume import Repetition, course_again
from engine.trace.events import INPUT_EVENTS
from engine.trace.trace import Trace
from engine.workload import ScriptedRunner, read_workload
from tests.test_branch_script import plain
from tests.views.runs import NAMES, WORKLOADS, golden_trace


@pytest.mark.parametrize("name", NAMES)
def test_a_golden_run_killed_in_the_middle_goes_on_with_its_script(name):
    """The engine alone: its later inputs come from the file of the workload, as from a visitor."""
    trace = golden_trace(name)
    workload = read_workload(WORKLOADS / f"{name}.json")
    if workload.config.spec is not None:
        pytest.skip("drafts belong to the script, not to the inputs")
    events = trace.events_from(0)
    for share in (0.2, 0.5, 0.8):
        cut = Trace(trace.header)
        cut.extend(events[: int(share * len(events))])
        back = last_whole(cut)
        later = [e for e in events[back.num_events :] if isinstance(e, INPUT_EVENTS)]
        course = course_again(back)
        course = type(course)(course.step, [*course.left, *later], course.tokens)
        engine = Engine(workload.config, ScriptedRunner(workload), emit=Repetition(back).emit)
        course.begin(engine)
        while engine.step_index < trace.num_steps:
            course.take_step(engine)
        assert plain(back) == plain(trace)
