"""The page without a browser and without a model."""

import sys

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from tests.source_tree import ROOT
from tests.views import fake_live


@pytest.fixture
def app(monkeypatch):
    """The whole app, with letters in the model's place; nothing is shared with other tests."""
    monkeypatch.setitem(sys.modules, "engine.sources.live", fake_live)
    st.cache_resource.clear()
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    app.query_params["example"] = "doc_example"  # else it opens on the way in
    yield app
    st.cache_resource.clear()
