"""The page that a browser gets before anything is drawn: Streamlit's own, which knows its server.

Streamlit 1.67 asks for its server below the name of a page first, is refused, and waits 100 ms before
it asks at the root.
"""

import json
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
STATIC = Path(st.__file__).parent / "static"


def routes() -> list[Route]:
    """One for each page. Streamlit answers at every other address."""
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    page = first_page()

    async def answer(_: Request) -> HTMLResponse:
        return HTMLResponse(page, headers={"Cache-Control": "no-cache"})

    places = ("/".join(filter(None, (base, name))) for name in ("", *NAMES))
    return [Route(f"/{place}", answer) for place in places]


def first_page() -> str:
    """Told where its server is before its scripts run."""
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    server = f'location.pathname.replace(RegExp({json.dumps(NAME_AT_THE_END)}), "/")'
    told = (
        f"<script>window.__streamlit = {{ BACKEND_BASE_URL: location.origin + {server} }};</script>"
    )
    return page.replace("</head>", f"{told}\n</head>", 1)
