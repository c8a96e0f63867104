"""The way in."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def test_the_first_page_leads_into_lesson_1(page, base_url):
    page.goto(base_url)
    expect(
        page.get_by_role("group", name="A run of the engine as a moving picture")
    ).to_be_visible()
    page.get_by_role("button", name="Start lesson 1").click()
    expect(page).to_have_url(re.compile(r"/learn\?.*lesson=01-"))
    expect(page.locator(".marks")).to_be_visible()


def test_the_picture_stands_still_for_whoever_asked_for_no_motion_and_can_be_played(page, base_url):
    page.goto(base_url)
    play = page.get_by_role("button", name="Play", exact=True)
    expect(play).to_be_visible()
    said = page.locator(".sentence").inner_text()
    play.click()
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    expect(page.locator(".sentence")).not_to_have_text(said)


@pytest.mark.parametrize(
    ("door", "path"), [("Type your own prompts", "playground"), ("Open a trace", "inspect")]
)
def test_the_other_doors(page, base_url, door, path):
    page.goto(base_url)
    page.get_by_role("link", name=door).click()
    expect(page).to_have_url(re.compile(f"/{path}"))


def test_a_link_of_a_moment_without_a_page_opens_the_playground(page, base_url):
    page.goto(f"{base_url}?example=doc_example&step=3&sub=6")
    expect(page).to_have_url(re.compile("/playground.*step=3.*sub=6"))
    expect(page.get_by_role("group", name="Time")).to_contain_text("step 3, sub-step 6 of")
