"""The links of data/cases.json (B45), each as the page opens it."""

from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest

from tests.hand_over import INPUTS, of_area
from tests.source_tree import ROOT
from tests.views.page import notice, payload

LINKS = {id_: case for id_, case in of_area("link").items() if id_ != "link_markup"}
MAX_QUOTED = 40
START = 4  # where the page opens without a link


def opened(app, link):
    for name, values in parse_qs(link.removeprefix("?"), keep_blank_values=True).items():
        app.query_params[name] = values
    app.run()
    assert not app.error
    assert not app.exception
    return payload(app, "transport")


@pytest.mark.parametrize("case_id", LINKS)
def test_a_link_opens_what_is_right(app, case_id):
    link, right = LINKS[case_id]["given"], LINKS[case_id]["right"]
    shown, note = opened(app, link), notice(app, "note")
    if right.startswith(("the last step, with a note", "the first step, with a note")):
        is_last = right.startswith("the last")
        assert shown["position"] == (shown["last"] if is_last else 0)
        assert "The address asked for step" in note
        assert link.removeprefix("?step=")[:MAX_QUOTED] in note
    elif right.startswith("step 3 or a note"):
        assert shown["step"] == 3 or note is not None
    elif right == "ignored":
        assert (shown["position"], note) == (START, None)
    else:
        assert right == "one of them, the same each time", f"{case_id} has no check: {right}"
        assert (shown["step"], note) == (2, None)


@pytest.mark.parametrize("case_id", LINKS)
def test_a_link_opens_the_same_for_the_next_visitor(app, case_id):
    visitors = app, AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    visitors[1].query_params["example"] = "doc_example"
    places = [opened(visitor, LINKS[case_id]["given"])["position"] for visitor in visitors]
    assert places[0] == places[1]
    assert notice(visitors[0], "note") == notice(visitors[1], "note")


def test_markup_in_a_link_is_quoted_letter_by_letter(app):
    given = INPUTS["link_markup"]["given"]
    markup = given.removeprefix("?lesson=")
    assert opened(app, f"?example={markup}")["position"] == START
    assert f"“{markup}”" in notice(app, "note")
    del app.query_params["example"]
    visitor = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    assert opened(visitor, given) is None, "the list of lessons has no run"
    assert f"“{markup}”" in notice(visitor, "note")
    assert payload(visitor, "syllabus")["parts"]


def test_a_link_with_two_wrong_parts_gets_a_sentence_for_each(app):
    opened(app, "?block=9999&lens=x")
    assert notice(app, "note") == (
        "The address asked for block “9999”, which does not exist in this run. "
        "The address asked for lens “x”, which does not exist in this run."
    )


def missing(name, given):
    return f"The address asked for {name} “{given}”, which does not exist in this run."


@pytest.mark.parametrize(
    ("link", "kept", "wrong"),
    [
        ("?request=request1&block=99", {"request": "request1"}, [("block", "99")]),
        (
            "?block=<b>x&hash=zz&token=99&request=request0",
            {"request": "request0"},
            [("block", "<b>x"), ("hash", "zz"), ("token", "99")],
        ),
        ("?token=3", {}, [("token", "3")]),
        (
            "?request=request0&token=3&hash=zz",
            {"request": "request0", "token": 3},
            [("hash", "zz")],
        ),
    ],
)
def test_what_does_not_exist_is_named_and_what_exists_is_selected(app, link, kept, wrong):
    opened(app, link)
    assert notice(app, "note") == " ".join(missing(*each) for each in wrong)
    assert app.session_state["desks"]["playground"].selection.named() == kept


def test_a_hash_that_was_forgotten_later_is_one_of_this_run(app):
    opened(app, "?step=2")
    trace = app.session_state["desks"]["playground"].run.trace
    state = trace.at(trace.after_update(0))
    block_hash = state.requests["request0"].block_hashes[0]
    visitor = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    visitor.query_params["example"] = "doc_example"
    opened(visitor, f"?hash={block_hash}")
    assert notice(visitor, "note") is None
    assert visitor.session_state["desks"]["playground"].selection.named() == {"hash": block_hash}
