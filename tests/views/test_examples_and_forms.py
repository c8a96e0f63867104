"""What stays when a visitor leaves an example, closes the panel or reloads; what the forms say."""

import pytest

from tests.views.page import (
    load,
    notice,
    open_own,
    open_panel,
    payload,
    prompt,
    prompt_form,
    send,
    set_number,
    setting,
    turn_to,
)


def field_of(app):
    return setting(app, "block_size")


def test_a_live_run_is_found_again_after_another_example(app):
    send(open_own(app), "added", prompt(max_tokens="3"))
    send(app, "target", {"step": 1, "plus": 0, "sequence": 1})
    send(app, "target", {"position": 5, "sequence": 2})
    run = app.session_state["desks"]["playground"].run
    turn_to(app, "doc_example")
    assert payload(app, "pool")["num_blocks"] == 11
    assert payload(app, "transport")["run"] != run.run_id, "so that play stops"
    turn_to(app, "own")
    assert app.session_state["desks"]["playground"].run is run
    assert payload(app, "transport")["position"] == 5
    assert [card["id"] for card in payload(app, "requests")["cards"]] == ["r0"]


def test_a_target_of_the_run_before_moves_nothing(app):
    app.run()
    send(app, "target", {"position": 9, "sequence": 1, "run": -1})
    assert payload(app, "transport")["position"] == 4
    assert payload(app, "transport")["sequence"] == 1, "the player waits for nothing"


def test_removing_all_prompts_begins_an_empty_run(app):
    send(open_own(app), "added", prompt())
    before = app.session_state["desks"]["playground"].run
    app.button(key="clear").click().run()
    assert app.session_state["desks"]["playground"].run is not before
    assert payload(app, "requests")["cards"] == []
    assert payload(app, "narration")["empty"] == "Nothing has happened yet: add a prompt."


def test_the_note_about_an_added_prompt_goes_with_the_next_step(app):
    send(open_own(app), "added", prompt())
    assert notice(app, "note") is not None
    send(app, "target", {"step": 0, "plus": 0, "sequence": 1})
    assert notice(app, "note") is None


def test_the_note_about_an_added_prompt_goes_with_the_next_notice(app):
    send(open_own(app), "added", prompt())
    send(app, "added", prompt(max_tokens="0"))
    assert notice(app, "note") is None
    assert notice(app, "error") is not None


@pytest.mark.parametrize(
    ("draft", "sentence"),
    [
        (prompt(""), "Nothing was typed: its 19 tokens are the chat template's own."),
        (prompt("  "), "Only white space was typed: with the chat template it has 21 tokens."),
        (prompt(" ", mode="raw"), "Only white space was typed: it has 1 token."),
    ],
)
def test_a_prompt_without_a_letter_is_taken_and_said(app, draft, sentence):
    send(open_own(app), "added", draft)
    assert notice(app, "note") == f"r0 was added and waits for its first step. {sentence}"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("1.5", "block_size=1.5 is not a whole number: give one such as 16"),
        ("abc", "block_size=abc is not a whole number"),
        ("", "block_size is empty: give a whole number"),
        ("0", "block_size=0 is out of range"),
    ],
)
def test_a_refused_setting_stays_in_the_form_also_while_the_panel_is_closed(app, given, sentence):
    open_own(app)
    set_number(app, "block_size", given)
    assert sentence in field_of(app)["problem"]
    app.button(key="panel_settings").click().run()
    app.button(key="panel_settings").click().run()
    assert field_of(app)["value"] == given
    assert sentence in field_of(app)["problem"]
    set_number(app, "block_size", " 4 ")
    assert field_of(app)["problem"] is None
    assert field_of(app)["changed"]
    app.button(key="apply").click().run()
    assert notice(app, "error") is None
    assert (field_of(app)["value"], field_of(app)["changed"]) == ("4", False)


def test_every_wrong_field_says_what_is_wrong_with_it(app):
    open_own(app)
    typed = {"block_size": "0", "num_blocks": "x", "max_num_seqs": "100"}
    send(app, "typed", typed | {"max_num_batched_tokens": "90"})
    problems = {name: setting(app, name)["problem"] for name in (*typed, "max_num_batched_tokens")}
    assert problems["block_size"].startswith("block_size=0 is out of range: give a whole number")
    assert problems["num_blocks"].startswith("num_blocks=x is not a whole number")
    sentence = "max_num_batched_tokens=90 is below max_num_seqs=100: raise it to 100"
    assert problems["max_num_batched_tokens"].startswith(sentence)
    set_number(app, "max_num_batched_tokens", 100)
    assert setting(app, "max_num_seqs")["problem"] is None


def test_what_is_applied_is_what_stands_in_the_form_when_it_is_pressed(app):
    open_own(app)
    set_number(app, "block_size", 4)
    app.session_state["desks"]["playground"].typed["block_size"] = "16"  # not drawn yet
    app.button(key="apply").click().run()
    assert app.session_state["desks"]["playground"].run.config.block_size == 16


def test_the_counter_warns_of_what_would_be_refused(app):
    open_own(app)
    send(app, "draft", prompt(max_tokens="900"))
    assert "the pool has 63" in prompt_form(app)["warning"]
    send(app, "draft", prompt(max_tokens=""))
    form = prompt_form(app)
    assert form["problems"]["max_tokens"].startswith("max_tokens is empty: give a whole number")
    assert form["warning"] == "", "it is said at the field"
    send(app, "draft", prompt())
    assert prompt_form(app)["warning"] == ""
    send(app, "draft", prompt("x" * 100_000))
    form = prompt_form(app)
    assert form["count"].startswith("The prompt has 100,000 bytes, and this server takes 65,536")
    assert form["error"]


def test_each_wrong_number_of_a_prompt_is_said_at_its_field_and_all_of_them_when_it_is_added(app):
    open_own(app)
    wrong = prompt("Hi", max_tokens="0", temperature="-1", seed="x")
    send(app, "draft", wrong)
    problems = prompt_form(app)["problems"]
    assert list(problems) == ["max_tokens", "temperature", "seed"]
    assert problems["max_tokens"].startswith("max_tokens=0 is out of range")
    assert problems["temperature"] == "temperature=-1.0 is negative: 0 is greedy, 1 is neutral"
    assert problems["seed"].startswith("seed=x is not a whole number")
    send(app, "added", wrong)
    assert all(f"{sentence}." in notice(app, "error") for sentence in problems.values())
    send(app, "draft", prompt("Hi"))
    assert prompt_form(app)["problems"] == {}


def test_a_prompt_that_is_longer_than_the_model_takes_is_told_how_far_to_shorten_it(app):
    open_own(app)
    long = prompt("x" * 50_000, mode="raw")
    send(app, "added", long)
    assert notice(app, "error") == (
        "The prompt has 50,000 tokens, and the model takes 2,048 together with the answer "
        "(max_model_len, which is fixed here): shorten it to about 2,000 characters."
    )
    send(app, "draft", prompt("x" * 2_100, mode="raw"))
    assert "shorten it to about 2,000 characters" in prompt_form(app)["warning"]


def test_a_refusal_says_where_max_model_len_caps_the_count(app):
    send(open_own(app), "added", prompt(max_tokens="100000"))
    assert "up to 100000 new ones, capped by max_model_len=2048, need 256" in notice(app, "error")


def test_a_finished_card_opens_to_its_answer_and_its_last_tokens(app):
    send(open_own(app), "added", prompt("Hello " * 40, max_tokens="3"))
    assert "closed" not in payload(app, "requests")["cards"][0]
    send(app, "target", {"step": 9, "plus": 0, "sequence": 1})
    card = payload(app, "requests")["cards"][0]
    assert card["closed"]["prompt"].startswith("Hello Hello")
    assert len(card["closed"]["prompt"]) <= 49
    assert card["closed"]["answer"] == [["␣", "sign"], ["Th", ""]]
    tokens = [token for block in card["blocks"] for token in block.get("tokens", ())]
    assert [token[1] for token in tokens[-3:]] == ["computed", "computed", "pending"]
    assert any("folded" in block.get("fold", "") for block in card["blocks"])
    assert payload(app, "narration")["empty"].startswith("All requests are finished; add a prompt")


def test_bytes_of_one_character_are_explained_where_there_are_any(app):
    open_own(app)
    send(app, "draft", prompt("你"))
    sentence = "E4 BD A0: bytes of one character, 你, that several tokens share"
    assert prompt_form(app)["legend_bytes"] == sentence
    send(app, "added", prompt("你"))
    assert payload(app, "requests")["legend_bytes"] == sentence
    assert payload(load(app), "prompt")["legend_bytes"] == ""


def test_ones_own_prompts_open_with_their_form_and_a_documented_run_without(app):
    open_own(app, "prompts")
    assert payload(app, "prompt")["draft"]["text"] == ""
    assert payload(app, "fields") is None, "settings come when somebody asks for them"
    turn_to(app, "doc_example")
    assert payload(app, "prompt") is None
    assert "panel_prompts" not in [button.key for button in app.button], "letters are scripted"


def test_one_panel_is_open_at_a_time_and_its_own_button_closes_it(app):
    open_own(app, "prompts")
    open_panel(app, "settings")
    assert (payload(app, "prompt"), payload(app, "fields") is None) == (None, False)
    assert app.button(key="panel_settings").label == "Close settings"
    assert app.button(key="panel_prompts").label == "Prompts"
    open_panel(app, "settings")
    assert (payload(app, "prompt"), payload(app, "fields")) == (None, None)


def test_whoever_comes_back_to_a_run_of_theirs_finds_no_panel_over_it(app):
    send(open_own(app, "prompts"), "added", prompt())
    turn_to(app, "doc_example")
    turn_to(app, "own")
    assert payload(app, "requests")["cards"][0]["id"] == "r0"
    assert payload(app, "prompt") is None


def test_the_form_and_the_refusal_name_the_same_limit(app):
    long = prompt("é" * 40_000)
    counted = prompt_form(send(open_own(app), "draft", long))["count"]
    assert counted == "The prompt has 80,000 bytes, and this server takes 65,536: shorten it."
    assert notice(send(app, "added", long), "error") == counted


def test_what_removing_all_prompts_costs_is_said_before_it_is_done(app):
    send(open_own(app), "added", prompt())
    send(app, "target", {"step": 1, "plus": 0, "sequence": 1})
    app.run()
    said = [caption.value for caption in app.caption]
    assert any(
        "1 request and 2 steps are put away, and a note offers to bring them back" in s
        for s in said
    )
