"""The page that a browser gets before anything is drawn: Streamlit's own, which knows its server.

Streamlit 1.67 asks for its server below the name of a page first, is refused, and waits 100 ms before
it asks at the root; then it waits for an answer before it connects, and only with the first messages
learns which more of its scripts they need. All of that is known before. The scripts are answered from
memory: Streamlit opens each file in a thread, while a server that has just started imports in others.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

import streamlit as st
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

NAMES = (
    "home",
    "learn",
    "allocator",
    "beat",
    "playground",
    "kernel",
    "compare",
    "sizing",
    "fragmentation",
    "inspect",
)
NAME_AT_THE_END = f"/(?:{'|'.join(NAMES)})?/?$"  # of an address; what is left leads to the server
# Of a page of ours, or of one that somebody looks for: `lessons`, `learn/9`. In Streamlit's own
# addresses there is a part that begins with _, a dot, or one of these folders.
PAGE_PATH = "(?!(?:app|component|media|static)/)[A-Za-z][A-Za-z0-9_-]{0,39}(?:/[A-Za-z0-9][A-Za-z0-9_-]{0,39}){0,4}"
NO_PAGE = "no_page"  # of an address: a page that was asked for and is not there
STATIC = Path(st.__file__).parent / "static"
SCRIPTS = STATIC / "static" / "js"
DRAWN_WITH = (
    "BidiComponent",
    "Button",
    "ButtonGroup",
    "Html",
)  # Streamlit's, by every page of ours
NAMED = re.compile(r'"\./static/js/([^"]+\.js)"')
# A script has a name of its own for each content, as Streamlit says as well.
FOR_EVER = {"Cache-Control": "public, immutable, max-age=31536000"}
# The runs of this tab are asked for by the first picture; the first question waits for the browser.
ASK_EARLY = "try { sessionStorage.length; } catch { /* it keeps nothing */ }"
IMPORTED = re.compile(r'(?:\bfrom|\bimport)"\./([^"]+\.js)"')


def routes() -> list[Route]:
    """One for each page. Streamlit answers at every other address."""
    page = first_page()

    async def answer(_: Request) -> HTMLResponse:
        return HTMLResponse(page, headers={"Cache-Control": "no-cache"})

    return [Route(place(name), answer) for name in ("", *NAMES)]


def place(path: str) -> str:
    """Where on the server something of the app is."""
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{'/'.join(filter(None, (base, path)))}"


class FromMemory:
    """Answers where the first page's scripts are: before Streamlit, and with the same. And where a
    page of ours could be but none is: there Streamlit's own words would be English."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.base = place("").rstrip("/") + "/"
        self.page = re.compile(rf"{re.escape(self.base)}(?P<page>{PAGE_PATH})/?")
        names = NAMED.findall(first_page())
        self.scripts = {place(f"static/js/{name}"): (SCRIPTS / name).read_bytes() for name in names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self._answer(scope) if scope.get("method") == "GET" else None
        await (answer or self.app)(scope, receive, send)

    def _answer(self, scope: Scope) -> Response | None:
        script = self.scripts.get(scope["path"])
        if script is not None:
            return Response(script, media_type="application/javascript", headers=FOR_EVER)
        asked = self.page.fullmatch(scope["path"])
        if asked is None or asked["page"] in NAMES:
            return None
        given = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        query = urlencode([*given, (NO_PAGE, asked["page"])])
        home = "../" * asked[0].removeprefix(self.base).count("/") or "./"
        return RedirectResponse(f"{home}?{query}", status_code=302)


def first_page() -> str:
    """Told where its server is before its scripts run, and loading with them those needed later."""
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    server = f'location.pathname.replace(RegExp({json.dumps(NAME_AT_THE_END)}), "/")'
    # What Streamlit's frontend takes as an answer of /_stcore/host-config.
    config = {
        "allowedOrigins": list(st.get_option("client.allowedOrigins")),
        "useExternalAuthToken": False,
    }
    told = (
        f"<script>window.__streamlit = {{ BACKEND_BASE_URL: location.origin + {server}, "
        f"HOST_CONFIG: {json.dumps(config)} }}; {ASK_EARLY}</script>"
    )
    later = (
        f'<link rel="modulepreload" crossorigin href="./static/js/{name}">'
        for name in needed_later(page)
    )
    return page.replace("</head>", "\n".join((told, *later, "</head>")), 1)


def needed_later(page: str) -> list[str]:
    """Names of the scripts that a page of ours needs beside those that Streamlit's page names."""
    ahead = [path.name for name in DRAWN_WITH for path in SCRIPTS.glob(f"{name}.*.js")]
    found: dict[str, None] = {}
    while ahead:
        name = ahead.pop(0)
        if name not in found and name not in page:
            found[name] = None
            ahead += _imports(name)
    return list(found)


def _imports(name: str) -> Iterable[str]:
    return IMPORTED.findall((SCRIPTS / name).read_text(encoding="utf-8"))
