"""What a server allows each visitor is kept, and said where it is reached."""

import pytest

from tests.views.page import notice, payload, prompt, prompt_form, send, set_number, turn_to
from tests.views.survival import again, begun, desk, plain, step_to, visit
from views import __main__ as start
from views.limits import server_limits


def limit(monkeypatch, name, value):
    monkeypatch.setenv(f"PAGEWALK_MAX_{name}", str(value))
    server_limits.cache_clear()


def test_a_run_that_is_saved_no_further_says_so_and_goes_on(app, monkeypatch):
    limit(monkeypatch, "RUN_BYTES", 5000)
    step_to(begun(app, "Hello"), 5)
    assert "From here on this run is not saved" in notice(app, "unsaved")
    assert desk(app).run.trace.num_steps == 6
    assert 0 < desk(again(app)).run.trace.num_steps < 6


def test_a_prompt_beyond_the_limit_is_refused_and_its_run_stays(app, monkeypatch):
    limit(monkeypatch, "PROMPT_BYTES", 10)
    step_to(begun(app, "Hello"), 2)
    sentence = "The prompt has 11 bytes, and this server takes 10: shorten it."
    send(app, "draft", prompt("Hello there"))
    assert prompt_form(app)["count"] == sentence
    send(app, "target", {"step": 1, "plus": 0, "sequence": 9})
    for what in ("added", "added_here"):
        send(app, what, prompt("Hello there"))
        assert notice(app, "error") == sentence
        assert desk(app).draft.text == "Hello there"
    assert len(desk(app).shelf.kept) == 1


def test_all_runs_of_a_visitor_share_one_room_for_k_and_v(app, monkeypatch):
    limit(
        monkeypatch, "POOL_BYTES", 1_200_000
    )  # letters take 1,000 bytes a token: 512 tokens a run
    step_to(begun(app, "Hello"), 2)
    app.button(key="branch").click().run()
    assert desk(app).share.pool_bytes() == 1_024_000
    assert app.button(key="branch").disabled
    refusal = "your other runs hold 1,024,000: lower num_blocks to 22, or close a run."
    assert any(refusal in caption.value for caption in app.caption)
    set_number(app, "num_blocks", 90)
    assert app.button(key="apply").disabled
    fields = [each for kind in payload(app, "fields")["kinds"] for each in kind["fields"]]
    assert next(f["problem"] for f in fields if f["key"] == "num_blocks") == (
        "num_blocks=90 of 8 tokens is more than fits here, beside your other runs: "
        "lower it to 86 or less."
    )
    set_number(app, "num_blocks", 86)
    app.button(key="apply").click().run()
    assert desk(app).share.pool_bytes() == 512_000 + 688_000, "the run that was replaced is gone"
    send(app, "dropped", desk(app).run.run_id)
    assert desk(app).share.pool_bytes() == 512_000
    other = visit(example="own")
    assert desk(other).share.pool_bytes() == 512_000, "each visitor has a share of their own"


def test_an_example_begins_with_the_blocks_that_fit_beside_the_other_runs(app, monkeypatch):
    limit(monkeypatch, "POOL_BYTES", 600_000)
    begun(app, "Hello")
    turn_to(app, "shared_prompt")
    said = payload(app, "notices")["notices"][0]["text"]
    assert said.startswith("The run began with num_blocks=11 instead of 64")
    assert "your other runs hold 512,000" in said
    assert desk(app).share.pool_bytes() == 512_000 + 11 * 8_000
    assert len(payload(app, "requests")["cards"]) == 4


def test_a_run_that_takes_too_much_to_go_on_can_be_looked_at(app, monkeypatch):
    step_to(begun(app, "Hello"), 2)
    limit(monkeypatch, "POOL_BYTES", 100_000)
    back = again(app)
    assert "lower num_blocks to 12." in notice(back, "at_rest")
    assert plain(back) == plain(app)


def test_a_setting_of_the_server_that_is_wrong_ends_it_with_a_sentence(monkeypatch):
    limit(monkeypatch, "SESSIONS", "many")
    with pytest.raises(SystemExit, match="PAGEWALK_MAX_SESSIONS=many is out of range"):
        start.main()
    server_limits.cache_clear()
