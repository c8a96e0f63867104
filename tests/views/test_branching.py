"""Branches on the page: what is offered, and what comes of it."""

import pytest

from engine.trace.events import SettingChanged
from tests.views.branches import (
    added,
    branch,
    go_to_end_of,
    names,
    run_id,
    run_steps,
    said,
    shown,
    two_prompts,
)
from tests.views.page import (
    notice,
    open_own,
    payload,
    prompt,
    prompt_form,
    send,
    set_number,
)
from views.actions import ACTIONS
from views.drafts import Branch

# What it says before it does ----------------------------------------------------------------------


def test_a_branch_says_what_it_is_before_it_is_made(app):
    two_prompts(app)
    go_to_end_of(app, 2)
    assert app.button(key="branch").label == "Branch from step 3 with these"
    same = said(app, "Branching loses nothing")
    assert "run 1 stays" in same
    assert "before step 3 as it was, and goes on from there" in same
    set_number(app, "max_num_batched_tokens", 32)
    assert "max_num_batched_tokens changes there, between two steps" in said(app, "Branching")
    set_number(app, "block_size", 4)
    both = said(app, "Branching")
    assert "block_size" in both
    assert "again with these settings" in both
    assert "Its past may look different" in both
    assert "2 requests start over; 6 steps so far will be gone" in said(app, "Changes")
    assert len(app.session_state["desks"]["playground"].shelf.kept) == 1, "nothing has happened yet"
    set_number(app, "block_size", "*many*")
    assert said(app, "What a branch would be") is not None


def test_inside_a_step_it_says_that_the_branch_begins_before_it(app):
    two_prompts(app)
    go_to_end_of(app, 2)
    position = payload(app, "transport")["position"]
    assert "inside" not in said(app, "Branching")
    send(app, "target", {"position": position + 2})
    assert "lies inside step 3: the branch begins before" in said(app, "Branching")
    assert app.button(key="branch").label == "Branch from step 3 with these"


def test_the_panel_follows_when_time_goes_to_another_step(app):
    two_prompts(app)
    for step in (4, 1):
        go_to_end_of(app, step)
        assert app.button(key="branch").label == f"Branch from step {step + 1} with these"


def test_a_move_draws_the_open_panel_anew_only_if_its_offer_changes(app):
    two_prompts(app)
    chosen = app.session_state["desks"]["playground"]
    run = chosen.run
    ends = run.trace.position(run.trace.after_update(2))

    def moves(position):
        return ACTIONS["target"](chosen, run, {"position": position})

    assert moves(ends), "the step is another one"
    assert moves(ends + 1), "now the moment lies inside the step"
    assert not moves(ends + 2)
    for chosen.panel in ("prompts", ""):  # the form goes with the time, without the page
        assert [moves(ends), moves(ends + 2)] == [False, False]


def test_every_setting_says_what_it_does_and_what_vllm_calls_it(app):
    two_prompts(app)
    kinds = payload(app, "fields")["kinds"]
    assert kinds[0]["title"] == "May change between two steps: a branch keeps its past as it was."
    fields = [field for kind in kinds for field in kind["fields"]]
    assert [(field["label"], field["name"]) for field in fields] == [
        ("Token budget of a step", "max_num_batched_tokens"),
        ("Requests that run at once", "max_num_seqs"),
        ("Longest piece of a prompt", "long_prefill_token_threshold"),
        ("Tokens per block", "block_size"),
        ("Blocks in the pool", "num_blocks"),
        ("Prefix caching", "enable_prefix_caching"),
        ("Let what can never fit wait for ever", "refuse_oversized=True"),
    ]
    assert all("vLLM" in field["hint"] for field in fields)


def test_nothing_is_branched_from_a_run_in_which_nothing_has_happened(app):
    open_own(app)
    reason = said(app, "Nothing has run yet, so there is nothing to branch from")
    assert "apply changed settings at once" in reason
    assert [button.key for button in app.button if button.key == "branch"] == []
    send(app, "added", prompt())
    assert app.button(key="branch").label == "Branch from step 0 with these"


# What comes of it -----------------------------------------------------------------------------


def test_a_branch_stands_where_it_began_and_the_old_run_stays(app, monkeypatch):
    two_prompts(app)
    monkeypatch.setattr("views.runs.MAX_STEPS_AT_ONCE", 2)
    go_to_end_of(app, 2)
    old = app.session_state["desks"]["playground"].run
    num_events = old.trace.num_events
    set_number(app, "max_num_batched_tokens", 8)
    branch(app)
    new = app.session_state["desks"]["playground"].run
    assert new is not old
    assert names(app) == [
        ("Run 1", ""),
        ("Run 2", "from run 1 at step 3, max_num_batched_tokens=8"),
    ]
    assert shown(app) == "Run 2"
    assert payload(app, "until")["running"] == "until the branch begins"
    send(app, "pursued", payload(app, "until")["share"])
    assert payload(app, "until")["running"] is None
    changes = [e for e in new.trace.events_from(0) if isinstance(e, SettingChanged)]
    assert [(e.step, e.value) for e in changes] == [(3, 8)]
    assert payload(app, "transport")["position"] == payload(app, "transport")["last"]
    assert old.trace.num_events == num_events
    assert new.config.max_num_batched_tokens == 8
    run_steps(app, 5)
    assert payload(app, "transport")["step"] == 5


def test_another_block_size_does_the_past_again_in_the_branch(app):
    two_prompts(app)
    set_number(app, "block_size", 4)
    branch(app)
    assert names(app)[1][1] == "from run 1 at step 6, block_size=4, past done again"
    new = app.session_state["desks"]["playground"].run
    assert new.trace.header.config["block_size"] == 4
    assert new.trace.num_steps == 6
    assert added(app) == [("r0", 0), ("r1", 0)]


def test_what_came_later_comes_along_only_if_asked(app):
    two_prompts(app)
    send(app, "added", prompt("Later"))
    run_steps(app, 8)
    go_to_end_of(app, 2)
    box = next(box for box in app.checkbox if box.label == "Bring along what comes later")
    branch(app)
    assert added(app) == [("r0", 0), ("r1", 0)]
    assert len(app.session_state["desks"]["playground"].run.asked) == 2
    send(app, "switched", run_id(app, "Run 1"))
    go_to_end_of(app, 2)
    box = next(box for box in app.checkbox if box.label == "Bring along what comes later")
    box.check().run()
    branch(app)
    run_steps(app, 8)
    assert added(app) == [("r0", 0), ("r1", 0), ("r2", 6)]


def test_a_prompt_from_the_past_comes_in_a_branch(app):
    two_prompts(app)
    form = prompt_form(app)
    assert form["here"] is None
    assert form["where"] == "Goes to the end of the run: step 6 will see it first."
    go_to_end_of(app, 1)
    here = prompt_form(app)["here"]
    assert here["word"] == "Add here, in a branch from step 2"
    assert "Run 1 stays as it is" in here["hint"]
    send(app, "added_here", prompt("Between", max_tokens="2"))
    assert added(app) == [("r0", 0), ("r1", 0), ("r2", 2)]
    assert names(app)[1] == ("Run 2", "from run 1 at step 2, with r2")
    assert prompt_form(app)["draft"]["text"] == ""
    assert [draft.text for draft in app.session_state["desks"]["playground"].run.asked][
        -1
    ] == "Between"


@pytest.mark.parametrize(
    ("draft", "sentence"),
    [(prompt(max_tokens="0"), "max_tokens=0"), (prompt("x" * 600), "the pool has 63")],
)
def test_a_refused_branch_costs_nothing(app, draft, sentence):
    two_prompts(app)
    go_to_end_of(app, 1)
    before = app.session_state["desks"]["playground"].run
    send(app, "added_here", draft)
    assert sentence in notice(app, "error")
    assert app.session_state["desks"]["playground"].run is before
    assert len(payload(app, "runs")["runs"]) == 1
    assert prompt_form(app)["draft"]["text"] == draft["text"]
    shown_error = next(n for n in payload(app, "notices")["notices"] if n["kind"] == "error")
    assert shown_error["way_out"] is None, "letting it wait would restart the run"


def test_a_branch_that_is_stopped_on_its_way_goes_on_step_by_step(app, monkeypatch):
    two_prompts(app)
    monkeypatch.setattr("views.runs.MAX_STEPS_AT_ONCE", 2)
    branch(app)
    send(app, "pursued", payload(app, "until")["share"])
    send(app, "stopped", True)
    assert "Stopped on the way to step 6" in notice(app, "note")
    assert app.session_state["desks"]["playground"].run.trace.num_steps == 4
    for step in (5, 7, 8):
        run_steps(app, step)
    assert payload(app, "transport")["step"] == 8
    assert app.session_state["desks"]["playground"].run.branch_step is None


def test_the_documentations_letters_branch_with_their_script(app):
    app.run()
    app.button(key="panel_settings").click().run()
    assert app.button(key="branch").disabled, "without a change the script only repeats itself"
    go_to_end_of(app, 2)
    set_number(app, "max_num_seqs", 1)
    assert "the script brings later" in said(app, "Branching")
    branch(app)
    assert payload(app, "until")["running"] is None, "a script is there at once"
    assert names(app)[1] == ("Run 2", "from run 1 at step 3, max_num_seqs=1")
    assert payload(app, "transport")["step"] in (2, 3)
    story = payload(app, "narration")
    assert story["lines"][story["current"]]["text"] == "max_num_seqs is 1 from now on."
    assert [id_ for id_, _ in added(app)] == ["request0", "request1", "request2"]
    send(app, "target", {"position": 10**6})
    go_to_end_of(app, app.session_state["desks"]["playground"].run.trace.num_steps - 1)
    set_number(app, "max_num_seqs", 2)
    branch(app)
    assert "the script is at its end" in notice(app, "error")


def test_a_script_does_its_past_again_with_other_blocks(app):
    app.run()
    app.button(key="panel_settings").click().run()
    go_to_end_of(app, 2)
    set_number(app, "block_size", 8)
    branch(app)
    assert payload(app, "pool")["num_blocks"] == 11
    assert app.session_state["desks"]["playground"].run.config.block_size == 8
    assert names(app)[1][1].endswith("block_size=8, past done again")


def on_its_way(app, monkeypatch):
    """A branch of 6 steps that has repeated two of them."""
    two_prompts(app)
    monkeypatch.setattr("views.runs.MAX_STEPS_AT_ONCE", 2)
    branch(app)
    assert payload(app, "until")["running"] == "until the branch begins"


def arrive(app):
    for _ in range(6):
        send(app, "pursued", payload(app, "until")["share"])
    assert payload(app, "until")["running"] is None
    return app.session_state["desks"]["playground"].run


def test_a_step_on_the_way_to_a_branch_does_not_end_the_way(app, monkeypatch):
    on_its_way(app, monkeypatch)
    run_steps(app, 3)
    assert payload(app, "until")["running"] == "until the branch begins"
    assert arrive(app).trace.num_steps == 6
    assert payload(app, "transport")["position"] == payload(app, "transport")["last"]


def test_a_prompt_added_on_the_way_to_a_branch_comes_in_when_it_has_begun(app, monkeypatch):
    on_its_way(app, monkeypatch)
    send(app, "added", prompt("Late"))
    assert added(app) == [("r0", 0), ("r1", 0)]
    arrive(app)
    assert added(app) == [("r0", 0), ("r1", 0), ("r2", 6)]


def test_no_other_branch_is_made_while_one_is_on_its_way(app, monkeypatch):
    on_its_way(app, monkeypatch)
    assert said(app, "This run is on its way to step 6") is not None
    assert [button.key for button in app.button if button.key == "branch"] == []
    assert prompt_form(app)["here"] is None
    send(app, "branched", Branch({}))
    assert "on its way to step 6" in notice(app, "error")
    assert len(names(app)) == 2
    arrive(app)


def test_a_branch_that_is_left_on_its_way_goes_on_when_somebody_turns_to_it(app, monkeypatch):
    on_its_way(app, monkeypatch)
    send(app, "switched", run_id(app, "Run 1"))
    assert payload(app, "until")["running"] is None
    send(app, "switched", run_id(app, "Run 2"))
    assert arrive(app).trace.num_steps == 6
