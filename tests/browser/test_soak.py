"""A minute of what `make soak` does for an hour: random clicking, always the same."""

import pytest

from bench.app_server import APP, server
from bench.soak import logged_errors, soak
from tests.browser.conftest import chromium_path

pytestmark = pytest.mark.browser


def test_a_minute_of_random_clicking_breaks_nothing(tmp_path):
    chromium_path()
    log = tmp_path / "server.log"
    with log.open("wb") as out, server(APP, log=out) as served:
        found = soak(served, minutes=1, browsers=2, seed=17, log=log)
    assert found["errors"] == []
    assert found["acts"] > 20


def test_a_traceback_in_the_log_is_an_error_and_a_sentence_is_none(tmp_path):
    log = tmp_path / "server.log"
    log.write_text("You can now view your Streamlit app in your browser.\n")
    assert logged_errors(log) == []
    log.write_text("Traceback (most recent call last):\n  File 'x.py'\nKeyError: 'run'\n")
    assert "KeyError: 'run'" in logged_errors(log)[0]
