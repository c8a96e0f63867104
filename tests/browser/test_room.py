"""The stage fits the screen: what happens now, the requests, the lens and the numbers end above the time."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_languages import speak, stands_in_japanese_at
from tests.browser.test_playground import MODEL_MS, NOW, open_at, where

pytestmark = pytest.mark.browser

CUT = """() => {
  const dock = document.querySelector("[data-testid=stBottomBlockContainer]").getBoundingClientRect().top;
  const parts = ["narration", "numbers", "requests", "tree", "pool", "queue", "tables"];
  return parts.filter((name) => document.querySelector(`.st-key-${name}`).getBoundingClientRect().bottom > dock);
}"""
DOCK = "[data-testid=stBottomBlockContainer]"
BAR_OF_RUNS_PX = 29
SETTLED_MS = 800  # parts that come and go have done so
SCROLLS = "(node) => node.scrollHeight > node.clientHeight"


def four_requests(page: Page, base_url: str) -> None:
    """The questions behind one system prompt, four in 64 blocks, after their sixth step."""
    page.goto(f"{base_url}/playground?example=shared_prompt")
    page.get_by_role("button", name="Run next step").wait_for(timeout=MODEL_MS)
    for step in range(6):
        page.keyboard.press("Shift+ArrowRight")
        expect(page.get_by_role("group", name="Time")).to_contain_text(f"step {step}, sub-step")


@pytest.mark.model
def test_four_requests_and_64_blocks_stand_on_the_screen_without_scrolling(page, base_url):
    four_requests(page, base_url)
    assert not page.get_by_test_id("stMain").evaluate(SCROLLS)
    assert not page.locator(".cards").evaluate(SCROLLS)
    assert page.evaluate(CUT) == []
    page.set_viewport_size({"width": 1440, "height": 900 - BAR_OF_RUNS_PX})
    page.wait_for_timeout(SETTLED_MS)
    assert not page.locator(".cards").evaluate(SCROLLS)


@pytest.mark.parametrize("height", [900, 720])
def test_the_block_that_a_link_selects_is_in_sight_in_the_card_of_its_request(
    page, base_url, height
):
    page.set_viewport_size({"width": 1440, "height": height})
    open_at(page, f"{base_url}/playground?step=6&sub=4&block=2&lens=block", 6, 4)
    block = page.locator(".cards .group[data-block='2']")
    expect(block).to_have_attribute("data-lit", "own")
    page.wait_for_timeout(SETTLED_MS)
    cards, own = page.locator(".cards").bounding_box(), block.bounding_box()
    assert cards["y"] <= own["y"]
    assert own["y"] + own["height"] <= cards["y"] + cards["height"]


@pytest.mark.model
def test_the_requests_fold_closer_for_the_numbers_in_a_block(page, base_url):
    four_requests(page, base_url)
    page.locator(".st-key-pool [data-block='5']").click()
    page.get_by_role("tab", name="Block").click()
    values = page.locator(".st-key-block canvas").last
    expect(values).to_be_visible()
    page.wait_for_timeout(SETTLED_MS)
    dock, box = page.locator(DOCK).bounding_box(), values.bounding_box()
    assert box["y"] + box["height"] <= dock["y"]
    assert not page.get_by_test_id("stMain").evaluate(SCROLLS)


def test_the_panel_a_note_and_a_bar_of_runs_take_their_room_from_the_stage(page, base_url):
    open_at(page, f"{base_url}?step=2&sub=7", 2, 7)
    page.get_by_role("button", name="Settings").click()
    field = page.get_by_role("textbox", name="max_num_seqs")
    field.fill("1")
    field.press("Enter")
    expect(page.get_by_text("max_num_seqs changes there, between two steps")).to_be_visible()
    page.wait_for_timeout(SETTLED_MS)
    dock, now = page.locator(DOCK).bounding_box(), page.locator(NOW).bounding_box()
    assert now["y"] + now["height"] <= dock["y"]
    page.get_by_role("button", name="Branch from step 3 with these").click()
    page.get_by_role("group", name="Runs").wait_for()
    page.get_by_role("button", name="Close settings").click()
    page.get_by_role("button", name="Settings").wait_for()
    page.wait_for_timeout(SETTLED_MS)
    assert page.evaluate(CUT) == []


def test_keys_go_to_the_time_after_a_language_was_chosen_with_the_pointer(page, base_url):
    open_at(page, f"{base_url}/playground?step=3&sub=6", 3, 6)
    speak(page, "ja")
    stands_in_japanese_at(page, 3, 6)
    speak(page, "en")
    where(page, 3, 6)
    page.keyboard.press("ArrowRight")
    where(page, 3, 7)
    page.get_by_role("radio", name="Documentation's A-O").click()
    page.keyboard.press("ArrowRight")
    where(page, 3, 8)


def test_no_frame_stands_around_the_page_after_a_click_on_empty_space(page, base_url):
    open_at(page, f"{base_url}/playground?step=3&sub=6", 3, 6)
    page.mouse.click(5, 300)
    page.keyboard.press("ArrowRight")
    where(page, 3, 7)
    frame = "(node) => getComputedStyle(node, '::before').boxShadow"
    assert page.get_by_test_id("stMain").evaluate(frame) == "none"


def test_what_was_typed_is_there_after_a_reload(page, base_url):
    page.goto(f"{base_url}/playground?example=own")
    page.get_by_role("textbox", name="Prompt", exact=True).fill("Which blocks does")
    page.reload()
    expect(page.get_by_role("textbox", name="Prompt", exact=True)).to_have_value(
        "Which blocks does"
    )
