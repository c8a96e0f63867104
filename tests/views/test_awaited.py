"""A run that was lost on its way to something comes back with the offer to go on to it."""

from types import SimpleNamespace

import pytest

from engine.sources.saved import About, SavedRuns
from tests.test_saved_runs import keep, lone
from tests.views.page import load, notice, payload, send
from tests.views.survival import address, again, begun, come_back, desk, plain, step_to, visit
from views import bringing_back, runs
from views.choices import Choices, Pursuit
from views.figures.time.until import BRANCHED, DONE, EVICTED, RETURNED, Until


@pytest.fixture
def step_by_step(monkeypatch):
    """One step a share, so that the page can be lost on the way."""
    monkeypatch.setattr(runs, "MAX_STEPS_AT_ONCE", 1)


def on_its_way(app, until):
    send(step_to(begun(app, "Hello", "Help!"), 0), "until", until)
    send(app, "pursued", True)
    assert desk(app).pursuit is not None
    return app


def way_out(app):
    return next(n["way_out"] for n in payload(app, "notices")["notices"] if n["kind"] == "pending")


def test_a_reload_in_the_middle_of_run_until_offers_to_go_on(app, step_by_step):
    on_its_way(app, {"kind": "done"})
    num_steps = desk(app).run.trace.num_steps
    back = load(again(app))
    assert notice(back, "pending") == (
        "When the page was lost, this run was on its way until all are done."
    )
    out = way_out(back)
    assert (out["word"], out["what"]) == ("Go on until all are done", "until")
    assert desk(back).run.trace.num_steps == num_steps, "nobody has asked for more yet"
    come_back(send(back, out["what"], out["sent"]))
    come_back(app)
    assert plain(back) == plain(app)
    assert not payload(back, "transport")["can_go_on"]
    assert notice(back, "pending") is None


def test_the_offer_stays_until_the_past_is_repeated_and_can_be_closed(app, step_by_step):
    back = come_back(again(on_its_way(app, {"kind": "preempted"})))
    assert "until somebody is preempted" in notice(back, "pending")
    send(back, "closed", "pending")
    assert notice(back, "pending") is None


def test_another_reload_offers_it_again_until_somebody_goes_on(app, step_by_step):
    back = again(again(on_its_way(app, {"kind": "done"})))
    assert notice(back, "pending") is not None
    step_to(come_back(back), 6)
    assert notice(again(back), "pending") is None, "the copy was on its way to nothing"


@pytest.mark.parametrize("ends", ["stopped", "found"])
def test_a_run_that_has_come_there_or_was_stopped_offers_nothing(app, step_by_step, ends):
    on_its_way(app, {"kind": "done"})
    if ends == "stopped":
        send(app, "stopped", True)
    else:
        come_back(app)
    assert notice(again(app), "pending") is None


def test_it_is_offered_in_the_language_of_the_page(app, step_by_step):
    on_its_way(app, {"kind": "done"})
    back = load(visit(**address(app), lang="ja"))
    assert notice(back, "pending") == (
        "ページが失われたとき、この実行は「すべて終了する」まで進む途中でした。"
    )
    assert way_out(back)["word"] == "「すべて終了する」まで続ける"


@pytest.mark.parametrize(
    ("kind", "saved"), [(DONE, True), (EVICTED, True), (BRANCHED, False), (RETURNED, False)]
)
def test_what_a_visitor_asked_for_is_saved_and_what_happens_by_itself_is_not(kind, saved):
    told = []
    saving = SimpleNamespace(waits_for=told.append)
    run = SimpleNamespace(became_copy=False, saving=saving, link={})
    chosen = Choices(pursuit=Pursuit(Until(kind), Choices().cursor), run=run)
    bringing_back.remember(chosen, run)
    assert set(told) == {Until(kind) if saved else None}


def test_the_record_is_written_anew_only_when_it_has_changed(tmp_path):
    runs_here = SavedRuns(tmp_path)
    recording = keep(runs_here, lone())
    recording.tell(lambda: About(awaited={"kind": "done", "request": ""}))
    assert runs_here.open(recording.run_id).about.awaited == {"kind": "done", "request": ""}
    assert runs_here.open(recording.run_id).problem is None


def test_the_bar_of_runs_learns_the_link_with_the_first_step(app):
    """A run of an example as it comes is saved only then; before, nothing could bring it back."""
    app.query_params["example"] = "shared_prompt"
    load(app.run())
    assert "run" not in payload(app, "runs")["runs"][0]["link"]
    step_to(app, 0)
    assert payload(app, "runs")["runs"][0]["link"]["run"] == address(app)["run"]
