"""The page as Streamlit runs it, without a browser: what it shows, keeps and refuses."""

import pytest

from tests.views.page import (
    load,
    notice,
    open_own,
    payload,
    prompt,
    prompt_form,
    send,
    set_number,
    set_switch,
    setting,
    turn_to,
)
from views.drafts import Restart


def test_the_first_picture_needs_no_model(app):
    app.run()
    assert not app.exception
    assert payload(app, "transport")["position"] == 4
    assert payload(app, "pool")["num_blocks"] == 11
    assert payload(app, "narration")["current"] == 3


def test_every_component_is_drawn_and_no_error_is_shown(app):
    app.run()
    for name in ("narration", "numbers", "requests", "tables", "tree", "pool", "queue"):
        assert payload(app, name) is not None, name
    assert not app.error


def test_a_target_moves_the_cursor_and_a_pick_selects(app):
    send(app.run(), "target", {"position": 9, "sequence": 5})
    assert payload(app, "transport")["position"] == 9
    assert payload(app, "transport")["sequence"] == 5
    send(app, "selected", {"block": 2})
    assert payload(app, "block")["block"] == 2
    send(app, "target", {"position": 3, "sequence": 6})
    assert payload(app, "pool")["lit"]["own"] == {"block": 2}
    send(app, "selected", {"block": 2})
    assert payload(app, "block")["hidden"]


def test_a_long_request_unfolds_and_folds_again(app):
    send(open_own(app), "added", prompt("x" * 250, mode="raw"))
    (card,) = payload(app, "requests")["cards"]
    assert any("fold" in part for part in card["blocks"])
    send(app, "unfolded", "r0")
    (card,) = payload(app, "requests")["cards"]
    assert sum(len(part["tokens"]) for part in card["blocks"]) == 250
    send(app, "unfolded", "r0")
    (card,) = payload(app, "requests")["cards"]
    assert "fold_again" not in card


@pytest.mark.parametrize(
    "target", [{"position": -5}, {"position": 10**9}, {"step": 10**9}, {}, "x"]
)
def test_a_target_that_makes_no_sense_ends_at_the_nearest_place(app, target):
    send(app.run(), "target", target)
    shown = payload(app, "transport")
    assert 0 <= shown["position"] <= shown["last"]
    assert not app.error


def test_the_address_opens_a_sub_step(app):
    app.query_params.update({"step": "3", "sub": "0"})
    app.run()
    assert payload(app, "transport")["position"] == 24, "the end of step 2"
    assert notice(app, "note") is None


def test_prompts_are_typed_added_and_run_to_the_end(app):
    open_own(app)
    send(app, "draft", prompt("a€", mode="raw"))
    form = prompt_form(app)
    assert form["count"] == "4 tokens: 0 full blocks of 8 and 4 tokens"
    assert [piece["drawn"] for piece in form["pieces"]] == [
        *("a", [["E2", "bytes"]], [["82", "bytes"]], [["AC", "bytes"]])
    ]
    send(app, "added", prompt(max_tokens="3"))
    assert "r0 was added" in notice(app, "note")
    assert prompt_form(app)["cleared"] == 1
    send(app, "added", prompt(max_tokens="2"))
    for step in range(3):
        send(app, "target", {"step": step, "plus": 0, "sequence": step})
    assert [card["word"] for card in payload(app, "requests")["cards"]] == ["finished: length"] * 2
    assert not payload(app, "transport")["can_go_on"]
    last = payload(app, "transport")["last"]
    send(app, "target", {"position": 2, "sequence": 9})
    assert payload(app, "transport")["last"] == last, "going back asks the engine for nothing"


@pytest.mark.parametrize(
    ("draft", "sentence"),
    [
        (prompt("", mode="raw"), "the prompt cannot be empty"),
        (prompt(max_tokens="0"), "max_tokens=0 is out of range"),
        (prompt(max_tokens="-1"), "max_tokens=-1 is out of range"),
        (prompt(max_tokens="1.5"), "max_tokens=1.5 is not a whole number"),
        (prompt(max_tokens="many"), "max_tokens=many is not a whole number"),
        (prompt(temperature="-0.1"), "temperature=-0.1 is negative"),
        (prompt(temperature="NaN"), "temperature=nan is not a finite number"),
        (prompt(temperature="inf"), "temperature=inf is not a finite number"),
        (prompt(temperature="warm"), "temperature=warm is not a number"),
        (prompt(seed="1.5"), "seed=1.5 is not a whole number"),
        (prompt(seed="lucky"), "seed=lucky is not a whole number"),
        (prompt(seed="-1"), "seed=-1 is out of range"),
        (prompt(seed=str(2**63)), f"seed={2**63} is out of range"),
        (prompt("x" * 60_000), "the model takes 2,048 together with the answer"),
        (prompt("x" * 100_000), "and this server takes 65,536: shorten it."),
        (prompt("x" * 600), "the pool has 63"),
    ],
)
def test_a_refused_prompt_gets_a_sentence_and_costs_nothing(app, draft, sentence):
    open_own(app)
    send(app, "added", prompt())
    before = payload(app, "requests")["cards"]
    send(app, "added", draft)
    assert sentence in notice(app, "error")
    assert payload(app, "requests")["cards"] == before
    assert app.session_state["desks"]["playground"].draft.text == draft["text"]


def test_a_huge_max_tokens_reserves_nothing_where_the_pool_can_hold_the_model_length(app):
    open_own(app)
    set_number(app, "num_blocks", 300)
    app.button(key="apply").click().run()
    send(app, "added", prompt(max_tokens=str(10**12)))
    assert notice(app, "error") is None
    assert payload(app, "requests")["cards"][0]["facts"][1][1] == f"made 0 of {10**12}"


def test_a_tiny_temperature_is_raised_and_the_page_says_so(app):
    send(open_own(app), "added", prompt(temperature="1e-9"))
    assert "temperature=1e-9 was raised to 0.01" in notice(app, "note")


def test_a_changed_setting_says_what_it_restarts_before_it_does(app):
    send(open_own(app), "added", prompt())
    send(app, "target", {"step": 1, "plus": 0, "sequence": 1})
    set_number(app, "block_size", 4)
    assert any(
        "Changes block_size" in c.value and "1 request starts over" in c.value for c in app.caption
    )
    assert payload(app, "transport")["step"] == 1, "nothing has happened yet"
    app.button(key="apply").click().run()
    assert payload(app, "transport")["last"] == 1
    assert len(payload(app, "requests")["cards"]) == 1
    assert app.session_state["desks"]["playground"].run.config.block_size == 4


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("block_size", 0, "block_size=0 is out of range"),
        ("num_blocks", 1, "num_blocks=1 is out of range"),
        ("max_num_batched_tokens", 0, "max_num_batched_tokens=0 is out of range"),
        ("max_num_batched_tokens", 3, "max_num_batched_tokens=3 is below max_num_seqs=4"),
    ],
)
def test_a_wrong_setting_gets_a_sentence_at_its_field_and_the_run_stays(app, name, value, sentence):
    send(open_own(app), "added", prompt())
    send(app, "target", {"step": 1, "plus": 0, "sequence": 1})
    set_number(app, name, value)
    assert setting(app, name)["problem"].startswith(sentence)
    assert app.button(key="apply").disabled
    assert app.button(key="branch").disabled
    assert f"see what is said at {name}" in " ".join(c.value for c in app.caption)
    send(app, "applied", Restart({name: str(value)}))  # whoever sends it all the same
    assert sentence in notice(app, "error")
    assert payload(app, "transport")["step"] == 1


def test_what_can_never_fit_may_wait_for_ever_and_the_page_says_so(app):
    open_own(app)
    set_number(app, "num_blocks", 4)
    set_switch(app, "wait_for_ever", True)
    app.button(key="apply").click().run()
    send(app, "added", prompt("x" * 40))
    send(app, "target", {"step": 20, "plus": 0, "sequence": 1})
    assert "Nothing can run any more" in notice(app, "stuck")
    assert not payload(app, "transport")["can_go_on"]


def test_the_setting_that_is_named_at_its_opposite_says_what_the_switch_makes_of_it(app):
    open_own(app)
    assert setting(app, "wait_for_ever")["name"] == "refuse_oversized=True"
    set_switch(app, "wait_for_ever", True)
    assert setting(app, "wait_for_ever")["name"] == "refuse_oversized=False"
    assert setting(app, "enable_prefix_caching")["name"] == "enable_prefix_caching"


def test_the_scripted_example_runs_again_with_other_settings(app):
    app.run()
    app.button(key="panel_settings").click().run()
    set_number(app, "num_blocks", 6)
    app.button(key="apply").click().run()
    assert payload(app, "pool")["num_blocks"] == 6
    send(app, "target", {"position": 10**6, "sequence": 1})
    assert notice(app, "stuck") is not None


def test_the_shared_prompt_starts_by_itself_once_the_model_is_there(app):
    app.query_params["example"] = "shared_prompt"
    app.run()
    assert payload(app, "requests") is None
    load(app)
    assert len(payload(app, "requests")["cards"]) == 4


def test_a_failure_while_drawing_is_one_sentence(app, monkeypatch):
    monkeypatch.setattr("views.widgets.stage.moment_at", lambda *_: 1 / 0)
    app.run()
    assert [error.value[:30] for error in app.error] == ["This page could not be drawn; "]
    assert not app.exception


def test_a_press_that_comes_after_another_example_was_opened_moves_the_run_that_was_left(app):
    run_id = payload(app.run(), "transport")["run"]
    turn_to(app, "own")
    send(app, "target", {"position": 20, "sequence": 1, "run": run_id})
    turn_to(app, "doc_example")
    assert payload(app, "transport")["position"] == 20
