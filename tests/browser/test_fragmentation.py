"""The page on fragmentation in a real Chromium: time, block size, one request in three memories."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_accessibility import violations_light_and_dark
from tests.browser.test_playground import overflow

pytestmark = pytest.mark.browser


def opened(page: Page, base_url: str, query: str = "") -> None:
    page.goto(f"{base_url}/fragmentation{query}")
    expect(page.locator(".verdict")).to_contain_text("Live at the same time")


def card(page: Page, kind: str):
    return page.locator(f".card[data-kind={kind}]")


def slider(page: Page):
    return page.get_by_role("slider", name="Step of the replay")


def test_the_page_opens_where_more_requests_are_live_with_pages(page, base_url):
    opened(page, base_url)
    live = [
        int(card(page, kind).locator(".counts").inner_text().split()[0])
        for kind in ("reserved", "paged")
    ]
    assert live[0] < live[1]
    expect(card(page, "growing").locator(".total")).to_contain_text("tokens copied to store")
    assert overflow(page) <= 0


def test_three_rows_waste_74_percent_and_pages_a_quarter(page, base_url):
    opened(page, base_url, "?lengths=three")
    expect(card(page, "reserved").locator(".waste")).to_have_text(
        "74.0% waste: 4,548 of 6,144 slots that are held or blocked hold no token"
    )
    expect(card(page, "paged").locator(".waste")).to_have_text(
        "0.25% waste: 4 of 1,600 slots that are held or blocked hold no token"
    )


def test_keys_move_time_and_the_address_brings_it_back(page, base_url):
    opened(page, base_url, "?at=20")
    slider(page).focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(page.locator(".where")).to_contain_text("step 23 of")
    page.wait_for_url(re.compile("at=23"))
    page.reload()
    expect(page.locator(".where")).to_contain_text("step 23 of")


def test_a_request_is_found_in_all_three_by_the_keyboard(page, base_url):
    opened(page, base_url)
    page.locator(".request").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator(".readout")).to_contain_text("r1: reserved")
    expect(page.locator(".request[aria-pressed=true] b")).to_have_text("r1")


def test_the_block_size_is_the_slider_s_and_time_stays(page, base_url):
    opened(page, base_url, "?at=60")
    page.get_by_role("slider", name="block_size").focus()
    page.keyboard.press("ArrowRight")
    expect(card(page, "paged").locator(".how")).to_have_text(
        "Blocks wherever one is free; block_size is 32."
    )
    expect(page.locator(".where")).to_contain_text("step 60 of")
    page.wait_for_url(re.compile("block_size=32.*at=60"))


def test_other_lengths_begin_at_their_own_step_and_size(page, base_url):
    opened(page, base_url, "?block_size=64&at=60")
    page.get_by_role("radio", name="Three rows").click()
    expect(page.locator(".where")).to_contain_text("step 31 of 32")
    expect(card(page, "paged").locator(".how")).to_contain_text("block_size is 16")
    expect(page.locator(".complaints")).to_be_hidden()


def test_it_plays_and_stops_at_the_end(page, base_url):
    opened(page, base_url, "?lengths=three&at=30")
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".where")).to_have_text("step 32 of 32")
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_a_pointer_on_a_slot_says_whose_it_is(page, base_url):
    opened(page, base_url, "?lengths=three")
    card(page, "reserved").locator("canvas").hover(position={"x": 20, "y": 8})
    expect(page.locator(".readout")).to_contain_text(
        "r0: slots 0 to 2,047, 320 hold a token, 1,728 are empty"
    )


def test_an_address_that_is_nonsense_gets_sentences(page, base_url):
    opened(page, base_url, "?lengths=x&block_size=3&reserve=![a](http://b)&at=-1")
    expect(page.locator(".complaints p")).to_have_count(4)
    expect(page.locator(".complaints")).to_contain_text("reserve=![a](http://b)")


@pytest.mark.parametrize("page", [(390, 844), (1440, 900)], indirect=True, ids=["phone", "desk"])
def test_axe_finds_no_serious_barrier_and_nothing_runs_over_the_edge(page, base_url):
    opened(page, base_url)
    assert overflow(page) <= 0
    assert violations_light_and_dark(page) == []
