"""The list from which a visitor chooses the dtype of the weights."""

import pytest
from playwright.sync_api import expect

from tests.browser.test_survival import Server

pytestmark = pytest.mark.browser


@pytest.fixture
def server(tmp_path):
    server = Server(tmp_path)
    server.environ["PAGEWALK_LETTERS_DTYPES"] = "1"
    server.start()
    yield server
    server.kill()


def test_a_dtype_is_chosen_by_mouse_or_key_beside_what_was_typed_and_stays_when_applied(
    page, server
):
    page.goto(f"{server.url}?example=own")
    page.get_by_role("button", name="Settings", exact=True).click()
    weights, blocks = page.get_by_label("Weights"), page.get_by_label("Blocks in the pool")
    expect(weights).to_have_value("bfloat16")
    expect(weights.locator("option")).to_have_text(["bfloat16", "4-bit, as stored"])
    blocks.fill("50")
    weights.select_option("4bit")
    apply = page.get_by_role("button", name="Apply and restart")
    expect(page.get_by_text("Changes num_blocks, dtype.")).to_be_visible()
    expect(apply).to_be_enabled()
    apply.click()
    expect(page.get_by_text("Nothing is changed yet.")).to_be_visible()
    expect(weights).to_have_value("4bit")
    expect(blocks).to_have_value("50")
    weights.focus()
    weights.press("ArrowUp")
    expect(page.get_by_text("Changes dtype.")).to_be_visible()
    expect(weights).to_have_value("bfloat16")
