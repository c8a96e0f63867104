"""What a visitor can do to a run that is on: abort, reset the cache, let wait what can never fit."""

import pytest

from engine.trace.events import CacheReset, HitCut, RequestAborted
from tests.views.page import (
    notice,
    open_own,
    payload,
    prompt,
    prompt_form,
    send,
    set_number,
    set_switch,
    shown_notice,
)
from tests.views.runs import trace_with_cut_hits
from views.runs import Run

FOR_EVER = "Let it wait for ever, as vLLM does"


def now(app):
    """The sentence of the moment that the page shows."""
    story = payload(app, "narration")
    return story["lines"][story["current"]]["text"]


def card(app, request_id):
    return next(c for c in payload(app, "requests")["cards"] if c["id"] == request_id)


def last_event(app, kind):
    run = app.session_state["desks"]["playground"].run
    events = [e for step in range(run.trace.num_steps) for e in run.trace.step_events(step)]
    return next((e for e in reversed(events) if isinstance(e, kind)), None)


def at_end(app):
    shown = payload(app, "transport")
    return shown["position"] == shown["last"]


def run_steps(app, step):
    return send(app, "target", {"step": step, "plus": 0, "sequence": step + 1})


def stuck(app):
    """Three blocks, two of them usable; r0 grows beyond them, r1 waits behind it."""
    open_own(app)
    set_number(app, "num_blocks", 3)
    set_switch(app, "wait_for_ever", True)
    app.button(key="apply").click().run()
    send(app, "added", prompt("x" * 15, mode="raw"))
    send(app, "added", prompt("abc", mode="raw", max_tokens="2"))
    return run_steps(app, 20)


def test_an_abort_is_seen_and_the_card_of_the_aborted_has_no_button(app):
    send(open_own(app), "added", prompt())
    run_steps(app, 1)
    assert card(app, "r0")["abort"]["label"] == "abort r0"
    send(app, "aborted", "r0")
    assert now(app).startswith("r0 is aborted: its client left.")
    assert card(app, "r0")["word"] == "aborted"
    assert "abort" not in card(app, "r0")
    assert at_end(app)
    assert not payload(app, "transport")["can_go_on"]
    assert payload(app, "transport")["num_interventions"] == 1, "so that the player stops"


def test_a_waiting_request_can_be_aborted_before_its_first_step(app):
    send(open_own(app), "added", prompt())
    send(app, "aborted", "r0")
    assert card(app, "r0")["word"] == "aborted"


def test_from_the_past_an_abort_applies_to_the_end_of_the_run_and_says_so_before(app):
    send(open_own(app), "added", prompt())
    run_steps(app, 2)
    assert "ends here" in card(app, "r0")["abort"]["hint"]
    send(app, "target", {"position": 3, "sequence": 8})
    hint = card(app, "r0")["abort"]["hint"]
    assert hint.startswith("You are looking at the past")
    assert "at the end of the run" in hint
    send(app, "aborted", "r0")
    assert at_end(app)
    assert now(app).startswith("r0 is aborted")
    assert last_event(app, RequestAborted).step == 3


def test_what_has_ended_by_now_cannot_be_aborted_from_its_past(app):
    send(open_own(app), "added", prompt(max_tokens="2"))
    run_steps(app, 5)
    send(app, "target", {"position": 2, "sequence": 8})
    button = card(app, "r0")["abort"]
    assert button["off"]
    assert "has ended" in button["hint"]


def test_a_recorded_run_offers_neither_abort_nor_reset(app):
    app.run()
    assert all("abort" not in c for c in payload(app, "requests")["cards"])
    assert payload(app, "pool")["reset"] is None


@pytest.mark.parametrize("nonsense", ["r99", "", 5, None, {"a": 1}])
def test_an_abort_of_nobody_costs_nothing(app, nonsense):
    send(open_own(app), "added", prompt())
    send(app, "aborted", nonsense)
    assert not app.error
    assert card(app, "r0")["word"].startswith("waiting")


def test_a_reset_is_refused_while_blocks_are_in_use_and_granted_after(app):
    send(open_own(app), "added", prompt(max_tokens="2"))
    run_steps(app, 0)
    send(app, "reset", True)
    assert now(app) == "The prefix cache cannot be reset while 4 blocks are in use."
    assert not last_event(app, CacheReset).ok
    run_steps(app, 5)
    send(app, "target", {"position": 2, "sequence": 9})
    assert payload(app, "pool")["reset"]["hint"].startswith("You are looking at the past")
    send(app, "reset", True)
    assert now(app) == "The prefix cache is reset: all hashes are forgotten."
    assert last_event(app, CacheReset).ok
    assert at_end(app)
    assert "0 hashes remembered" in payload(app, "pool")["summary"]


def test_without_prefix_caching_the_reset_says_why_it_is_off(app):
    open_own(app)
    set_switch(app, "enable_prefix_caching", False)
    app.button(key="apply").click().run()
    button = payload(app, "pool")["reset"]
    assert button["off"]
    assert "enable_prefix_caching is off" in button["hint"]


def test_a_run_that_is_stuck_offers_to_abort_its_head_and_goes_on_after(app):
    stuck(app)
    assert "Nothing can run any more: r0" in notice(app, "stuck")
    way_out = shown_notice(app, "stuck")["way_out"]
    assert (way_out["word"], way_out["what"], way_out["sent"]) == ("Abort r0", "aborted", "r0")
    assert not payload(app, "transport")["can_go_on"], "so that play stops"
    send(app, way_out["what"], way_out["sent"])
    assert notice(app, "stuck") is None
    assert payload(app, "transport")["can_go_on"]
    run_steps(app, 40)
    assert card(app, "r1")["word"] == "finished: length"


def test_a_recorded_run_that_is_stuck_cannot_be_helped(app):
    app.run()
    app.button(key="panel_settings").click().run()
    set_number(app, "num_blocks", 6)
    app.button(key="apply").click().run()
    send(app, "target", {"position": 10**6, "sequence": 1})
    assert shown_notice(app, "stuck")["way_out"] is None


def test_a_prompt_that_can_never_fit_may_be_let_in_from_its_refusal(app):
    open_own(app)
    send(app, "added", prompt())
    send(app, "added", prompt("x" * 600))
    way_out = shown_notice(app, "error")["way_out"]
    assert way_out["word"] == FOR_EVER
    assert "1 request starts over" in way_out["hint"]
    send(app, way_out["what"], way_out["sent"])
    assert notice(app, "error") is None
    assert [c["id"] for c in payload(app, "requests")["cards"]] == ["r0", "r1"]
    assert not app.session_state["desks"]["playground"].run.config.refuse_oversized
    assert prompt_form(app)["draft"]["text"] == ""
    run_steps(app, 60)
    assert "r1 stands at the head" in notice(app, "stuck")


def test_settings_that_a_prompt_no_longer_fits_may_be_let_in_from_their_refusal(app):
    open_own(app)
    send(app, "added", prompt())
    set_number(app, "num_blocks", 4)
    app.button(key="apply").click().run()
    assert shown_notice(app, "error")["way_out"]["word"] == FOR_EVER
    send(app, "waited", True)
    config = app.session_state["desks"]["playground"].run.config
    assert (config.num_blocks, config.refuse_oversized) == (4, False)
    assert len(payload(app, "requests")["cards"]) == 1


def test_another_mistake_offers_no_way_out(app):
    send(open_own(app), "added", prompt("x" * 600))
    send(app, "added", prompt(max_tokens="0"))
    assert shown_notice(app, "error")["way_out"] is None
    send(app, "waited", True)
    assert app.session_state["desks"]["playground"].run.config.refuse_oversized


@pytest.mark.parametrize(
    ("what", "sent"),
    [
        ("added", prompt(max_tokens="2")),
        ("aborted", "r0"),
        ("reset", True),
        ("until", {"kind": "done"}),
    ],
)
def test_what_is_done_next_ends_a_refusal_and_a_step_does_not(app, what, sent):
    send(open_own(app), "added", prompt(max_tokens="2"))
    send(app, "added", prompt(max_tokens="0"))
    run_steps(app, 0)
    assert "max_tokens=0" in notice(app, "error")
    send(app, what, sent)
    assert notice(app, "error") is None


def test_the_seed_of_the_form_reaches_the_request(app):
    open_own(app)
    form = prompt_form(app)
    assert (form["draft"]["seed"], form["words"]["seed"]) == ("0", "seed")
    send(app, "added", prompt(seed="41", temperature="1"))
    run = app.session_state["desks"]["playground"].run
    assert run.trace.at(run.trace.last).requests["r0"].added.seed == 41


def test_a_step_with_a_cut_hit_says_that_it_departs_from_vllm(app):
    trace = trace_with_cut_hits()
    step = next(
        step
        for step in range(trace.num_steps)
        if any(isinstance(event, HitCut) for event in trace.step_events(step))
    )
    app.run()
    app.session_state["desks"]["playground"].run = Run(
        trace, app.session_state["desks"]["playground"].run.config
    )
    app.session_state["desks"]["playground"].cursor = trace.after_update(step)
    app.run()
    assert not app.error
    assert "departs from vLLM 0.17.1" in notice(app, "departs")
    assert any(line.get("departs") for line in payload(app, "narration")["lines"])
    app.session_state["desks"]["playground"].cursor = trace.after_update(step - 1)
    app.run()
    assert notice(app, "departs") is None, "the step before departs from nothing"
