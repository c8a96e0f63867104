"""What the page says and what its address names while the model loads."""

import threading

import pytest
import streamlit as st

from tests.views import fake_live
from tests.views.page import load, notice, payload, turn_to
from tests.views.survival import address, begun, desk, step_to, visit
from views.limits import server_limits


@pytest.fixture
def model(monkeypatch):
    """It loads until this is set."""
    is_loaded = threading.Event()
    monkeypatch.setattr(
        fake_live, "load_model", lambda progress, **_: is_loaded.wait(30) and "fake"
    )
    yield is_loaded
    is_loaded.set()


def flat(app):
    """AppTest lists what the page has written, and nothing else."""
    given = app.query_params.items()
    return {name: value[0] if isinstance(value, list) else value for name, value in given}


def test_the_address_names_what_was_chosen_although_its_run_is_not_there(app, model):
    app.query_params["step"], app.query_params["sub"] = "0", "4"
    app.run()
    turn_to(app, "own")
    assert payload(app, "transport") is None
    assert flat(app) == {"example": "own"}


def test_what_a_link_asks_for_waits_in_the_address_with_the_run(app, model):
    app.query_params["example"], app.query_params["lens"] = "own", "batch"
    app.run()
    assert flat(app)["lens"] == "batch"
    model.set()
    load(app)
    assert desk(app).lens == "batch"


@pytest.mark.parametrize(
    ("hurt", "said"),
    [
        (lambda lines: [b"\x00\xff"], "The saved run could not be opened: "),
        (lambda lines: [*lines[:1], b'{"type": 7}', *lines[2:]], "damaged"),
        (lambda lines: [*lines[:5], b"xx", *lines[6:]], "damaged"),
    ],
)
def test_a_damaged_run_is_said_to_be_damaged_before_the_model_is_there(
    app, monkeypatch, request, hurt, said
):
    step_to(begun(app, "Hello"), 2)
    link = address(app)
    file = server_limits().runs / f"{link['run']}.jsonl"
    file.write_bytes(b"\n".join(hurt(file.read_bytes().splitlines())))
    st.cache_resource.clear()
    request.getfixturevalue("model")
    there = visit(**link)
    assert not there.error
    assert said in f"{notice(there, 'error') or ''}{notice(there, 'note') or ''}"
