"""A side of a comparison on the stage, in a real Chromium: by the keyboard alone, there, across and back."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.test_accessibility import violations
from tests.browser.test_compare import half, opened, request, where
from tests.browser.test_playground import overflow

pytestmark = pytest.mark.browser


def test_a_side_is_walked_in_sub_steps_by_keys_alone_and_its_step_is_where_both_stand_again(
    page, base_url
):
    opened(page, base_url)
    half(page, ".pools", "left").locator(".grid .block").nth(6).click()
    expect(half(page, ".pools", "right").locator("[data-lit=own]")).to_have_text("6")
    expect(request(page, "request1", "right").locator("[data-lit=own]")).to_have_text("6")
    page.get_by_role("radio", name="both sides").focus()
    page.keyboard.press("ArrowRight")
    stands = page.locator(".stands .where")
    expect(stands).to_contain_text("step 3, sub-step 10 of 13")
    expect(page.get_by_role("radio", name="left")).to_be_focused()
    expect(page).to_have_url(re.compile("(?=.*block=6)(?=.*side=left)(?=.*step=3)(?=.*sub=10)"))
    page.reload()
    expect(stands).to_contain_text("step 3, sub-step 10 of 13")
    page.keyboard.press("ArrowLeft")
    expect(stands).to_contain_text("step 3, sub-step 9 of 13")
    page.get_by_role("button", name="The same moment on the right").click()
    expect(stands).to_contain_text("step 3, sub-step 7 of 11")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    expect(stands).to_contain_text("step 4, sub-step")
    expect(page.locator(".say")).to_contain_text("8 blocks of the pool differ")
    assert violations(page) == []
    assert overflow(page) <= 0
    page.get_by_role("radio", name="both sides").click()
    expect(where(page)).to_have_text("step 4 of 7")
    expect(half(page, ".pools", "left").locator("[data-lit=own]")).to_have_text("6")
    page.keyboard.press("Escape")
    expect(page.locator("[data-lit]")).to_have_count(0)


def test_the_browser_s_back_button_leads_from_a_side_to_both_and_only_then_out_of_the_page(
    page, base_url
):
    opened(page, base_url)
    stands, radio = page.locator(".stands .where"), page.get_by_role("radio")
    radio.and_(page.get_by_text("right", exact=True)).click()
    expect(page).to_have_url(re.compile("(?=.*side=right)(?=.*step=3)(?=.*sub=8)"))
    page.go_back()
    expect(where(page)).to_have_text("step 3 of 7")
    expect(page).to_have_url(re.compile("/compare.*at=3"))
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile("at=4"))
    page.go_forward()
    expect(stands).to_contain_text("step 3, sub-step 8 of 11")
    radio.and_(page.get_by_text("both sides", exact=True)).click()
    expect(page).to_have_url(re.compile("/compare.*at=3"))
    page.go_back()
    expect(stands).to_contain_text("step 3, sub-step 8 of 11")
    page.go_back()
    expect(where(page)).to_have_text("step 4 of 7")
    expect(page).to_have_url(re.compile("/compare.*at=4"))
    page.go_back()
    expect(page).not_to_have_url(re.compile("/compare"))
