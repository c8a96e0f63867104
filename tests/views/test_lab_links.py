"""The links of the labs name the playground's run, and bring that back and no other."""

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from tests.source_tree import ROOT
from tests.views.page import payload, send
from tests.views.survival import begun, desk, step_to
from views.limits import server_limits
from views.text import Text

TEXT = Text("en")
LABS = ("compare", "fragmentation")
ASKS = {"compare": {"workload": "run"}, "fragmentation": {"lengths": "run"}}


def drawn(app, lab):
    """The lab in the same browser: a change of page empties the address."""
    app._page_hash = calc_hash(lab)  # AppTest 1.67 switches to files only
    return payload(app.run(), lab)


def visit_lab(lab, **params):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    for name, value in (ASKS[lab] | params).items():
        app.query_params[name] = value
    return app, drawn(app, lab)


def own_run(app):
    step_to(begun(app, "Hello"), 7)
    app.query_params.clear()
    return desk(app).run.link


def names(page):
    return {name: page["address"].get(name) for name in ("example", "run")}


def num_requests(page):
    return len(page["requests"])


@pytest.mark.parametrize("lab", LABS)
def test_the_address_of_a_lab_brings_the_run_back_in_another_browser(app, lab):
    step_to(begun(app, "Hello"), 7)
    link = desk(app).run.link
    for name, value in ASKS[lab].items():
        app.query_params[name] = value
    here = drawn(app, lab)
    assert names(here) == link
    st.cache_resource.clear()  # as after a restart of the server
    there, page = visit_lab(lab, **here["address"])
    assert (names(page), num_requests(page), page["complaints"]) == (link, 1, [])
    assert desk(there).run.trace.num_steps == 6


@pytest.mark.parametrize("lab", LABS)
def test_where_the_run_of_a_link_is_gone_no_other_takes_its_place(app, lab):
    link = own_run(app)
    for path in server_limits().runs.iterdir():
        path.unlink()
    there, page = visit_lab(lab, **link)
    if lab == "compare":
        assert page["complaints"] == [TEXT("saved.gone")]
        assert page["is_empty"]
        assert names(page) == link, "a reload says it again"
    else:
        assert page is None
        assert TEXT("saved.gone") in [info.value for info in there.info]


@pytest.mark.parametrize("is_beside", [False, True])
def test_a_run_of_which_a_part_is_damaged_says_so_in_a_lab(app, is_beside):
    link = own_run(app)
    file = server_limits().runs / f"{link['run']}.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*lines[:-3], b"xx\n", *lines[-2:]]))
    there, page = visit_lab("compare", **(ASKS["compare"] if is_beside else link))
    if is_beside:
        for name, value in link.items():
            there.query_params[name] = value
        page = drawn(there, "compare")
    said = page["complaints"][0]
    assert said.startswith("A part of its file is damaged (line ")
    assert names(page) == link


@pytest.mark.parametrize("lab", LABS)
def test_a_link_without_a_run_says_which_one_it_shows(app, lab):
    _, page = visit_lab(lab)
    shown = TEXT.named("example", "doc_example")
    assert page["complaints"] == [TEXT("saved.nameless", example=shown)]
    assert names(page) == {"example": "doc_example", "run": None}
    _, page = visit_lab(lab, example="doc_example")
    assert page["complaints"] == []


def test_back_to_a_lab_shows_the_run_of_its_address_and_the_playground_keeps_its_own(app):
    link = own_run(app)
    other, _ = visit_lab("compare", example="doc_example")
    assert desk(other).example == "doc_example"
    for name, value in link.items():
        other.query_params[name] = value
    page = drawn(other, "compare")
    assert (names(page), num_requests(page), page["complaints"]) == (link, 1, [])
    assert desk(other).example == "doc_example"


def test_a_run_that_was_left_for_another_example_is_still_the_one_that_the_address_names(app):
    link = own_run(app)
    send(app, "revisited", {"names": {"example": "doc_example"}})
    assert desk(app).example == "doc_example"
    for name, value in (ASKS["compare"] | link).items():
        app.query_params[name] = value
    assert names(drawn(app, "compare")) == link
    app.query_params.clear()
    assert names(drawn(app, "compare")) == {"example": "doc_example", "run": None}


def test_the_address_names_no_run_where_another_workload_is_compared(app):
    link = own_run(app)
    app.query_params["workload"] = "cliff"
    for name, value in link.items():
        app.query_params[name] = value
    assert names(drawn(app, "compare")) == {"example": None, "run": None}
