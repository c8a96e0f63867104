"""The page that a browser gets before anything is drawn: Streamlit's own, which knows its server.

Streamlit 1.67 asks for its server below the name of a page first, is refused, and waits 100 ms before
it asks at the root. It loads the code of an element once the first of its kind is to be drawn.
"""

import json
import re
from pathlib import Path

import streamlit as st
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

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
ON_EVERY_PAGE = ("BidiComponent", "ButtonGroup", "Button", "Html")  # elements of Streamlit
STATIC = Path(st.__file__).parent / "static"
SCRIPTS = STATIC / "static" / "js"
IMPORTED = re.compile(r'(?:from|import)"\./([^"]+\.js)"')


def routes() -> list[Route]:
    """One for each page. Streamlit answers at every other address."""
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    page = first_page()

    async def answer(_: Request) -> HTMLResponse:
        return HTMLResponse(page, headers={"Cache-Control": "no-cache"})

    places = ("/".join(filter(None, (base, name))) for name in ("", *NAMES))
    return [Route(f"/{place}", answer) for place in places]


def first_page() -> str:
    """Of a Streamlit in which nothing of this is found, the page as it is."""
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    server = f'location.pathname.replace(RegExp({json.dumps(NAME_AT_THE_END)}), "/")'
    told = (
        f"<script>window.__streamlit = {{ BACKEND_BASE_URL: location.origin + {server} }};</script>"
    )
    loaded = (
        f'<link rel="modulepreload" crossorigin href="./static/js/{name}">'
        for name in scripts_of(ON_EVERY_PAGE)
        if name not in page
    )
    return page.replace("</head>", "\n".join((told, *loaded, "</head>")), 1)


def scripts_of(elements: tuple[str, ...]) -> list[str]:
    """The files of these elements, and what they import."""
    found: set[str] = set()
    waiting = [file.name for name in elements for file in SCRIPTS.glob(f"{name}.*.js")]
    while waiting:
        name = waiting.pop()
        if name not in found and (SCRIPTS / name).exists():
            found.add(name)
            waiting += IMPORTED.findall((SCRIPTS / name).read_text(encoding="utf-8"))
    return sorted(found)
