"""A run outlives its server: the link brings it back, and it goes on."""

import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import ROOT, wait_for
from tests.browser.test_playground import MODEL_MS, NOW

pytestmark = pytest.mark.browser
LINK = re.compile(r"run=[\w-]{22}&step=2&sub=")


class Server:
    """On letters, with a folder for its runs; it can be killed and started again."""

    def __init__(self, data, *options, **limits):
        self.options = options
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        limits = {f"PAGEWALK_MAX_{name}": str(value) for name, value in limits.items()}
        self.environ = {**os.environ, "PAGEWALK_DATA": str(data), **limits}
        self.url = f"http://127.0.0.1:{self.port}/playground"

    def start(self):
        options = ["--server.address=127.0.0.1", f"--server.port={self.port}"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.browser.letters", *options, *self.options],
            cwd=ROOT,
            env=self.environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for(f"http://127.0.0.1:{self.port}", self.process)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@contextmanager
def serving(data, *options, **limits):
    server = Server(data, *options, **limits)
    server.start()
    try:
        yield server
    finally:
        server.kill()


def step(page):
    page.keyboard.press("Shift+ArrowRight")


def three_steps(page, server):
    """A prompt of somebody, and the link of the moment after three steps."""
    page.goto(f"{server.url}?example=own")
    page.get_by_role("textbox", name="Prompt", exact=True).fill("Hello")
    page.get_by_role("textbox", name="max_tokens").fill("6")
    page.get_by_role("button", name="Add to the run").click()
    expect(page.get_by_text("r0 was added")).to_be_visible()
    page.get_by_role("button", name="Close prompts").click()
    for number in range(3):
        step(page)
        expect(page.locator(NOW)).to_have_text(re.compile(f"Step {number} is over"))
    page.wait_for_url(LINK)


def goes_on(page, to):
    expect(page.get_by_role("group", name="Run until").get_by_role("button")).to_have_text("Go")
    expect(page.get_by_role("button", name="Forward", exact=True)).to_be_enabled()
    step(page)
    over = re.compile(f"Step {to} is over|r0 is finished", re.DOTALL)
    expect(page.locator(NOW)).to_have_text(over, timeout=MODEL_MS)  # what was lost is sent again


def goes_on_to_its_end(page, first=3):
    for number in range(first, 6):
        goes_on(page, to=number)
    page.get_by_role("button", name="tokens and answer of r0").click()
    expect(page.locator("article .answer")).to_have_text("␣This␣")


def is_back(page, steps=3):
    said = f"the run is back as it was saved: {steps} finished steps"
    expect(page.get_by_text(said)).to_be_visible()
    expect(page.locator(NOW)).to_have_text(re.compile(f"Step {steps - 1} is over"))
    expect(page.locator("article", has_text="r0")).to_contain_text("Hello")


def test_a_page_that_lost_its_server_says_what_comes_back_and_comes_back_by_itself_or_by_a_reload(
    page, tmp_path
):
    said = page.locator(".pw-server")
    with serving(tmp_path) as server:
        three_steps(page, server)
        server.kill()
        words = "Your run is saved up to its last finished step, and comes back there."
        expect(said).to_contain_text(words)
        page.wait_for_timeout(9_000)  # by now Streamlit says it in its own words
        for streamlits in ("stDialog", "stStatusWidget"):
            expect(page.get_by_test_id(streamlits).locator("visible=true")).to_have_count(0)
        server.start()
        is_back(page)
        expect(said).not_to_contain_text(words)
        goes_on(page, to=3)

        server.kill()
        server.start()
        page.reload()
        is_back(page, steps=4)
        goes_on_to_its_end(page, first=4)

        page.goto(f"{page.url}&lang=ja")
        expect(page.get_by_role("group", name="時間")).to_be_visible()
        server.kill()
        expect(said).to_contain_text("最後に完了したステップまで保存されています")
        server.start()
        expect(said).not_to_contain_text("最後に完了したステップまで保存されています")
        expect(page.locator("article", has_text="r0")).to_contain_text("Hello")


def test_a_link_shows_its_run_before_the_model_is_there(page, tmp_path, monkeypatch):
    model = tmp_path / "model"
    model.touch()
    monkeypatch.setenv("PAGEWALK_LETTERS_WAIT", str(model))
    with serving(tmp_path) as server:
        three_steps(page, server)
        server.kill()
        model.unlink()
        server.start()
        for look in (page.goto, lambda _: page.reload()):
            look(page.url)
            is_back(page)
            expect(page.get_by_text("goes on once the model is there")).to_be_visible()
        model.touch()
        expect(page.get_by_text("goes on once the model is there")).to_have_count(0)
        goes_on_to_its_end(page)


@contextmanager
def without_connection(page, server):
    page.context.set_offline(True)
    server.process.send_signal(signal.SIGSTOP)
    yield
    page.wait_for_timeout(1_000)
    server.process.send_signal(signal.SIGCONT)
    page.context.set_offline(False)


def test_a_connection_that_was_lost_for_a_while_costs_nothing_and_a_click_in_it_is_done(
    page, tmp_path
):
    block = page.get_by_role("button", name=re.compile("^2: "))
    with serving(tmp_path) as server:
        three_steps(page, server)
        with without_connection(page, server):
            pass
        goes_on(page, to=3)
        with without_connection(page, server):
            block.click()
        expect(block).to_have_attribute("aria-pressed", "true")
        goes_on_to_its_end(page, first=4)


@pytest.mark.newcomer  # what stands between a page and its server stays there
def test_a_page_that_was_away_for_too_long_is_begun_anew_and_says_so(page, tmp_path):
    sockets = []

    def connect(socket):
        if sockets is not None:
            sockets.append(socket)
            socket.connect_to_server()
        else:
            socket.close()

    page.route_web_socket(re.compile("_stcore/stream"), connect)
    with serving(tmp_path, "--server.disconnectedSessionTTL=1") as server:
        three_steps(page, server)
        page.get_by_role("button", name="Settings").click()  # draws all of the page
        page.get_by_role("button", name="Close settings").click()
        page.wait_for_timeout(1_000)
        *_, last = sockets
        sockets = None  # a laptop is closed, and opened when the server has forgotten it
        last.close()
        expect(page.locator(".pw-server")).to_contain_text("The server does not answer")
        page.wait_for_timeout(3_000)
        sockets = []
        is_back(page)
        expect(page.locator(".pw-server")).to_contain_text("The page was begun anew")
        goes_on_to_its_end(page)


def test_a_run_that_is_gone_is_said_to_be_gone(page, tmp_path):
    with serving(tmp_path) as server:
        three_steps(page, server)
        for file in (tmp_path / "runs").iterdir():
            file.unlink()
        page.reload()
        expect(page.get_by_text("names a saved run that is not here any more")).to_be_visible()
        expect(page.locator("article")).to_have_count(0)
        page.wait_for_url(re.compile(r"\?example=own$"))


@pytest.mark.newcomer  # who goes away
def test_a_full_server_says_so(page, chromium, tmp_path):
    with serving(tmp_path, SESSIONS=1) as server:
        page.goto(server.url)
        expect(page.get_by_role("group", name="Time")).to_be_visible()
        other = chromium.new_context().new_page()
        other.goto(server.url)
        expect(other.get_by_text("all places are taken")).to_have_count(0)
        expect(
            other.get_by_text("serves 1 visitor at a time, and somebody is here")
        ).to_be_visible()
        expect(other.get_by_role("group", name="Time")).to_have_count(0)
        page.close()
        other.wait_for_timeout(1_000)
        other.get_by_role("button", name="Try again").click()
        expect(other.get_by_role("group", name="Time")).to_be_visible()
        other.context.close()


def test_a_run_that_no_address_names_any_more_is_offered_on_the_playground(page, tmp_path):
    with serving(tmp_path) as server:
        three_steps(page, server)
        page.get_by_role("link", name="Sizing").click()
        page.wait_for_url("**/sizing*")
        page.reload()
        page.get_by_role("link", name="Playground").click()
        page.get_by_role("button", name=re.compile("^open again: Your prompts.*Hello")).click()
        expect(
            page.get_by_text("The run is back as it was saved: 3 finished steps")
        ).to_be_visible()
        page.get_by_role("link", name="Compare").click()
        page.get_by_role("combobox", name="Workload").select_option("run")
        page.wait_for_url(re.compile(r"workload=run&.*run=[\w-]{22}"))
        server.kill()
        server.start()
        expect(page.get_by_text("The page was begun anew", exact=True)).to_be_visible()
        expect(page.locator(".complaints")).not_to_contain_text("saved run")
        expect(page.get_by_role("combobox", name="Workload")).to_have_value("run")
        expect(page.get_by_text("r0").first).to_be_visible()
