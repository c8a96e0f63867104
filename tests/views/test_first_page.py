"""What a browser gets first: Streamlit's page, which knows where its server is."""

import json
import re

import pytest
import streamlit as st
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient
from streamlit.testing.v1 import AppTest

from tests.source_tree import ROOT
from views.first_page import (
    DRAWN_WITH,
    NAME_AT_THE_END,
    NAMES,
    SCRIPTS,
    STATIC,
    FromMemory,
    first_page,
    needed_later,
    routes,
)


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


def test_it_is_streamlits_page_with_lines_more():
    page, own = first_page(), (STATIC / "index.html").read_text(encoding="utf-8")
    before, rest = page.split("<script>window.__streamlit", 1)
    assert before + "</head>" + rest.split("</head>", 1)[1] == own


def test_it_brings_what_the_server_would_answer_for_its_host():
    told = first_page().split("HOST_CONFIG: ", 1)[1].split(" }; try")[0]
    assert json.loads(told) == {
        "allowedOrigins": st.get_option("client.allowedOrigins"),
        "useExternalAuthToken": False,
    }


def test_scripts_needed_later_load_with_the_first_ones():
    own = (STATIC / "index.html").read_text(encoding="utf-8")
    names = needed_later(own)
    assert {name.split(".")[0] for name in names} >= set(DRAWN_WITH)
    assert all((SCRIPTS / name).is_file() for name in names)
    assert all(f'href="./static/js/{name}"' in first_page() for name in names)


def test_below_a_path_it_stands_there(monkeypatch):
    options = {"server.baseUrlPath": "kv/cache", "client.allowedOrigins": ["https://example.org"]}
    monkeypatch.setattr("streamlit.get_option", options.get)
    assert [route.path for route in routes()][:2] == ["/kv/cache", "/kv/cache/home"]


def test_its_scripts_are_answered_as_streamlit_does_and_the_rest_by_streamlit():
    async def streamlit(scope, receive, send):
        await PlainTextResponse("Streamlit's answer")(scope, receive, send)

    client = TestClient(FromMemory(streamlit))
    name = re.search(r'src="\./static/js/([^"]+)"', first_page()).group(1)
    script = client.get(f"/static/js/{name}")
    assert script.content == (SCRIPTS / name).read_bytes()
    assert script.headers["content-type"] == "application/javascript"
    assert script.headers["cache-control"] == "public, immutable, max-age=31536000"
    assert all(
        client.get(f"/static/js/{later}").text != "Streamlit's answer"
        for later in needed_later(first_page())
    )
    for path in (
        "/",
        "/learn",
        "/learn/",
        "/favicon.png",
        "/learn/_stcore/health",
        "/media/0a1b2c",
        "/static/js/",
        "/static/js/none.js",
        "/static/js/..",
        "/_stcore/health",
    ):
        assert client.get(path).text == "Streamlit's answer"
    assert client.post(f"/static/js/{name}").text == "Streamlit's answer"


@pytest.mark.parametrize(
    ("path", "sent_to"),
    [
        ("/lessons", "./?no_page=lessons"),
        ("/lessons/", "../?no_page=lessons"),
        ("/nosuchpage?lang=ja&x=", "./?lang=ja&x=&no_page=nosuchpage"),
        ("/learn/9", "../?no_page=learn%2F9"),
        ("/a/b/c/?lang=zh", "../../../?lang=zh&no_page=a%2Fb%2Fc"),
    ],
)
def test_where_no_page_is_home_is_told_its_name(path, sent_to):
    async def streamlit(scope, receive, send):
        raise AssertionError("Streamlit would say it in English")

    answer = TestClient(FromMemory(streamlit)).get(path, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (302, sent_to)


@pytest.mark.parametrize(
    ("language", "says"),
    [
        ("en", "There is no page `/lessons`. "),
        ("ja", "`/lessons` というページはありません。"),
        ("zh", "没有 `/lessons` 这个页面。"),
    ],
)
def test_home_says_which_page_is_not_there(language, says):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    app.query_params.update({"lang": language, "no_page": "lessons"})
    assert [info.value.startswith(says) for info in app.run().info] == [True]
    app.query_params["no_page"] = "learn/9"
    if language == "en":
        assert app.run().info[0].value.startswith("There is no page `/learn/9`. ")
    app.query_params["no_page"] = "[a](http://b)"
    assert not app.run().info


def test_behind_a_path_of_the_server_home_names_addresses_that_are_there(monkeypatch):
    monkeypatch.setattr("views.first_page.place", lambda path: f"/kv/{path}")
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    app.query_params["no_page"] = "lessons"
    (info,) = app.run().info
    assert info.value.startswith("There is no page `/kv/lessons`. ")
    assert info.value.endswith("the lessons are at `/kv/learn`.")
