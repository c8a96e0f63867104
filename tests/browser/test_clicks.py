"""What is clicked or pressed is done once, also where messages are lost, late or overtaken."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect

from tests.browser.conftest import Tab, open_tab
from tests.browser.test_playground import block, open_at, where

pytestmark = pytest.mark.browser
STREAM = re.compile("_stcore/stream")


class Line:
    """The websocket of a page, with hands on it: what is said may be lost on either way, or held."""

    def __init__(self, page: Page):
        self.repair()
        page.route_web_socket(STREAM, self._open)

    def repair(self) -> None:
        self.lost_words: list[bytes] = []  # the next message of the browser with this in it is lost
        self.is_deaf = False  # nothing of the server arrives
        self.holds = False  # nothing of the browser leaves
        self.held: list[bytes] = []
        self.asked: list[bytes] = []

    def _open(self, socket: WebSocketRoute) -> None:
        self.server = socket.connect_to_server()
        socket.on_message(self._from_browser)
        self.server.on_message(lambda said: None if self.is_deaf else socket.send(said))

    def _from_browser(self, said: bytes) -> None:
        if b'"asked"' in said:
            self.asked.append(said)
        lost = next((word for word in self.lost_words if word in said), None)
        if lost is not None:
            self.lost_words.remove(lost)
        elif self.holds:
            self.held.append(said)
        else:
            self.server.send(said)

    def release(self, messages: list[bytes]) -> None:
        self.holds = False
        for said in messages:
            self.server.send(said)


@pytest.fixture(scope="module")
def tab(chromium, base_url: str) -> Iterator[Tab]:
    """For this file alone: a line that was laid is never taken away."""
    with open_tab(chromium, base_url) as tab:
        yield tab


@pytest.fixture(scope="module")
def laid(tab: Tab) -> Line:
    return Line(tab.page)


@pytest.fixture
def line(page: Page, laid: Line, base_url: str) -> Line:
    laid.repair()
    open_at(page, f"{base_url}/playground?step=3&sub=6", 3, 6)
    page.wait_for_timeout(500)
    return laid


def is_selected(page: Page, block_id: int, is_so: bool = True) -> None:
    expect(block(page, block_id)).to_have_attribute("aria-pressed", str(is_so).lower())


def nothing_is_open(page: Page) -> None:
    page.wait_for_function("() => !__pagewalk.asking.open.length")
    page.wait_for_timeout(700)  # longer than what is open would wait for its answer


def test_a_click_that_was_lost_on_its_way_is_sent_again(page: Page, line: Line):
    line.lost_words = [b"selected"]
    block(page, 2).click()
    is_selected(page, 2)
    nothing_is_open(page)
    is_selected(page, 2)
    assert len(line.asked) >= 2
    assert not line.lost_words


def test_a_click_whose_answer_was_lost_is_not_done_twice(page: Page, line: Line):
    line.is_deaf = True
    block(page, 2).click()
    page.wait_for_timeout(500)
    line.is_deaf = False
    is_selected(page, 2)  # done twice it would be let go again
    nothing_is_open(page)
    is_selected(page, 2)


def test_of_three_clicks_that_overtake_each_other_each_is_done(page: Page, line: Line):
    line.holds = True
    block(page, 2).click()
    page.get_by_role("tab", name="Timeline").click()
    block(page, 4).click()
    page.wait_for_timeout(200)
    line.release(line.held[-1:])  # as Streamlit does where a newer message of a part comes
    is_selected(page, 4)
    expect(page.get_by_role("tab", name="Timeline")).to_have_attribute("aria-selected", "true")
    nothing_is_open(page)
    is_selected(page, 4)


def test_the_same_click_twice_lets_go_again_when_the_first_was_lost(page: Page, line: Line):
    line.lost_words = [b"selected"]
    block(page, 2).click()
    block(page, 2).click()
    nothing_is_open(page)
    is_selected(page, 2, False)


def test_the_cursor_ends_where_the_presses_say_though_targets_get_lost(page: Page, line: Line):
    line.lost_words = [b'"target"'] * 3
    for key in ("ArrowLeft", "ArrowLeft", "ArrowRight", "ArrowLeft", "ArrowLeft", "ArrowRight"):
        page.keyboard.press(key)
        page.wait_for_timeout(60)
    where(page, 3, 4)
    nothing_is_open(page)
    where(page, 3, 4)
    assert not line.lost_words


def test_a_server_that_is_slow_is_waited_for_and_says_so(page: Page, line: Line):
    line.holds = True
    block(page, 2).click()
    said = page.locator(".pw-server")
    expect(said).to_contain_text("The server is busy")
    line.release(line.held)
    is_selected(page, 2)
    expect(said).to_have_count(0)
    nothing_is_open(page)
    is_selected(page, 2)


def test_two_parts_that_send_in_one_tick_are_both_answered(page: Page, line: Line):
    """Streamlit alone runs the fragment of the first: the second would have no picture."""
    page.evaluate(
        """() => {
          const find = (selector, root = document) => root.querySelector(selector) ??
            [...root.querySelectorAll("*")].reduce((found, node) => found ?? (node.shadowRoot && find(selector, node.shadowRoot)), null);
          __pagewalk.asking.parts.get("readiness").send("looked", -1);
          find(".buttons [data-name=back]").click();
        }"""
    )
    where(page, 3, 5)
    nothing_is_open(page)


def test_a_click_that_was_under_way_when_the_page_changed_is_done_where_it_was_meant(
    page: Page, line: Line
):
    line.lost_words = [b"selected"]
    block(page, 2).click()
    page.get_by_role("link", name="Lessons").click()
    expect(page.get_by_role("group", name="Time")).to_have_count(0)
    page.get_by_role("link", name="Playground").click()
    where(page, 3, 6)
    is_selected(page, 2)
    nothing_is_open(page)
    is_selected(page, 2)
