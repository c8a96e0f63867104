"""What travels between server and browser, and that it finds its way below another path."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import serving
from tests.browser.test_playground import open_at, where

pytestmark = [pytest.mark.browser, pytest.mark.newcomer]

MOST_BYTES_OF_A_STEP = 40_000  # with the scripts of all parts it would be 290,000
COUNT = """
window.received = 0;
window.WebSocket = class extends WebSocket {
  constructor(...args) {
    super(...args);
    this.addEventListener("message", ({ data }) => { received += data.byteLength ?? data.size; });
  }
};
"""


def test_a_step_carries_data_and_no_scripts(page: Page, base_url: str):
    page.add_init_script(COUNT)
    open_at(page, f"{base_url}?step=3&sub=2", 3, 2)
    page.wait_for_timeout(1_000)
    before = page.evaluate("received")
    page.keyboard.press("ArrowRight")
    where(page, 3, 3)
    page.wait_for_timeout(500)
    assert 2_000 < page.evaluate("received") - before < MOST_BYTES_OF_A_STEP


def test_every_page_is_drawn_below_a_path(page: Page):
    with serving("kv/cache") as url:
        for name in ("", "sizing", "fragmentation"):
            page.goto(f"{url}/{name}")
            part = page.locator(".root:not(:empty)").first
            expect(part).to_be_visible()
            size = part.evaluate("(node) => getComputedStyle(node).containerType")
            assert size == "inline-size"  # its style sheet is there as well
