"""A server of our own on a free port, and Debian's Chromium."""

import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-component-update",
    "--disable-sync",
)
LOST = "Failed to process a Websocket message"  # how Streamlit begins to say so
SECONDS_TO_START = 60
TIMEOUT_S = 20  # a machine that does other things as well is slow, not wrong


def chromium_path() -> str:
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("there is no chromium on this machine (Debian: apt-get install chromium)")
    return path


@pytest.fixture(scope="session")
def base_url() -> Iterator[str]:
    with serving() as url:
        yield url


@contextmanager
def serving(path: str = "") -> Iterator[str]:
    """The address of a server of one's own, below a path if asked."""
    chromium_path()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "views", f"--server.port={port}"]
    options = ["--server.address=127.0.0.1", "--server.headless=true"]
    server = subprocess.Popen(
        [*command, *options, f"--server.baseUrlPath={path}"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield wait_for(f"http://127.0.0.1:{port}/{path}".rstrip("/"), server)
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:  # a machine that does other things as well
            server.kill()
            server.wait()


def wait_for(url: str, server: "subprocess.Popen[bytes]") -> str:
    until = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < until:
        assert server.poll() is None, "the server ended before it answered"
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=1) as answer:
                if answer.read() == b"ok":
                    return url
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"no answer from {url} in {SECONDS_TO_START} s")


@pytest.fixture(scope="session")
def chromium() -> Iterator["object"]:
    path = chromium_path()
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    sync_api.expect.set_options(timeout=1000 * TIMEOUT_S)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


class Tab:
    """A tab that stays open from test to test, so that its page is not compiled anew for each.

    Whoever comes next finds nothing of who was there: no storage, no history, no pointer.
    """

    def __init__(self, chromium, base_url: str):
        self._chromium, self._base_url = chromium, base_url
        self._open()

    def _open(self) -> None:
        context = self._chromium.new_context()
        self.page = context.new_page()
        self._devtools = context.new_cdp_session(self.page)

    def enter(self, width: int, height: int) -> None:
        if self.page.is_closed():  # it crashed, say: that is one test's failure
            self._open()
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(reduced_motion="reduce", color_scheme="light")

    def leave(self) -> None:
        page, forget = self.page, "sessionStorage.clear(); localStorage.clear()"
        page.context.set_offline(False)
        page.goto(f"{self._base_url}/_stcore/health")  # of the same origin, and nothing runs there
        page.evaluate(forget)
        page.context.clear_cookies()
        page.mouse.move(0, 0)
        page.goto("about:blank")
        self._devtools.send("Page.resetNavigationHistory")


@contextmanager
def open_tab(chromium, base_url: str) -> Iterator[Tab]:
    tab = Tab(chromium, base_url)
    yield tab
    tab.page.context.close()


@pytest.fixture(scope="session")
def tab(chromium, base_url) -> Iterator[Tab]:
    with open_tab(chromium, base_url) as tab:
        yield tab


@contextmanager
def own_page(chromium, width: int, height: int) -> Iterator["object"]:
    context = chromium.new_context(
        viewport={"width": width, "height": height}, reduced_motion="reduce"
    )
    yield context.new_page()
    context.close()


@contextmanager
def shared_page(tab: Tab, width: int, height: int) -> Iterator["object"]:
    tab.enter(width, height)
    yield tab.page
    tab.leave()


@pytest.fixture
def page(request) -> Iterator["object"]:
    """A fresh visitor. An error in a script of the page, or a lost connection, fails the test."""
    size = getattr(request, "param", (1440, 900))
    if request.node.get_closest_marker("newcomer"):
        visit = own_page(request.getfixturevalue("chromium"), *size)
    else:
        visit = shared_page(request.getfixturevalue("tab"), *size)
    errors: list[str] = []

    def failed(error) -> None:
        errors.append(str(error))

    def said(message) -> None:
        errors.extend([message.text] if LOST in message.text else [])

    with visit as page:
        page.on("pageerror", failed)
        page.on("console", said)
        page.set_default_timeout(1000 * TIMEOUT_S)
        yield page
        page.remove_listener("pageerror", failed)
        page.remove_listener("console", said)
    assert not errors, errors
