"""One side of a comparison on the stage: where it stands, what is said over it, and the way back."""

import pytest
from streamlit.util import calc_hash

from engine.trace.state import Cursor
from tests.views.comparisons import TEXT, halves
from tests.views.page import load, payload, prompt, send
from views.compared import ComparedRun, kept, moment_of, same_moment
from views.figures.compare.closer import closer, switch
from views.figures.compare.compare import reasons
from views.figures.selection import NOTHING, Selection

DOC = "doc_example"


def traces(name):
    return [half.trace for half in halves(name)]


def over_the_stage(name, side, step, request_id=None):
    both = halves(name)
    lines = reasons(both, TEXT)["lines"]
    return closer(
        both, side, step, TEXT, lines=lines, request_id=request_id, position_of=lambda step: step
    )


# The same moment ---------------------------------------------------------------------------------


def test_what_happens_to_a_request_is_found_on_the_other_side():
    """Left, in step 3: .. asks the cache, touches, takes; right: .. asks the cache, takes."""
    left, right = traces(DOC)
    assert same_moment(left, Cursor(3, 4), right, 3) == Cursor(3, 4)
    assert same_moment(left, Cursor(3, 6), right, 3) == Cursor(3, 5)
    assert same_moment(right, Cursor(3, 5), left, 3) == Cursor(3, 6)


def test_what_happens_on_one_side_alone_leads_behind_what_both_have():
    left, right = traces(DOC)
    assert same_moment(left, Cursor(3, 5), right, 3) == Cursor(3, 4)


@pytest.mark.parametrize("sub_step", [0, 1, 2])
def test_the_start_of_a_step_is_its_start(sub_step):
    left, right = traces(DOC)
    assert same_moment(left, Cursor(0, sub_step), right, 0) == Cursor(0, sub_step)


def test_a_run_that_is_over_is_seen_at_its_end():
    left, right = traces("pressure")
    assert same_moment(left, Cursor(14, 2), right, 14) == right.last
    assert moment_of(right, 14) == right.last
    assert moment_of(right, 5) == Cursor(5, 7)


def test_the_way_back_leads_to_the_step_that_was_reached():
    run = ComparedRun(halves("pressure"), "right", {})
    assert run.step_at(Cursor(5, 2), 9) == 5
    assert run.step_at(run.trace.last, 14) == 14, "nobody moved: the left run alone has that step"
    assert run.step_at(run.trace.last, 5) == 12, "its end, behind its last step"


def test_what_only_the_other_side_has_is_let_go():
    _, roomy = halves("pressure")
    small, _ = halves("pressure")
    assert kept(Selection(block_id=8), roomy.trace) == Selection(block_id=8)
    assert kept(Selection(block_id=8), small.trace) == NOTHING
    assert kept(Selection(request_id="r1"), small.trace) == Selection(request_id="r1")


# What is said over the stage ---------------------------------------------------------------------


def test_a_side_says_what_it_has_otherwise_and_what_differs_now():
    said = over_the_stage(DOC, "right", 3)
    assert said["settings"] == ["enable_prefix_caching: off (left: on)"]
    assert said["say"].startswith("8 blocks of the pool differ: 1, 2, 3, 4, 6, 7, 8, 9.")
    assert (said["other"], said["cross"]) == ("left", "The same moment on the left")
    assert [(line["text"], line["when"]) for line in said["lines"]] == [
        ("request1 hits 8 tokens on the left, 0 on the right.", "")
    ]
    assert said["lines"][0]["because"].startswith("Because on the right: Prefix caching is off")


def test_a_step_in_which_nothing_comes_out_otherwise_tells_of_the_request_that_is_selected():
    assert over_the_stage(DOC, "left", 4)["lines"] == []
    (line,) = over_the_stage(DOC, "left", 4, request_id="request2")["lines"]
    assert (line["when"], line["position"]) == ("step 6", 6)
    assert line["text"] == "request2 hits 12 tokens on the left, 0 on the right."


def test_of_several_the_one_about_the_request_that_is_selected_comes_first():
    said = over_the_stage("shared", "left", 0, request_id="r3")
    assert said["lines"][0]["text"] == (
        "r3 is admitted in step 0 on the left, in step 4 on the right."
    )
    assert said["more"] == "and 2 more differences"


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_run_that_ended_before_the_other_is_said_to(side):
    said = over_the_stage("pressure", side, 14)["say"]
    assert said.startswith("The right run is over since step 11. ")
    assert "is over" not in over_the_stage("pressure", side, 16)["say"]
    assert "is over" not in over_the_stage("pressure", side, 11)["say"]


def test_a_side_that_has_not_run_can_not_be_looked_at():
    choices = switch(halves(DOC, right={"num_blocks": "1"}), "", TEXT)["choices"]
    assert [(each["side"], each["off"]) for each in choices] == [
        ("", False),
        ("left", False),
        ("right", True),
    ]


# The page ----------------------------------------------------------------------------------------


@pytest.fixture
def page(app):
    app._page_hash = calc_hash("compare")  # AppTest 1.67 switches to files only
    return app


def opened(page, **params):
    for name, given in params.items():
        page.query_params[name] = given
    page.run()
    assert not page.exception
    assert not page.error
    return page


def ask(page, what, sent):
    page.session_state["desks"]["compare"].asked[what] = sent
    return opened(page)


def stands_at(page):
    found = payload(page, "transport")
    return found and (found["address"]["side"], found["step"], found["sub_step"])


def test_a_side_goes_onto_the_stage_where_the_comparison_stands_and_back_where_the_stage_does(page):
    opened(page)
    ask(page, "closer", {"side": "left", "at": 3, "selected": {"request": "request1"}})
    assert payload(page, "compare") is None
    assert stands_at(page) == ("left", 3, 10)
    assert {"requests", "pool", "queue", "tables", "narration", "numbers", "tree"} <= {
        element.proto.component_name.split("pagewalk_")[1] for element in page.get("bidi_component")
    }
    assert payload(page, "pool")["lit"]["own"] == {"request": "request1"}
    ask(page, "target", {"position": 60})
    _, step, _ = stands_at(page)
    assert step == 6
    ask(page, "closer", {"side": ""})
    back = payload(page, "compare")["returned"]
    assert (back["at"], back["selected"]) == (6, {"request": "request1"})
    assert payload(page, "transport") is None


def test_who_goes_to_the_other_side_and_back_stands_where_they_stood(page):
    opened(page, side="left", step="3", sub="5", request="request1", lens="why")
    assert stands_at(page) == ("left", 3, 5)
    ask(page, "closer", {"side": "right"})
    assert stands_at(page) == ("right", 3, 4)
    assert payload(page, "pool")["lit"]["own"] == {"request": "request1"}
    assert payload(page, "lenses")["open"] == "why"
    ask(page, "closer", {"side": "left"})
    assert stands_at(page) == ("left", 3, 5)


def test_a_link_restores_the_side_its_moment_and_what_is_selected(page):
    opened(page, workload="pressure", side="right", step="5", sub="2", block="8", lens="block")
    assert stands_at(page) == ("right", 5, 2)
    address = payload(page, "transport")["address"]
    assert address == {
        "workload": "pressure",
        "side": "right",
        "step": 5,
        "sub": 2,
        "block": 8,
        "lens": "block",
    }
    assert page.session_state["desks"]["playground"].selection == NOTHING


def test_a_link_without_a_moment_opens_where_the_sides_first_differ(page):
    opened(page, workload="pressure", side="left")
    assert stands_at(page) == ("left", 5, 8)


def test_a_link_to_a_side_that_is_not_there_shows_both_and_says_so(page):
    found = payload(opened(page, side="middle"), "compare")
    assert found["complaints"] == [
        "The address asked for side=middle, which is not there: choose from left, right."
    ]


def test_a_link_to_a_side_that_cannot_run_shows_both_and_says_so(page):
    found = payload(opened(page, side="left", left_num_blocks="1"), "compare")
    assert found["complaints"] == ["Nothing runs on the left: a setting is wrong."]


def test_back_in_the_browser_leads_to_the_other_side_s_moment(page):
    opened(page, side="right", step="4")
    ask(page, "revisited", {"names": {"side": "left"}, "step": 3, "sub": 5})
    assert stands_at(page) == ("left", 3, 5)


def test_back_in_the_browser_leads_to_where_both_stood(page):
    opened(page, side="right", step="4", request="request1")
    ask(page, "revisited", {"names": {"at": 3}, "step": 3, "sub": 0})
    assert payload(page, "transport") is None
    back = payload(page, "compare")["returned"]
    assert (back["at"], back["selected"]) == (3, {"request": "request1"})


def test_forward_in_the_browser_leads_to_the_moment_of_the_side(page):
    opened(page)
    ask(page, "closer", {"side": "right", "at": 3, "selected": {}, "step": 4, "sub": 2})
    assert stands_at(page) == ("right", 4, 2)
    ask(page, "closer", {"side": ""})
    assert payload(page, "compare")["returned"]["at"] == 4


def test_back_in_the_browser_leads_to_what_was_compared_then(page):
    opened(page, workload="pressure", side="left", step="5", sub="2")
    link = {"workload": "doc_example", "right_block_size": "8", "at": "2"}
    ask(page, "revisited", {"names": {"at": 2}, "step": 2, "sub": 0, "link": link})
    assert payload(page, "compare")["workload"] == "doc_example"
    assert payload(page, "compare")["returned"]["at"] == 2
    ask(page, "compared", {"workload": "doc_example", "letters": "a: A B C"})
    link = {"workload": "pressure", "side": "right"}
    ask(page, "closer", {"side": "right", "at": 0, "step": 5, "sub": 1, "link": link})
    assert stands_at(page) == ("right", 5, 1)
    assert payload(page, "transport")["address"]["workload"] == "pressure"
    ask(page, "closer", {"side": ""})
    assert payload(page, "compare")["letters"] == "a: A B C"


def test_a_side_of_the_playground_s_run_goes_onto_the_stage_and_leaves_that_run_as_it_is(app):
    app.query_params["example"] = "own"
    load(app.run())
    send(app, "added", prompt("Hello there friend", max_tokens="3"))
    send(app, "target", {"step": 1})
    playing = app.session_state["desks"]["playground"]
    run, cursor = playing.run, playing.cursor
    app._page_hash = calc_hash("compare")
    opened(app, workload="run", side="right")
    assert stands_at(app)[0] == "right"
    assert payload(app, "transport")["address"]["workload"] == "run"
    ask(app, "target", {"position": 2})
    assert stands_at(app) == ("right", 0, 2)
    assert (playing.run, playing.cursor) == (run, cursor)


@pytest.mark.parametrize("sent", [None, 7, {}, {"side": 3}, {"side": "up"}, {"names": {}}])
def test_what_no_page_sends_changes_nothing(page, sent):
    opened(page, side="left", step="3", sub="5")
    for what in ("closer", "revisited"):
        ask(page, what, sent)
    assert stands_at(page) == ("left", 3, 5)
