"""What a browser gets first: Streamlit's page, which knows where its server is."""

import re

import pytest

from tests.source_tree import ROOT
from views.first_page import NAME_AT_THE_END, NAMES, STATIC, first_page, routes


def test_every_page_of_the_app_has_it():
    named = re.findall(r'url_path="(\w+)"', (ROOT / "app.py").read_text(encoding="utf-8"))
    assert sorted(named) == sorted(NAMES)
    assert [route.path for route in routes()] == ["/", *(f"/{name}" for name in NAMES)]


@pytest.mark.parametrize(
    ("path", "server"),
    [
        ("/playground", "/"),
        ("/playground/", "/"),
        ("/", "/"),
        ("/kv/cache/learn", "/kv/cache/"),
        ("/kv/cache", "/kv/cache"),
        ("/my-inspect", "/my-inspect"),
    ],
)
def test_the_server_is_where_the_name_of_the_page_begins(path, server):
    assert re.sub(NAME_AT_THE_END, "/", path, count=1) == server


def test_it_is_streamlits_page_with_one_line_more():
    page, own = first_page(), (STATIC / "index.html").read_text(encoding="utf-8")
    before, rest = page.split("<script>window.__streamlit", 1)
    assert before + "</head>" + rest.split("</head>", 1)[1] == own
    assert rest.split("</script>")[0].endswith(', "/") };')


def test_below_a_path_it_stands_there(monkeypatch):
    monkeypatch.setattr("streamlit.get_option", lambda name: "kv/cache")
    assert [route.path for route in routes()][:2] == ["/kv/cache", "/kv/cache/home"]
