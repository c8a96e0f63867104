"""A link is a moment: what it restores, and that slider, keys and address never fight (B45, B49)."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_playground import MODEL_MS, NOW, block, open_at, where

pytestmark = pytest.mark.browser


def slider(page: Page):
    return page.get_by_role("slider", name="Place in the run")


def rests_at(page: Page, sub_step: int) -> None:
    """Wait until the page counts the time for which it stands there, in step 3."""
    page.wait_for_function(f"history.state?.moment?.[2] === {sub_step}")


def test_three_presses_on_the_slider_are_three_places_and_the_link_follows(page, base_url):
    open_at(page, f"{base_url}?step=3&sub=2", 3, 2)
    slider(page).focus()
    for sub_step in (3, 4, 5):
        page.keyboard.press("ArrowRight")
        where(page, 3, sub_step)
        page.wait_for_url(re.compile(rf"step=3&sub={sub_step}"))


@pytest.mark.model
def test_a_step_pressed_before_the_sub_steps_in_front_of_it_have_run_is_counted_from_them(
    page, base_url
):
    page.goto(f"{base_url}/playground?example=shared_prompt")
    expect(page.get_by_text("Model ready")).to_be_visible(timeout=MODEL_MS)
    where(page, 0, 4)
    for _ in range(60):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    expect(page.locator(NOW)).to_have_text("Step 3 is over.", timeout=MODEL_MS)


def test_a_reload_comes_back_to_the_moment_the_selection_and_the_lens(page, base_url):
    open_at(page, f"{base_url}?step=3&sub=6", 3, 6)
    block(page, 2).click()
    page.wait_for_url(re.compile("block=2"))
    page.get_by_role("tab", name="Timeline").click()
    page.wait_for_url(re.compile("lens=timeline"))
    page.reload()
    where(page, 3, 6)
    expect(block(page, 2)).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("tab", name="Timeline")).to_have_attribute("aria-selected", "true")


def test_back_comes_to_where_one_rested_and_forward_to_where_one_was(page, base_url):
    open_at(page, f"{base_url}?step=3&sub=2", 3, 2)
    for sub_step in (3, 4, 5):
        rests_at(page, sub_step - 1)
        page.wait_for_timeout(1_300)  # longer than what counts as a rest
        page.keyboard.press("ArrowRight")
        where(page, 3, sub_step)
    rests_at(page, 5)
    page.go_back()
    where(page, 3, 4)
    page.wait_for_url(re.compile("step=3&sub=4"))
    page.go_back()
    where(page, 3, 3)
    page.go_forward()
    where(page, 3, 4)


def test_back_comes_to_the_moment_of_the_link_itself(page, base_url):
    open_at(page, f"{base_url}/playground?example=doc_example&step=3&sub=2", 3, 2)
    rests_at(page, 2)
    page.wait_for_timeout(1_300)
    page.keyboard.press("ArrowRight")
    where(page, 3, 3)
    rests_at(page, 3)
    page.go_back()
    where(page, 3, 2)


def test_places_that_only_flew_by_are_no_places_to_come_back_to(page, base_url):
    page.goto("about:blank")
    open_at(page, f"{base_url}/playground?step=3&sub=2", 3, 2)
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    where(page, 3, 7)
    page.go_back()
    page.wait_for_url("about:blank")


@pytest.mark.parametrize(
    ("link", "seen"),
    [("?example=doc_example&step=3&sub=2", "step=3&sub=2"), ("?lesson=02-block-table", "lesson=")],
)
def test_back_leaves_a_link_that_was_turned_to_its_page(page, base_url, link, seen):
    page.goto("about:blank")
    page.goto(f"{base_url}/{link}")
    page.wait_for_url(re.compile(rf"/(playground|learn)\?.*{seen}"))
    expect(page.get_by_role("group", name="Time")).to_be_visible()
    page.wait_for_timeout(1_000)
    page.go_back()
    page.wait_for_url("about:blank")


def test_back_at_a_link_with_nothing_before_it_stays_where_it_is(chromium, base_url):
    tab = chromium.new_context().new_page()
    opener = tab.context.new_page()
    opener.goto("about:blank")
    with tab.context.expect_page() as opened:
        opener.evaluate(f"window.open('{base_url}/?example=doc_example&step=3&sub=2')")
    page = opened.value
    where(page, 3, 2)
    page.wait_for_timeout(1_000)
    page.evaluate("history.back()")
    page.wait_for_timeout(1_500)
    where(page, 3, 2)
    assert "/playground?" in page.url
    page.keyboard.press("ArrowRight")
    where(page, 3, 3)
    tab.context.close()


def test_a_link_edited_by_hand_is_read_anew(page, base_url):
    open_at(page, f"{base_url}?step=3&sub=2", 3, 2)
    open_at(page, f"{base_url}?step=1&sub=1&request=request0", 1, 1)
    expect(page.get_by_role("button", name="request0", exact=True).first).to_have_attribute(
        "aria-pressed", "true"
    )


def test_a_run_without_a_step_has_no_slider_to_break(page, base_url):
    page.goto(f"{base_url}?example=own")
    expect(slider(page)).to_be_disabled(timeout=90_000)


@pytest.mark.parametrize("given", ["five", "-1", "1.5", "<b>x</b>"])
def test_what_is_no_step_gets_a_sentence_and_moves_nothing(page, base_url, given):
    open_at(page, f"{base_url}/playground", 0, 4)
    field = page.get_by_role("textbox", name="go to step")
    field.fill(given)
    field.press("Enter")
    said = page.locator(".place .said")
    expect(said).to_have_text(f"“{given}” is no step: give a whole number from 0 on, such as 7.")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_be_focused()
    where(page, 0, 4)
    field.fill("")
    expect(said).to_be_empty()
    field.press("Enter")
    expect(said).to_have_text("Give the number of a step, such as 7.")
