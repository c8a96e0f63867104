"""A minute of what `make soak` does for an hour: random clicking, always the same."""

import pytest

from bench.app_server import APP, server
from bench.soak import Held, logged_errors, soak

pytestmark = pytest.mark.browser


def test_a_minute_of_random_clicking_breaks_nothing(chromium, tmp_path):
    log = tmp_path / "server.log"
    with log.open("wb") as out, server(APP, log=out) as served:
        found = soak(chromium, served, minutes=1, browsers=2, seed=17, log=log)
    assert found["errors"] == []
    assert found["acts"] > 20


def test_a_traceback_in_the_log_is_an_error_and_a_sentence_is_none(tmp_path):
    log = tmp_path / "server.log"
    log.write_text("You can now view your Streamlit app in your browser.\n")
    assert logged_errors(log) == []
    log.write_text("Traceback (most recent call last):\n  File 'x.py'\nKeyError: 'run'\n")
    assert "KeyError: 'run'" in logged_errors(log)[0]


def test_a_server_that_holds_a_tenth_more_at_the_end_is_an_error():
    held = Held(seconds=1000)
    for at_s in range(1000):  # the first 150 seconds are the warm-up
        held.look(at_s, 100 if at_s < 150 else 500 if at_s < 600 else 560)
    assert (held.warm_mb, held.end_mb) == (500, 560)
    assert round(held.growth_percent) == 12
    assert "500 MB after the warm-up and 560 MB at the end: 12 % more" in held.sentence()


def test_a_run_that_comes_and_goes_is_no_growth():
    held = Held(seconds=1000)
    for at_s in range(1000):
        held.look(at_s, 900 if at_s == 999 else 500)
    assert held.growth_percent == 0
