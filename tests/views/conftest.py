"""The page without a browser and without a model."""

import sys

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from tests.source_tree import ROOT
from tests.views import fake_live
from views.limits import server_limits


@pytest.fixture
def app(monkeypatch, tmp_path):
    """The whole app, with letters in the model's place; nothing is shared with other tests."""
    monkeypatch.setitem(sys.modules, "engine.sources.live", fake_live)
    monkeypatch.setenv("PAGEWALK_DATA", str(tmp_path / "data"))
    server_limits.cache_clear()
    st.cache_resource.clear()
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    app.query_params["example"] = "doc_example"  # else it opens on the way in
    yield app
    st.cache_resource.clear()
    server_limits.cache_clear()
