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


@pytest.fixture
def page(chromium, request) -> Iterator["object"]:
    """A fresh visitor. An error in a script of the page, or a lost connection, fails the test."""
    width, height = getattr(request, "param", (1440, 900))
    context = chromium.new_context(
        viewport={"width": width, "height": height}, reduced_motion="reduce"
    )
    page, errors = context.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda said: errors.extend([said.text] if LOST in said.text else []))
    page.set_default_timeout(1000 * TIMEOUT_S)
    yield page
    context.close()
    assert not errors, errors
