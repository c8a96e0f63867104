"""Run until: where a run stops, how it goes on share by share, and what it says if it cannot."""

import threading

import pytest

from engine.trace import events
from engine.trace.header import TraceHeader
from engine.trace.state import Cursor
from engine.trace.trace import Trace
from tests.views import fake_live
from tests.views.page import notice, open_own, payload, prompt, send, set_number, set_switch
from tests.views.runs import NAMES, golden_trace
from views import runs
from views.drafts import Draft
from views.examples import EXAMPLES
from views.figures.time.until import DONE, EVICTED, PREEMPTED, STARTED, Until, find_next, until_form
from views.runs import Run
from views.text import Text


def happened(trace, cursor):
    return trace.events(cursor.step, cursor.sub_step - 1)


def all_moments(trace, until):
    """Every moment at which it happens, by going from one to the next."""
    found, cursor = [], Cursor(0, 0)
    while (cursor := find_next(trace, cursor, until)) is not None:
        found.append(cursor)
    return found


# In a trace -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_eviction_and_preemption_of_a_golden_run_is_found_in_its_order(name):
    trace = golden_trace(name)
    everything = trace.events_from(0)
    evictions = [e for e in everything if isinstance(e, events.BlocksTaken) and e.evicted_hashes]
    moments = all_moments(trace, Until(EVICTED))
    assert [e for m in moments for e in happened(trace, m) if e in evictions] == evictions
    victims = [e for e in everything if isinstance(e, events.RequestPreempted)]
    moments = all_moments(trace, Until(PREEMPTED))
    assert [e for m in moments for e in happened(trace, m) if e in victims] == victims
    assert moments == sorted(moments)


@pytest.mark.parametrize("name", NAMES)
def test_every_request_of_a_golden_run_starts_as_often_as_it_is_admitted(name):
    trace = golden_trace(name)
    admitted = [e for e in trace.events_from(0) if isinstance(e, events.RequestAdmitted)]
    for request_id in list(trace.at(trace.last).requests)[:6]:
        starts = all_moments(trace, Until(STARTED, request_id))
        assert len(starts) == sum(e.request_id == request_id for e in admitted)


@pytest.mark.parametrize("name", NAMES)
def test_all_are_done_at_the_last_end_of_a_request_or_never(name):
    trace = golden_trace(name)
    cursor = find_next(trace, Cursor(0, 0), Until(DONE))
    is_over = all(r.is_finished for r in trace.at(trace.last).requests.values())
    assert (cursor is not None) == is_over
    if cursor is not None:
        assert all(r.is_finished for r in trace.at(cursor).requests.values())
        before = trace.at(trace.previous(cursor)).requests.values()
        assert not all(r.is_finished for r in before)
        assert find_next(trace, cursor, Until(DONE)) is None


def test_the_documentations_last_request_evicts_at_its_first_step():
    trace = golden_trace("doc_example")
    cursor = find_next(trace, Cursor(0, 0), Until(EVICTED))
    assert isinstance(happened(trace, cursor)[0], events.BlocksTaken)
    assert happened(trace, cursor)[0].request_id == "request2"
    assert find_next(trace, cursor, Until(EVICTED)) is None
    assert find_next(trace, Cursor(0, 0), Until(STARTED, "nobody")) is None


def test_only_who_has_not_started_is_offered_and_the_selected_first():
    trace, text = golden_trace("doc_example"), Text()
    form = until_form(trace, trace.after_update(1), text, request_id="request2", running=None)
    assert [option["text"] for option in form["options"]] == [
        "something is evicted",
        "somebody is preempted",
        "all are done",
        "request2 starts",
        "request1 starts",
    ]
    assert form["preferred"] == ["started", "request2"]
    assert until_form(trace, trace.last, text, request_id=None, running=None)["preferred"] is None


def test_an_empty_trace_waits_for_everything():
    trace = Trace(TraceHeader(config=golden_trace("doc_example").header.config))
    for kind in (EVICTED, PREEMPTED, DONE):
        assert find_next(trace, Cursor(0, 0), Until(kind)) is None


# A run that goes on -----------------------------------------------------------------------------


def live_run(lock=None):
    config = EXAMPLES["own"].config
    source = fake_live.LiveSource("fake", config)
    return Run(source.trace, config, live=source, lock=lock)


def add(run, text="Hello", **fields):
    draft = Draft(text=text, **fields)
    return run.add(draft, draft.sampling(Text()))


def test_one_share_of_work_is_bounded_and_the_next_goes_on_from_there(monkeypatch):
    monkeypatch.setattr(runs, "MAX_STEPS_AT_ONCE", 4)
    run = live_run()
    add(run, max_tokens="10")
    came = run.pursue(Until(DONE), Cursor(0, 0))
    assert (run.trace.num_steps, came.is_found, came.is_over) == (4, False, False)
    shares = 1
    while not came.is_found:
        came = run.pursue(Until(DONE), came.since)
        shares += 1
    assert shares == 3
    assert isinstance(happened(run.trace, came.cursor)[0], events.RequestFinished)
    assert came.cursor == find_next(run.trace, Cursor(0, 0), Until(DONE))


def test_what_has_run_already_is_searched_before_the_engine_is_asked():
    run = live_run()
    add(run)
    for _ in range(3):
        run.advance()
    came = run.pursue(Until(STARTED, "r0"), Cursor(0, 0))
    assert came.is_found
    assert run.trace.num_steps == 3
    assert isinstance(happened(run.trace, came.cursor)[0], events.RequestAdmitted)


def test_others_get_the_model_between_two_steps():
    """Another session waits for the lock while this one runs on, and gets it before it is done."""
    lock = threading.Lock()
    run = live_run(lock)
    add(run, max_tokens="60")
    got_at = []

    def other():
        with lock:
            got_at.append(run.trace.num_steps)

    step = run.live.step

    def slow_step():
        if run.trace.num_steps == 2:
            thread.start()
            assert not got_at
        step()

    thread = threading.Thread(target=other)
    run.live.step = slow_step
    run.pursue(Until(PREEMPTED), Cursor(0, 0))
    thread.join(5)
    assert got_at[0] < run.trace.num_steps


# On the page ------------------------------------------------------------------------------------


def wait_for(app, kind, request=""):
    return send(app, "until", {"kind": kind, "request": request})


def now(app):
    story = payload(app, "narration")
    return story["lines"][story["current"]]["text"]


def test_in_a_recorded_run_only_the_cursor_moves(app):
    wait_for(app.run(), "evicted")
    assert "request2 takes blocks" in now(app)
    assert payload(app, "transport")["step"] == 6
    wait_for(app, "evicted")
    assert notice(app, "note") == (
        "All requests were finished after step 7 before this happened: something is evicted."
    )
    assert payload(app, "transport")["position"] == payload(app, "transport")["last"]


def test_a_live_run_stops_exactly_where_it_happens(app):
    send(open_own(app), "added", prompt(max_tokens="3"))
    send(app, "added", prompt(max_tokens="2"))
    wait_for(app, "started", "r1")
    assert now(app).startswith("r1")
    assert app.session_state["desks"]["playground"].pursuit is None
    wait_for(app, "done")
    assert now(app) == "r0 is finished: it has all the tokens that it asked for." or "r0" in now(
        app
    )
    assert not payload(app, "transport")["can_go_on"]
    wait_for(app, "done")
    assert notice(app, "note") == "Nothing is left to run from here on."


def test_a_long_way_goes_share_by_share_and_can_be_stopped(app, monkeypatch):
    monkeypatch.setattr(runs, "MAX_STEPS_AT_ONCE", 3)
    send(open_own(app), "added", prompt(max_tokens="30"))
    wait_for(app, "done")
    form = payload(app, "until")
    assert form["running"] == "until all are done"
    assert form["where"] == "step 2"
    assert payload(app, "transport")["on_the_way"], (
        "so that no picture of it is a place to come back to"
    )
    share = form["share"]
    send(app, "pursued", share)
    assert payload(app, "until")["share"] == share + 1
    assert payload(app, "transport")["step"] == 5
    send(app, "stopped", True)
    assert payload(app, "until")["running"] is None
    assert not payload(app, "transport")["on_the_way"]
    send(app, "pursued", share + 1)
    assert payload(app, "transport")["step"] == 5, "what was stopped does not go on"


@pytest.mark.parametrize(
    ("what", "sent"),
    [("target", {"position": 1, "sequence": 1}), ("aborted", "r0"), ("added", prompt())],
)
def test_who_does_something_else_has_stopped_the_run(app, monkeypatch, what, sent):
    monkeypatch.setattr(runs, "MAX_STEPS_AT_ONCE", 3)
    send(open_own(app), "added", prompt(max_tokens="30"))
    wait_for(app, "done")
    send(app, what, sent)
    assert payload(app, "until")["running"] is None


def test_selecting_something_on_the_way_does_not_stop_the_run(app, monkeypatch):
    monkeypatch.setattr(runs, "MAX_STEPS_AT_ONCE", 3)
    send(open_own(app), "added", prompt(max_tokens="30"))
    wait_for(app, "done")
    send(app, "selected", {"block": 1})
    assert payload(app, "until")["running"] is not None


def test_a_standstill_on_the_way_is_said(app):
    open_own(app)
    set_number(app, "num_blocks", 3)
    set_switch(app, "wait_for_ever", True)
    app.button(key="apply").click().run()
    send(app, "added", prompt("x" * 40, mode="raw"))
    wait_for(app, "evicted")
    assert notice(app, "note").startswith("The run came to a standstill in step 0 before this")


@pytest.mark.parametrize("sent", [None, {}, "x", {"kind": "started"}, {"kind": "branched"}, 3])
def test_nonsense_waits_for_nothing(app, sent):
    send(app.run(), "until", sent)
    assert not app.error
    assert payload(app, "transport")["position"] == 4


def test_a_run_without_a_request_says_that_it_needs_one(app):
    send(open_own(app), "until", {"kind": "done"})
    assert notice(app, "note") == "There is no request yet: add a prompt first."
    assert payload(app, "until")["running"] is None
