"""A visitor chooses the dtype of the weights: bfloat16 here, or the 4 bits of the model's file."""

import threading
import time

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from engine.errors import ConfigError
from engine.trace.header import TraceHeader
from tests.source_tree import ROOT
from tests.views import fake_live
from tests.views.branches import branch, go_to_end_of, names, run_steps, said, two_prompts
from tests.views.page import load, notice, open_own, payload, prompt, send, set_number, setting
from views.drafts import Branch, Restart
from views.figures.kernel.engine_path import engine_path
from views.text import Text
from views.turns import Turns

SENTENCE = "770 MiB of memory are needed to load them, and 300 MiB are free here"


class Server:
    """Whose model's file stores 4 bits. The other form comes when the test lets it."""

    def __init__(self):
        self.may_come = threading.Event()
        self.num_loaded = 0
        self.error = None

    def load_beside(self, model, path, *, dtype, progress, **options):
        progress("reading the 4-bit weights", 0.5)
        assert self.may_come.wait(30)
        self.num_loaded += 1
        if self.error is not None:
            raise self.error
        return f"fake:{dtype}"


@pytest.fixture
def server(app, monkeypatch):
    server = Server()
    monkeypatch.setattr(fake_live, "load_model", lambda progress, **_: "fake:bfloat16")
    monkeypatch.setattr(fake_live, "dtypes_on_offer", lambda model, path: ("bfloat16", "4bit"))
    monkeypatch.setattr(fake_live, "load_beside", server.load_beside)
    yield server
    server.may_come.set()


def desk(app):
    return app.session_state["desks"]["playground"]


def choose(app, dtype):
    return send(app, "typed", {"dtype": dtype})


def arrive(app, server):
    """Let the other form come, or fail to."""
    server.may_come.set()
    until = time.monotonic() + 10
    while not desk(app).model_is_seen:
        assert time.monotonic() < until
        app.run()
    return app


def readiness(app):
    shown = payload(app, "readiness")
    return shown["is"], shown["words"]


def dtypes(app):
    return [kept.run.trace.header.dtype for kept in desk(app).shelf.kept]


def fields(app):
    return [field["key"] for kind in payload(app, "fields")["kinds"] for field in kind["fields"]]


def test_the_choice_is_offered_where_the_file_stores_4_bits_and_to_a_run_on_the_model(server, app):
    open_own(app)
    field = setting(app, "dtype")
    assert (field["label"], field["value"]) == ("Weights", "bfloat16")
    assert field["options"] == [["bfloat16", "bfloat16"], ["4bit", "4-bit, as stored"]]
    app.query_params["example"] = "doc_example"
    send(app, "revisited", {"names": {"example": "doc_example"}})
    app.button(key="panel_settings").click().run()
    assert "block_size" in fields(app)
    assert "dtype" not in fields(app)


def test_where_there_is_no_choice_nothing_is_said_of_it(app):
    open_own(app)
    assert "dtype" not in fields(app)
    choose(app, "4bit")
    assert desk(app).typed == {}
    assert app.button(key="apply").disabled


def test_the_other_weights_load_when_somebody_first_chooses_them_while_the_run_goes_on(server, app):
    two_prompts(app)
    other = desk(app).share.loader.other
    assert (other.stage, server.num_loaded, readiness(app)[1]) == ("", 0, "Model ready")
    choose(app, "4bit")
    assert app.button(key="apply").disabled
    assert app.button(key="branch").disabled
    assert said(app, "The weights that you chose are being loaded") is not None
    app.run()
    assert readiness(app) == ("loading", "Other weights: reading the 4-bit weights")
    run_steps(app, 7)
    assert desk(app).run.trace.num_steps == 8
    assert setting(app, "dtype")["value"] == "4bit"
    arrive(app, server)
    assert readiness(app)[1] == "Model ready"
    assert not app.button(key="apply").disabled
    choose(app, "bfloat16")
    choose(app, "4bit")
    assert server.num_loaded == 1


def test_applied_it_begins_the_run_again_and_every_restart_after_that_stays_with_it(server, app):
    two_prompts(app)
    choose(app, "4bit")
    arrive(app, server)
    assert said(app, "Changes dtype. Applying restarts the run: 2 requests") is not None
    app.button(key="apply").click().run()
    run = desk(app).run
    assert (run.trace.header.dtype, run.live.model, run.trace.num_steps) == ("4bit", "fake:4bit", 1)
    assert len(run.asked) == 2
    assert setting(app, "dtype")["value"] == "4bit"
    assert payload(app, "runs")["runs"][0]["gist"].endswith("dtype=4bit")
    set_number(app, "num_blocks", 50)
    app.button(key="apply").click().run()
    app.button(key="clear").click().run()
    assert (dtypes(app), desk(app).run.asked) == (["4bit"], [])
    choose(app, "bfloat16")
    app.button(key="apply").click().run()
    assert dtypes(app) == ["bfloat16"]


def test_a_branch_with_other_weights_does_its_whole_past_again_and_says_so(server, app):
    two_prompts(app, num_steps=8)
    go_to_end_of(app, 4)
    choose(app, "4bit")
    arrive(app, server)
    offer = said(app, "Branching loses nothing")
    assert "dtype cannot change between two steps: a new run beside it does everything" in offer
    assert "K and V of the past are computed anew, with the other weights; its tokens stay" in offer
    branch(app)
    assert dtypes(app) == ["bfloat16", "4bit"]
    assert names(app)[1][1] == "from run 1 at step 5, dtype=4bit, past done again"
    first, second = (kept.run for kept in desk(app).shelf.kept)
    assert second.live.model == "fake:4bit"
    assert first.lock is second.lock
    assert isinstance(first.lock, Turns)


def test_where_they_cannot_be_loaded_a_sentence_says_why_and_the_run_and_its_choice_stay(
    server, app
):
    two_prompts(app)
    before, server.error = desk(app).run, ConfigError(SENTENCE)
    choose(app, "4bit")
    arrive(app, server)
    assert setting(app, "dtype")["problem"] == (
        f"The weights as 4bit could not be loaded: {SENTENCE}. The run stays as it is."
    )
    assert readiness(app)[1] == "Model ready"
    assert app.button(key="apply").disabled
    assert app.button(key="branch").disabled
    run_steps(app, 7)
    assert (desk(app).run is before, dtypes(app)) == (True, ["bfloat16"])
    server.error = None
    choose(app, "bfloat16")
    assert setting(app, "dtype")["problem"] is None
    arrive(choose(app, "4bit"), server)
    assert (setting(app, "dtype")["problem"], server.num_loaded) == (None, 2)


def test_what_is_asked_before_they_are_there_gets_a_sentence_and_nothing_else(server, app):
    two_prompts(app)
    before = desk(app).run
    send(app, "applied", Restart({"dtype": "4bit"}))
    assert notice(app, "error").startswith("The weights that you chose are being loaded")
    send(app, "branched", Branch({"dtype": "4bit"}))
    assert notice(app, "error").startswith("The weights that you chose are being loaded")
    assert (desk(app).run is before, dtypes(app)) == (True, ["bfloat16"])


@pytest.mark.parametrize("sent", ["8bit", "", None, 4, True, {"a": 1}, ["4bit"]])
def test_a_word_that_is_not_on_offer_changes_nothing(server, app, sent):
    open_own(app)
    choose(app, sent)
    assert setting(app, "dtype")["value"] == "bfloat16"
    assert app.button(key="apply").disabled
    assert desk(app).share.loader.other.stage == ""


@pytest.fixture
def saved(server, app):
    """The id of a run of five steps with 4-bit weights, on a server that was started anew."""
    server.may_come.set()
    arrive(choose(open_own(app), "4bit"), server)
    app.button(key="apply").click().run()
    send(app, "added", prompt("One two three", max_tokens="9"))
    run_steps(app, 4)
    server.may_come.clear()
    st.cache_resource.clear()
    return desk(app).run.link["run"]


def opened(run_id):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    app.query_params["example"], app.query_params["run"] = "own", run_id
    return app.run()


def look_until(app, is_so):
    until = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < until
        app.run()


def test_a_saved_run_goes_on_with_the_weights_that_it_was_made_with(server, saved):
    app = opened(saved)
    look_until(app, lambda: readiness(app)[1] == "Other weights: reading the 4-bit weights")
    assert desk(app).run.trace.num_steps == 5
    assert desk(app).run.live is None
    arrive(app, server)
    assert desk(app).run.live.model == "fake:4bit"
    while desk(app).pursuit is not None:
        send(app, "pursued", True)
    run_steps(app, 6)
    assert (desk(app).run.trace.num_steps, desk(app).run.refusal) == (7, None)
    assert server.num_loaded == 2


def test_a_saved_run_whose_weights_cannot_be_loaded_says_why_and_goes_on_when_they_can(
    server, saved
):
    server.error = ConfigError(SENTENCE)
    app = arrive(opened(saved), server)
    look_until(app, lambda: desk(app).run.refusal is not None)
    assert (desk(app).run.trace.num_steps, desk(app).run.live) == (5, None)
    assert SENTENCE in desk(app).run.refusal
    server.error = None
    again = opened(saved)
    look_until(again, lambda: desk(again).run.live is not None)
    assert (desk(again).run.live.model, server.num_loaded) == ("fake:4bit", 3)


def test_a_saved_run_is_looked_at_where_its_weights_are_not_on_offer(server, saved, monkeypatch):
    monkeypatch.setattr(fake_live, "dtypes_on_offer", lambda model, path: ())
    app = load(opened(saved))
    look_until(app, lambda: desk(app).run.refusal is not None)
    assert "dtype='4bit', and this server has 'bfloat16'" in desk(app).run.refusal


def test_the_path_of_a_run_names_its_own_dtype():
    header = TraceHeader(config={}, kernel="torch-reference+int4pack+fbgemm-fp16", dtype="4bit")
    assert engine_path(header, None, Text("en")).words == "computes with torch, 4bit"


def test_a_pool_is_weighed_in_the_numbers_of_the_chosen_dtype(server, app, monkeypatch):
    monkeypatch.setattr(fake_live, "load_model", lambda progress, **_: "fake:float32")
    monkeypatch.setattr(fake_live, "dtypes_on_offer", lambda model, path: ("float32", "4bit"))
    load(open_own(app))
    run = desk(app).run
    assert run.bytes_per_block(8) == 8000
    assert run.bytes_per_block(8, "4bit") == 4000
    assert run.bytes_per_block(8, "float32") == 8000


def test_what_fits_is_said_for_the_chosen_dtype(server, app, monkeypatch):
    monkeypatch.setenv("PAGEWALK_MAX_POOL_BYTES", "400000")
    monkeypatch.setattr(fake_live, "load_model", lambda progress, **_: "fake:float32")
    monkeypatch.setattr(fake_live, "dtypes_on_offer", lambda model, path: ("float32", "4bit"))
    set_number(open_own(app), "num_blocks", 90)
    assert "num_blocks=90 of 8 tokens is more" in setting(app, "num_blocks")["problem"]
    arrive(send(app, "typed", {"num_blocks": "90", "dtype": "4bit"}), server)
    assert setting(app, "num_blocks")["problem"] is None


def test_a_dtype_in_whose_numbers_the_pool_does_not_fit_is_refused_at_its_field(
    server, app, monkeypatch
):
    monkeypatch.setenv("PAGEWALK_MAX_POOL_BYTES", "400000")
    monkeypatch.setattr(fake_live, "dtypes_on_offer", lambda model, path: ("bfloat16", "float32"))
    arrive(choose(open_own(app), "float32"), server)
    assert setting(app, "dtype")["problem"].endswith("other runs: lower it to 25 or less.")
    assert app.button(key="apply").disabled
