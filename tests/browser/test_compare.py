"""The page on comparing in a real Chromium: one transport for two runs, marks, links, bad settings."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_accessibility import violations_light_and_dark
from tests.browser.test_playground import overflow

pytestmark = pytest.mark.browser


def opened(page: Page, base_url: str, query: str = "") -> None:
    page.goto(f"{base_url}/compare{query}")
    expect(page.locator(".time .where")).to_contain_text("step")


def where(page: Page):
    return page.locator(".time .where")


def half(page: Page, row: str, side: str):
    return page.locator(f"{row} .half").nth(0 if side == "left" else 1)


def request(page: Page, name: str, side: str):
    return half(page, f".request[data-request={name}]", side)


def field(page: Page, name: str, side: str):
    return page.locator(f"[data-name={name}][data-side={side}]")


def marked(half) -> list[str]:
    number = ".grid .block[data-differs] > span:first-child, .group > .block[data-differs]"
    return half.locator(number).all_inner_texts()


def test_the_example_opens_where_the_first_hit_differs_and_fits_the_screen(page, base_url):
    opened(page, base_url)
    expect(where(page)).to_have_text("step 3 of 7")
    expect(request(page, "request1", "left").locator(".facts")).to_contain_text("hit 8")
    expect(request(page, "request1", "right").locator(".facts")).to_contain_text("hit 0")
    scrolled = "document.querySelector('[data-testid=stMain]').scrollHeight - innerHeight"
    assert page.evaluate(scrolled) <= 0
    assert overflow(page) <= 0


def test_blocks_entries_and_facts_that_differ_are_marked_on_both_sides(page, base_url):
    opened(page, base_url)
    expect(page.locator(".say")).to_contain_text("8 blocks of the pool differ")
    for side in ("left", "right"):
        assert marked(half(page, ".pools", side)) == ["1", "2", "3", "4", "6", "7", "8", "9"]
        expect(request(page, "request1", side).locator(".facts [data-differs]")).to_have_count(1)
    assert marked(request(page, "request1", "left")) == ["1", "2", "6", "7"]
    assert marked(request(page, "request1", "right")) == ["6", "7", "8", "9"]
    assert marked(request(page, "request0", "left")) == []


def test_one_transport_moves_both_and_who_is_over_stays_at_its_end(page, base_url):
    opened(page, base_url, "?workload=pressure")
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    expect(where(page)).to_have_text("step 7 of 15")
    for side in ("left", "right"):
        expect(half(page, ".heads", side).locator(".when")).to_have_text("step 7")
    page.keyboard.press("End")
    expect(where(page)).to_have_text("the end, after step 15")
    expect(half(page, ".heads", "left").locator(".when")).to_have_text("end, after step 15")
    expect(half(page, ".heads", "right").locator(".when")).to_have_text(
        "over after step 11: it stays at its end"
    )


def test_a_reason_leads_to_its_step(page, base_url):
    opened(page, base_url, "?workload=pressure&at=0")
    line = page.get_by_role("button", name="r1 is preempted")
    expect(line).to_have_attribute("data-ahead", "true")
    line.click()
    expect(where(page)).to_have_text("step 5 of 15")
    expect(request(page, "r1", "left").locator(".status")).to_contain_text("preempted, place 1")
    assert line.get_attribute("data-ahead") is None


def test_a_setting_changes_its_side_and_the_link_restores_both(page, base_url):
    opened(page, base_url, "?workload=cliff&at=4")
    field(page, "num_blocks", "left").fill("8")
    hits = page.locator(".sum[data-key=hits] .value")
    expect(hits.first).to_contain_text("12")
    expect(hits.nth(1)).to_have_text("0")
    expect(field(page, "num_blocks", "left")).to_be_focused()
    page.wait_for_url(re.compile("at=4.*left_num_blocks=8"))
    page.reload()
    expect(where(page)).to_have_text("step 4 of 5")
    expect(field(page, "num_blocks", "left")).to_have_value("8")
    expect(field(page, "num_blocks", "right")).to_have_value("7")


def test_a_bad_setting_is_told_beside_its_field_and_the_other_side_stays(page, base_url):
    opened(page, base_url)
    field(page, "block_size", "right").fill("0")
    error = page.get_by_text("block_size=0 is out of range")
    expect(error).to_be_visible()
    expect(field(page, "block_size", "right")).to_have_attribute("aria-invalid", "true")
    expect(half(page, ".heads", "right").locator(".when")).to_contain_text("a setting is wrong")
    expect(request(page, "request1", "left").locator(".facts")).to_contain_text("hit 8")
    field(page, "block_size", "right").fill("4")
    expect(error).to_be_hidden()
    expect(request(page, "request1", "right").locator(".facts")).to_contain_text("hit 0")


def test_swapping_and_going_back_to_what_the_workload_came_with(page, base_url):
    opened(page, base_url)
    page.get_by_role("button", name="Swap sides").click()
    expect(field(page, "enable_prefix_caching", "left")).to_have_value("off")
    expect(request(page, "request1", "right").locator(".facts")).to_contain_text("hit 8")
    page.get_by_role("button", name="As it came").click()
    expect(request(page, "request1", "left").locator(".facts")).to_contain_text("hit 8")
    page.wait_for_url(lambda url: "left_" not in url)


def test_own_letters_are_compared_without_a_model(page, base_url):
    opened(page, base_url)
    page.get_by_label("Workload").select_option("letters")
    own = page.get_by_label("Own requests, one a line")
    own.fill("ABCDEFGHI > x\nABCDEFGHI > y")
    expect(page.get_by_text("r1 hits 8 tokens on the left, 0 on the right.")).to_be_visible()
    expect(own).to_be_focused()
    own.fill(">")
    expect(page.get_by_text("Line 1, “>”, is no request")).to_be_visible()
    expect(page.locator(".stage")).to_be_hidden()
    own.fill("<b>A</b>")
    expect(request(page, "r0", "left").locator(".token").first).to_have_text("<")


def test_the_playground_s_run_is_there_and_the_page_keeps_its_place(page, base_url):
    opened(page, base_url, "?workload=run")
    expect(request(page, "request2", "left")).to_be_visible()
    field(page, "num_blocks", "right").fill("9")
    page.wait_for_url(re.compile("right_num_blocks=9"))
    page.get_by_role("link", name="Sizing").click()
    expect(page.get_by_role("heading", name="Step by step")).to_be_attached()
    page.get_by_role("link", name="Compare").click()
    expect(field(page, "num_blocks", "right")).to_have_value("9")
    page.wait_for_url(re.compile("workload=run.*right_num_blocks=9"))


def test_it_plays_and_stops_at_the_end(page, base_url):
    opened(page, base_url, "?at=7")
    page.get_by_role("button", name="Play").click()
    expect(where(page)).to_have_text("the end, after step 7")
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_the_letters_keep_their_arrow_keys(page, base_url):
    opened(page, base_url, "?workload=letters&at=1")
    page.get_by_label("Own requests, one a line").focus()
    page.keyboard.press("ArrowRight")
    expect(where(page)).to_contain_text("step 1 of")


@pytest.mark.parametrize("page", [(390, 844), (1440, 900)], indirect=True, ids=["phone", "desk"])
def test_axe_finds_no_serious_barrier_and_nothing_runs_over_the_edge(page, base_url):
    opened(page, base_url, "?workload=shared&at=2")
    assert overflow(page) <= 0
    assert violations_light_and_dark(page) == []


@pytest.mark.parametrize("page", [(390, 844)], indirect=True, ids=["phone"])
def test_totals_are_explained_at_a_tap_also_where_nothing_can_be_pointed_at(page, base_url):
    opened(page, base_url)
    explain, row = (
        page.get_by_role("button", name="explain"),
        page.locator(".sum[data-key=mean_end]"),
    )
    expect(row.locator(".hint")).to_be_hidden()
    explain.click()
    expect(row.locator(".hint")).to_contain_text("3 of 3")
    expect(explain).to_have_attribute("aria-expanded", "true")
    assert overflow(page) <= 0
    explain.click()
    expect(row.locator(".hint")).to_be_hidden()
