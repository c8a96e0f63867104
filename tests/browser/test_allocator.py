"""The allocator's page in a browser: clicks are deeds."""

import re

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def click_block(page: Page, block_id: int) -> None:
    page.get_by_role("button", name=re.compile(rf"^{block_id}: ")).first.click()


def choose(page: Page, verb: str) -> None:
    page.get_by_role("radio", name=verb).click()
    expect(page.get_by_role("radio", name=verb)).to_have_attribute("aria-checked", "true")


def test_an_exercise_is_solved_by_clicks_after_a_mistake(page, base_url):
    page.goto(f"{base_url}/allocator?level=3&seed=0")
    done = page.get_by_label("Done so far")
    expect(done).to_contain_text("nothing yet")
    click_block(page, 7)
    expect(page.get_by_role("status").first).to_contain_text("First choose what a click does")
    choose(page, "take")
    click_block(page, 7)
    expect(page.get_by_role("status").first).to_contain_text("Touch comes before take")
    choose(page, "touch")
    for place, block_id in enumerate((1, 2)):
        click_block(page, block_id)
        expect(done.locator(".deed")).to_have_count(place + 1)
    choose(page, "take")
    for place, block_id in enumerate((7, 8)):
        click_block(page, block_id)
        expect(done.locator(".deed")).to_have_count(place + 3)
    page.get_by_role("button", name="That is all").click()
    expect(page.get_by_text("Done, with 1 mistake on the way")).to_be_visible()
    expect(page).to_have_url(re.compile("level=3.*seed=0"))
    page.get_by_role("button", name="Another exercise").click()
    expect(done).to_contain_text("nothing yet")
    expect(page).not_to_have_url(re.compile("seed=0(&|$)"))


@pytest.mark.parametrize("page", [(390, 844)], indirect=True)
def test_whoever_asks_is_shown_the_solution_on_a_phone_too(page, base_url):
    page.goto(f"{base_url}/allocator?level=5&seed=1")
    page.get_by_role("button", name="Show me").click()
    expect(page.get_by_text("That is what the engine did")).to_be_visible()
    expect(page.get_by_label("Done so far").locator(".deed")).to_have_count(4)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
