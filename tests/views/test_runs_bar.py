"""The runs that a visitor has beside each other."""

import pytest

from tests.views.branches import branch, go_to_end_of, names, run_id, run_steps, shown, two_prompts
from tests.views.page import load, notice, open_own, payload, prompt, send, set_number, turn_to
from views.shelf import MAX_RUNS


def test_each_run_keeps_its_cursor_and_what_is_selected_stays(app):
    two_prompts(app)
    assert names(app) == [("Run 1", "")], "the bar hides itself (runs.js)"
    go_to_end_of(app, 2)
    send(app, "selected", {"request": "r1"})
    position = payload(app, "transport")["position"]
    branch(app)
    run_steps(app, 4)
    there = payload(app, "transport")["position"]
    first, second = run_id(app, "Run 1"), run_id(app, "Run 2")
    send(app, "switched", first)
    assert shown(app) == "Run 1"
    assert payload(app, "transport")["position"] == position
    assert payload(app, "transport")["run"] == first
    assert app.session_state["desks"]["playground"].selection.request_id == "r1"
    send(app, "switched", second)
    assert payload(app, "transport")["position"] == there


def test_a_selected_block_that_the_other_run_does_not_have_costs_nothing(app):
    two_prompts(app)
    send(app, "selected", {"block": 60})
    set_number(app, "num_blocks", 30)
    branch(app)
    assert not app.error
    assert payload(app, "pool")["num_blocks"] == 30


def test_a_closed_branch_gives_way_to_the_run_it_came_from(app):
    two_prompts(app)
    branch(app)
    send(app, "switched", run_id(app, "Run 1"))
    branch(app)
    assert [name for name, _ in names(app)] == ["Run 1", "Run 2", "Run 3"]
    assert [run["can_close"] for run in payload(app, "runs")["runs"]] == [False, True, True]
    send(app, "dropped", run_id(app, "Run 2"))
    assert shown(app) == "Run 3"
    assert notice(app, "away") == "Run 2 was closed. It is saved."
    send(app, "dropped", run_id(app, "Run 3"))
    assert len(names(app)) == 1
    assert (
        app.session_state["desks"]["playground"].run
        is app.session_state["desks"]["playground"].shelf.kept[0].run
    )


def test_the_oldest_branch_goes_when_there_are_too_many_and_the_page_says_so(app):
    two_prompts(app, num_steps=2)
    for _ in range(MAX_RUNS - 1):
        branch(app)
    assert len(names(app)) == MAX_RUNS
    branch(app)
    assert [name for name, _ in names(app)] == [f"Run {n}" for n in (1, 3, 4, 5, 6, 7)]
    assert notice(app, "note") == (
        "Run 2, the oldest branch, was closed: 6 runs are kept side by side."
    )


def test_a_restart_takes_the_place_of_the_run_that_is_shown(app):
    two_prompts(app)
    branch(app)
    set_number(app, "block_size", 16)
    app.button(key="apply").click().run()
    assert names(app) == [("Run 1", ""), ("Run 2", "")]
    assert shown(app) == "Run 2"
    assert len(payload(app, "requests")["cards"]) == 2


def gists(app):
    return [run["gist"] for run in payload(app, "runs")["runs"]]


def test_a_run_that_is_no_branch_is_known_by_its_prompt_and_its_own_settings(app):
    open_own(app)
    send(app, "added", prompt("One  two three four five six seven eight"))
    assert gists(app) == ["“One two three four five six…”"]
    set_number(app, "num_blocks", 40)
    app.button(key="apply").click().run()
    assert gists(app) == ["“One two three four five six…”, num_blocks=40"]
    run_steps(app, 2)
    branch(app)
    assert gists(app)[1] == "", "what is different in a branch says so itself"


@pytest.mark.parametrize("example", ["doc_example", "own"])
def test_an_untouched_example_claims_no_setting_as_its_own(app, example):
    app.query_params["example"] = example
    load(app.run())
    assert [(run["name"], run["about"], run["gist"]) for run in payload(app, "runs")["runs"]] == [
        ("Run 1", "", "")
    ]
    app.button(key="panel_settings").click().run()
    set_number(app, "num_blocks", 9)
    app.button(key="apply").click().run()
    assert gists(app) == ["num_blocks=9"]


def test_another_example_has_runs_of_its_own(app):
    two_prompts(app)
    branch(app)
    turn_to(app, "doc_example")
    assert len(names(app)) == 1
    turn_to(app, "own")
    assert len(names(app)) == 2
    assert shown(app) == "Run 2"


@pytest.mark.parametrize("what", ["switched", "dropped"])
@pytest.mark.parametrize("sent", [None, -1, "x", {"a": 1}])
def test_a_run_that_is_not_there_changes_nothing(app, what, sent):
    two_prompts(app)
    branch(app)
    send(app, what, sent)
    assert not app.error
    assert len(names(app)) == 2
