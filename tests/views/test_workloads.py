"""What can be compared: own letters, other orders of arrival, the run of the playground."""

import pytest

from engine.config import EngineConfig
from engine.errors import ConfigError
from engine.workload import read_workload
from tests.views.comparisons import TEXT, halves
from tests.views.runs import NAMES, WORKLOADS, golden_trace
from views.workloads import arranged, letters, material_of

# Own letters ---------------------------------------------------------------------------------------


def test_a_line_is_a_request_and_a_character_a_token():
    workload = letters("ABC > xy\n\n@7 é 漢\nAB", TEXT).workload
    assert [(r.id, r.arrival_step, r.prompt, r.output) for r in workload.requests] == [
        ("r0", 0, (65, 66, 67), (120, 121)),
        ("r1", 7, (233, 32, 28450), (46,)),
        ("r2", 2, (65, 66), (46,)),
    ]


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ("", "There is no request"),
        (" \n ", "There is no request"),
        ("AB\n> xy", "Line 2, “> xy”, is no request"),
        ("@201 AB", "Line 1 would arrive in step 201: at most in step 200."),
        ("A\n" * 25, "25 lines are too many requests to compare: at most 24."),
        ("A" * 601, "That is more than 600 characters"),
    ],
)
def test_letters_that_are_no_requests_get_a_sentence(lines, sentence):
    with pytest.raises(ConfigError, match=sentence):
        letters(lines, TEXT)


@pytest.mark.parametrize(
    ("order", "arrivals"),
    [
        ("given", [("r0", 0), ("r1", 1), ("r2", 4)]),
        ("reversed", [("r2", 0), ("r1", 1), ("r0", 4)]),
        ("shortest", [("r1", 0), ("r2", 1), ("r0", 4)]),
        ("together", [("r0", 0), ("r1", 0), ("r2", 0)]),
    ],
)
def test_an_order_gives_the_same_steps_to_others(order, arrivals):
    workload = letters("ABCDE\nA\n@4 ABC", TEXT).workload
    assert [(r.id, r.arrival_step) for r in arranged(workload, order).requests] == arrivals


# The run of the playground -------------------------------------------------------------------------


REPEATABLE = [
    name
    for name in NAMES
    if read_workload(WORKLOADS / f"{name}.json").config.spec is None
    and name != "oversized"  # nobody knows what two of its requests would have said
]


@pytest.mark.parametrize("name", REPEATABLE)
def test_a_run_repeated_from_its_trace_goes_the_same_way(name):
    trace = golden_trace(name)
    config = EngineConfig.from_mapping(trace.header.config)
    material = material_of(trace, config)
    assert material.num_left_out == 0
    one, _ = halves(material)
    again = one.trace
    for step in range(min(trace.num_steps, again.num_steps)):
        ours, theirs = (t.at(t.after_update(step)).snapshot() for t in (again, trace))
        assert ours == theirs, step


def test_a_request_without_a_token_is_left_out():
    material = material_of(golden_trace("oversized"), EngineConfig())
    assert material.num_left_out == 2
    assert len(material.workload.requests) == 1
