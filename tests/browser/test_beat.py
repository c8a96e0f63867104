"""Beat the pool in a browser: by clicks, by keys, by dragging; the link brings it back."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_accessibility import violations

pytestmark = pytest.mark.browser
FOUND = "a102-b102-c102-d102-e102-f102"


def open_puzzle(page: Page, base_url: str, query: str = "") -> None:
    page.goto(f"{base_url}/beat{query}")
    expect(page.locator(".prompts > li")).to_have_count(6)


def row(page: Page, id_: str):
    return page.locator(".prompts > li").filter(has=page.locator(f".name[data-request={id_}]"))


def parts(page: Page, id_: str) -> list[str]:
    found = row(page, id_).locator(".part")
    return [found.nth(at).get_attribute("data-part") or "" for at in range(found.count())]


def rate(page: Page):
    return page.locator(".score .rate")


def test_the_first_puzzle_is_solved_by_clicks_and_its_link_brings_it_back(page, base_url):
    open_puzzle(page, base_url)
    expect(rate(page)).to_have_text("0.0%")
    for place, id_ in enumerate("abcdef"):
        row(page, id_).get_by_role("button", name="time stamp").click()
        expect(row(page, id_).locator(".part").first).to_have_attribute("data-part", "system")
        expect(page.locator(".score .quiet").first).to_have_text(f"{20 * place} of 219 tokens hit")
    expect(page.locator(".score")).to_have_attribute("data-solved", "true")
    expect(page.get_by_text("Better is known to be possible.")).to_be_visible()
    expect(page.locator(".prompts .hit").nth(3)).to_have_text("Talk like a pirate. ")
    expect(page).to_have_url(re.compile(f"puzzle=1.*arranged={FOUND}"))
    page.reload()
    expect(rate(page)).to_have_text("45.7%")
    page.get_by_role("button", name="As it was given").click()
    expect(rate(page)).to_have_text("0.0%")
    assert violations(page) == []


def test_parts_and_prompts_are_moved_by_keys_and_the_focus_goes_along(page, base_url):
    open_puzzle(page, base_url)
    stamp = row(page, "b").get_by_role("button", name="time stamp")
    stamp.focus()
    page.keyboard.press("ArrowRight")
    expect(row(page, "b").locator(".part").nth(1)).to_have_attribute("data-part", "clock")
    expect(row(page, "b").get_by_role("button", name="time stamp")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(row(page, "b").locator(".part").nth(2)).to_have_attribute("data-part", "clock")
    page.get_by_role("button", name="Send prompt b earlier").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".prompts > li .name").first).to_have_text("b")
    expect(page.get_by_role("button", name="Send prompt b earlier")).to_be_focused()


def test_parts_and_prompts_are_dragged(page, base_url):
    open_puzzle(page, base_url)
    row(page, "a").locator(".part").nth(2).drag_to(row(page, "a").locator(".part").nth(0))
    expect(row(page, "a").locator(".part").first).to_have_attribute("data-part", "question")
    assert parts(page, "a") == ["question", "clock", "system"]
    row(page, "c").locator(".name").drag_to(row(page, "a").locator(".found"))
    expect(page.locator(".prompts > li .name").first).to_have_text("c")


@pytest.mark.parametrize("page", [(390, 844)], indirect=True)
def test_a_bad_link_gets_a_sentence_and_the_best_known_is_shown_on_a_phone_too(page, base_url):
    open_puzzle(page, base_url, "?puzzle=3&arranged=a0")
    expect(page.get_by_text("The address asked for the solution “a0”")).to_be_visible()
    expect(page.get_by_text("2 preemptions (c, e)")).to_be_visible()
    page.get_by_role("button", name="Show the best found").click()
    expect(page.locator(".score")).to_have_attribute("data-solved", "true")
    expect(row(page, "a").locator(".found")).to_have_text("hits 8 of 41")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_part_is_rewritten_refused_with_a_reason_and_taken_back_by_escape(page, base_url):
    open_puzzle(page, base_url, "?puzzle=4")
    row(page, "b").get_by_role("button", name="Write the parts of prompt b otherwise").click()
    field = row(page, "b").get_by_role("textbox", name="map")
    field.fill("<b>Map")
    field.press("Enter")
    expect(row(page, "b").get_by_role("alert")).to_contain_text("must go on asking the same")
    expect(field).to_have_value("<b>Map")
    field.press("Escape")
    expect(row(page, "b").get_by_role("alert")).to_be_hidden()
    field.fill("MAP: reef N, bay S. ")
    field.press("Enter")
    expect(page).to_have_url(re.compile("MAP%3A\\+reef"))
    expect(row(page, "b").locator("[data-written]")).to_have_text("MAP: reef N, bay S. ")
    page.reload()
    expect(row(page, "b").locator("[data-written]")).to_have_text("MAP: reef N, bay S. ")
    assert violations(page) == []
