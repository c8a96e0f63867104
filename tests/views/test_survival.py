"""A run outlives its page: its link brings it back, and an engine goes on with it."""

import threading

import pytest
import streamlit as st

from tests.views import fake_live
from tests.views.page import load, notice, payload, prompt, prompt_form, send, set_number
from tests.views.survival import (
    address,
    again,
    begun,
    come_back,
    desk,
    files,
    plain,
    step_to,
    visit,
)
from views.limits import server_limits

NO_ID = "A" * 22
NONSENSE = ["", "x", NO_ID, "../../etc/passwd", "A" * 21 + "/", "<b>x</b>", "\u202e" * 22, "%00"]


def test_a_visit_alone_saves_nothing(app):
    app.query_params["example"] = "shared_prompt"
    load(app.run())
    assert len(payload(app, "requests")["cards"]) == 4
    assert (files(), "run" in address(app)) == ([], False)
    step_to(app, 0)
    assert len(files()) == 2
    assert address(app)["run"] + ".jsonl" in files()


def test_a_reload_shows_the_same_run_and_goes_on_as_if_nothing_had_happened(app):
    step_to(begun(app, "Hello", "Help!"), 2)
    back = again(app)
    assert address(back) == address(app)
    assert plain(back) == plain(app)
    assert notice(back, "note").endswith("saved: 3 finished steps.")
    assert payload(back, "transport")["position"] == payload(app, "transport")["position"]
    come_back(back)
    send(back, "added", prompt("And now?", max_tokens="2"))
    send(app, "added", prompt("And now?", max_tokens="2"))
    for each in (app, back):
        step_to(each, 30)
        assert not payload(each, "transport")["can_go_on"]
    assert plain(back) == plain(app)
    assert address(back)["run"] != address(app)["run"], "each visitor goes on in a run of their own"


def test_whoever_goes_on_from_a_link_is_told_once_that_it_is_a_copy(app):
    step_to(begun(app, "Hello"), 2)
    assert notice(app, "note") is None
    there = come_back(again(app))
    step_to(there, 1)
    assert "a copy" not in (notice(there, "note") or ""), "to look is not to go on"
    step_to(there, 3)
    assert address(there)["run"] != address(app)["run"]
    assert notice(there, "note") == (
        "From here on this is a copy with a link of its own: the run of the link that was opened "
        "stays as it was."
    )
    step_to(there, 4)
    assert notice(there, "note") is None


def test_a_link_stays_at_its_moment_while_the_engine_repeats_the_past(app):
    step_to(begun(app, "Hello"), 4)
    send(app, "target", {"step": 1, "plus": 0, "sequence": 9})
    back = again(app)
    shown = payload(back, "transport")
    assert (shown["step"], desk(back).run.branch_step) == (1, 5)
    assert payload(back, "until")["running"] == "until the engine has repeated the past of this run"
    send(back, "target", {"step": 2, "plus": 0, "sequence": 10})
    assert desk(back).pursuit is not None, "looking around does not stop it"
    send(send(back, "selected", {"block": 1}), "lens", "block")
    why_not = payload(back, "block")["kv"]["why_not"]
    assert why_not == "Not yet: first the engine has to repeat this run up to here."
    come_back(back)
    assert (payload(back, "transport")["step"], desk(back).run.branch_step) == (2, None)
    assert payload(back, "block")["kv"]["why_not"] != why_not


def test_who_stops_it_lets_it_go_on_with_a_step_beyond_the_end(app):
    step_to(begun(app, "Hello"), 3)
    back = send(again(app), "stopped", True)
    assert "nothing can be asked of it" in notice(back, "note")
    assert desk(back).pursuit is None
    step_to(back, 5)
    assert desk(back).run.trace.num_steps == 4
    come_back(back)
    step_to(back, 5)
    assert desk(back).run.trace.num_steps == 6


def test_before_the_model_is_there_a_run_can_be_looked_at_and_nothing_pretends_more(
    app, monkeypatch
):
    step_to(begun(app, "Hello", "Help!"), 2)
    st.cache_resource.clear()
    is_loaded = threading.Event()
    monkeypatch.setattr(
        fake_live, "load_model", lambda progress, **_: is_loaded.wait(30) and "fake"
    )
    back = again(app)
    why = "This run can be looked at, and goes on once the model is there."
    assert notice(back, "at_rest") == why
    assert not payload(back, "transport")["can_go_on"]
    send(send(back, "selected", {"block": 1}), "lens", "block")
    not_yet = "Not yet: first the engine has to repeat this run up to here."
    assert payload(back, "block")["kv"]["why_not"] == not_yet
    send(back, "until", {"kind": "done"})
    assert (notice(back, "at_rest"), notice(back, "note")) == (why, None), "said once"
    back.button(key="panel_settings").click().run()
    assert why in [caption.value for caption in back.caption]
    assert "branch" not in [button.key for button in back.button]
    form = prompt_form(back)
    assert (form["can_add"], form["here"], form["count"]) == (False, None, why)
    assert not any("abort" in card for card in payload(back, "requests")["cards"])
    for what, sent in (("added", prompt("x")), ("aborted", "r0"), ("reset", True)):
        assert notice(send(back, what, sent), "error") == why
    is_loaded.set()
    load(back)
    assert (notice(back, "at_rest"), notice(back, "error")) == (None, None), "it is over"
    assert "being brought back: wait" in notice(send(back, "aborted", "r0"), "error")
    come_back(back)
    assert prompt_form(back)["can_add"]
    step_to(back, 20)
    assert [card["word"] for card in payload(back, "requests")["cards"]] == ["finished: length"] * 2


def test_another_model_does_not_go_on_with_a_run_and_says_so(app, monkeypatch):
    step_to(begun(app, "Hello"), 2)
    st.cache_resource.clear()
    monkeypatch.setattr(fake_live, "load_model", lambda progress, **_: "other")
    back = load(again(app))
    assert "made with model='fake', and this server has 'other'" in notice(back, "at_rest")
    assert plain(back) == plain(app)
    assert not payload(back, "transport")["can_go_on"]


def test_a_run_that_does_not_repeat_itself_can_still_be_looked_at(app, monkeypatch):
    step_to(begun(app, "Hello"), 3)
    back = again(app)
    monkeypatch.setattr(fake_live, "ANSWER", b"Something else, ")
    come_back(back)
    assert "does not repeat itself" in notice(back, "at_rest")
    assert plain(back) == plain(app)
    assert desk(back).run.live is None
    assert not back.error


@pytest.mark.parametrize("given", NONSENSE)
def test_a_page_does_not_look_alive_over_a_run_that_is_not_there(app, given):
    page = load(visit(example="own", run=given, step=7, sub=1))
    assert notice(page, "error").startswith("The link names a saved run that is not here any more")
    assert payload(page, "requests")["cards"] == []
    assert payload(page, "transport")["position"] == 0
    assert address(page) == {"example": "own"}
    assert not page.error


def test_a_run_that_was_swept_is_said_to_be_gone(app):
    step_to(begun(app, "Hello"), 1)
    for name in files():
        (server_limits().runs / name).unlink()
    page = again(app)
    assert "Old runs are removed in time" in notice(page, "error")
    assert payload(page, "requests")["cards"] == []


def test_a_changed_script_and_its_branch_come_back_and_can_be_branched(app):
    app.run()
    app.button(key="panel_settings").click().run()
    set_number(app, "num_blocks", 9)
    app.button(key="apply").click().run()
    send(app, "target", {"step": 2, "plus": 0, "sequence": 1})
    set_number(app, "max_num_seqs", 1)
    app.button(key="branch").click().run()
    back = again(app)
    assert plain(back) == plain(app)
    assert payload(back, "transport")["position"] == payload(app, "transport")["position"]
    (kept,) = desk(back).shelf.kept
    assert (kept.origin.number, kept.origin.step, kept.number) == (1, 3, 2)
    back.button(key="panel_settings").click().run()
    set_number(back, "block_size", 8)
    back.button(key="branch").click().run()
    assert desk(back).run.config.block_size == 8
    assert address(back)["run"] != address(app)["run"]


def test_a_branch_comes_back_with_its_past_and_its_prompt(app):
    step_to(begun(app, "Hello"), 3)
    send(app, "target", {"step": 1, "plus": 0, "sequence": 8})
    send(app, "added_here", prompt("Help!", max_tokens="3"))
    back = come_back(again(app))
    for each in (app, back):
        step_to(each, 20)
    assert plain(back) == plain(app)
    assert [draft.text for draft in desk(back).run.asked] == ["Hello", "Help!"]


def test_back_and_forward_cross_two_saved_runs_also_after_a_reload(app):
    step_to(begun(app, "Hello"), 3)
    first = address(app)
    send(app, "target", {"step": 1, "plus": 0, "sequence": 8})
    send(app, "added_here", prompt("Help!", max_tokens="3"))
    step_to(app, 4)
    second = address(app)
    assert first["run"] != second["run"]
    names = [{"example": "own", "run": each["run"]} for each in (first, second)]
    for page in (app, again(app)):
        for which, at in ((0, 1), (1, 4), (0, 2)):
            send(page, "revisited", {"names": names[which], "step": at, "sub": 0})
            assert address(page)["run"] == names[which]["run"]
            assert payload(page, "transport")["step"] == at - 1, "as the end of the step before"
        assert len(desk(page).shelf.kept) == 2
    send(page, "revisited", {"names": {"example": "own", "run": NO_ID}, "step": 1, "sub": 0})
    assert "not here any more" in notice(page, "error")
    assert address(page)["run"] == names[0]["run"]


def test_a_moment_before_a_run_went_on_is_a_moment_of_that_run(app):
    step_to(begun(app, "Hello"), 2)
    old = address(app)
    back = come_back(again(app))
    step_to(back, 3)
    assert address(back)["run"] != old["run"]
    names = {"example": "own", "run": old["run"]}
    send(back, "revisited", {"names": names, "step": 1, "sub": 1})
    assert len(desk(back).shelf.kept) == 1
    assert payload(back, "transport")["step"] == 1


def test_a_visitor_never_changes_what_another_sees(app):
    step_to(begun(app, "Hello", "Help!"), 1)
    alone = visit(example="own")
    for text in ("Hello", "Help!"):
        send(alone, "added", prompt(text, max_tokens="6"))
    other = again(app)
    come_back(other)
    for step in range(2, 8):
        step_to(app, step)
        send(other, "added", prompt(f"Number {step}", max_tokens="3"))
        step_to(other, step)
    for step in range(8):
        step_to(alone, step)
    assert plain(app) == plain(alone)
    for part in ("requests", "tables", "pool", "queue", "numbers", "tree"):
        assert payload(app, part) == payload(alone, part), part
