"""The kernel's page in a real Chromium: walk with the keys, choose a row, keep the link."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_accessibility import violations
from tests.browser.test_playground import overflow

pytestmark = pytest.mark.browser


def opened(page: Page, base_url: str, query: str = "") -> None:
    page.goto(f"{base_url}/kernel?example=doc_example{query}")
    expect(page.locator(".said")).to_contain_text("write_kernel came first")


def walked(page: Page, times: int) -> None:
    for _ in range(times):
        page.keyboard.press("ArrowRight")


def cell(page: Page, position: int, column: str):
    row = page.locator(".visit tbody tr").nth(position)
    return row.locator(f".c-{column}")


def test_the_keys_walk_and_the_source_follows(page, base_url):
    opened(page, base_url, "&step=3&request=request1&token=10")
    expect(cell(page, 10, "block")).to_have_text("·")
    walked(page, 9)
    expect(page.locator(".said")).to_contain_text("block_table[2] = 6")
    expect(page.locator(".line[data-now]")).to_contain_text("tl.load(table_ptr + logical_blocks")
    expect(page.locator(".line[data-now]")).to_be_in_viewport()
    expect(cell(page, 10, "block")).to_have_text("6")
    expect(cell(page, 10, "slot")).to_have_text("·")
    walked(page, 1)
    expect(cell(page, 10, "slot")).to_have_text("26")
    walked(page, 3)
    expect(cell(page, 11, "score")).to_have_text("−∞")
    page.keyboard.press("ArrowLeft")
    expect(cell(page, 11, "score")).to_have_text("q · k")
    assert overflow(page) <= 0


def test_another_row_keeps_the_place_in_the_walk_and_goes_into_the_link(page, base_url):
    opened(page, base_url, "&step=3&request=request1&token=10")
    walked(page, 9)
    page.locator('.rows [data-token="13"]').click()
    expect(page.locator(".said")).to_contain_text("block_table[3] = 7")
    expect(page).to_have_url(re.compile("request=request1&token=13"))
    page.get_by_role("button", name="Step after").click()
    expect(page.locator("h2", has_text="The kernel in step 4")).to_be_visible()


@pytest.mark.parametrize("page", [(1440, 900), (390, 844)], indirect=True)
def test_it_fits_and_has_no_violation(page, base_url):
    opened(page, base_url, "&step=3")
    walked(page, 13)
    assert overflow(page) <= 0
    assert violations(page) == []


@pytest.mark.parametrize("page", [(390, 844)], indirect=True, ids=["phone"])
def test_on_a_phone_the_columns_of_a_tile_are_scrolled_and_the_walk_brings_its_own(page, base_url):
    """Japanese heads are wider than a phone; the longer numbers of a model are in any language."""
    page.goto(f"{base_url}/kernel?example=doc_example&step=3&request=request1&token=10&lang=ja")
    tile = page.locator(".visit .scroll")
    heads = tile.locator("th")
    expect(heads).to_have_count(9)
    assert all(head.is_visible() for head in heads.all())
    expect(tile).to_have_attribute("data-right", "true")
    expect(heads.last).not_to_be_in_viewport(ratio=0.9)
    walked(page, 16)
    expect(heads.last).to_have_attribute("data-focus", "true")
    expect(heads.last).to_be_in_viewport(ratio=0.9)
    expect(heads.first).to_be_in_viewport(ratio=0.9)
    tile.evaluate("(node) => { node.scrollLeft = node.scrollWidth; }")
    expect(tile).not_to_have_attribute("data-right", "true")
