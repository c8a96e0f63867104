"""What can be read, from where, and in which order: large type, zoom, the phone, the focus."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_playground import open_at, overflow, where
from views.text import Text

pytestmark = pytest.mark.browser

MOMENT = "?step=3&sub=6"
# The size in which letters reach the screen: that of the style, times what the page is enlarged by.
SIZE = "(node) => parseFloat(getComputedStyle(node).fontSize) * (node.currentCSSZoom ?? 1)"
READABLE = ("li[data-when=now] .words", ".token", ".status", ".grid .block", ".number .label", "h3")
PARTS = ("narration", "requests", "lenses", "tree", "pool", "queue", "tables", "numbers")
HAS_A_RING = """() => {
  let node = document.activeElement;
  while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
  if (!node || node === document.body) return null;
  const around = [];  // Streamlit draws the ring of some widgets on the box around them
  for (let at = node; at && around.length < 4; at = at.parentElement) around.push(at);
  const shown = around.some((at) => {
    const { outlineStyle, outlineWidth, boxShadow, borderColor } = getComputedStyle(at);
    return (outlineStyle !== "none" && parseFloat(outlineWidth) > 0) || boxShadow !== "none"
      || (at === node ? false : borderColor === getComputedStyle(document.documentElement).getPropertyValue("--st-primary-color"));
  });
  return [`${node.tagName} ${node.className} ${node.textContent.slice(0, 30)}`, shown];
}"""


def large(page: Page):
    return page.get_by_role("button", name="Large type")


def sizes(page: Page) -> dict[str, float]:
    return {part: page.locator(part).first.evaluate(SIZE) for part in READABLE}


@pytest.mark.parametrize("page", [(1440, 900), (1920, 1080)], indirect=True, ids=str)
def test_one_click_makes_everything_a_third_larger_and_the_link_keeps_it(page, base_url):
    open_at(page, base_url + MOMENT, 3, 6)
    before = sizes(page)
    large(page).click()
    expect(large(page)).to_have_attribute("aria-pressed", "true")
    page.wait_for_url(re.compile("type=large"))
    after = sizes(page)
    assert all(after[part] >= 1.29 * before[part] for part in READABLE)
    assert after["li[data-when=now] .words"] >= page.viewport_size["height"] / 50
    assert overflow(page) <= 0
    for title in ("Requests", "Block pool", "Free queue"):
        heading = page.get_by_role("heading", name=title, exact=True)
        expect(heading).to_be_in_viewport()
    page.reload()
    where(page, 3, 6)
    expect(large(page)).to_have_attribute("aria-pressed", "true")
    assert sizes(page) == after
    large(page).click()
    page.wait_for_url(lambda url: "type=" not in url)
    assert sizes(page) == before


def test_a_lens_in_large_type_ends_above_the_bar_of_time(page, base_url):
    open_at(page, f"{base_url}{MOMENT}&type=large&lens=why", 3, 6)
    root = page.locator(".root", has=page.get_by_role("heading", name="Why?", exact=True))
    page.wait_for_timeout(2_700)  # its last look at how much room there is
    bar = page.get_by_test_id("stBottomBlockContainer").bounding_box()
    box = root.bounding_box()
    assert box["y"] + box["height"] <= bar["y"] + 2


@pytest.mark.parametrize("page", [(960, 600)], indirect=True, ids=["zoom-150"])
def test_at_a_zoom_of_150_percent_numbers_keep_their_labels(page, base_url):
    open_at(page, base_url + MOMENT, 3, 6)
    labels = page.locator(".number .label")
    expect(labels.first).to_have_text("cache usage")
    for label in labels.all():
        assert label.evaluate(
            "(node) => node.scrollWidth <= node.clientWidth && node.clientWidth > 30"
        )
    assert overflow(page) <= 0


@pytest.mark.parametrize("page", [(390, 844)], indirect=True, ids=["phone"])
def test_on_a_phone_numbers_come_last(page, base_url):
    open_at(page, base_url + MOMENT, 3, 6)
    tops = [page.locator(f".st-key-{name}").first.bounding_box()["y"] for name in PARTS]
    assert tops == sorted(tops)
    # Who hears the page, or goes through it with the Tab key, meets them in the same order.
    order = page.evaluate(
        "(names) => [...document.querySelectorAll(names.map((n) => `.st-key-${n}`).join())]"
        ".map((node) => [...node.classList].find((c) => c.startsWith('st-key-')).slice(7))",
        list(PARTS),
    )
    assert order == list(PARTS)


def test_the_keyboard_s_focus_is_seen_wherever_it_goes(page, base_url):
    open_at(page, base_url + MOMENT, 3, 6)
    seen = []
    for _ in range(70):
        page.keyboard.press("Tab")
        found = page.evaluate(HAS_A_RING)
        if found:
            seen.append(found)
    assert len({name for name, _ in seen}) > 25
    assert [name for name, is_shown in seen if not is_shown] == []


def test_the_page_itself_shows_that_it_has_the_focus_of_the_keyboard_alone(page, base_url):
    open_at(page, base_url + MOMENT, 3, 6)
    main = page.get_by_test_id("stMain")
    ring = "(node) => { node.focus({ focusVisible: true }); return getComputedStyle(node).outlineStyle; }"
    page.keyboard.press("Tab")
    assert main.evaluate(ring) == "solid"
    page.mouse.click(5, 300)
    assert main.evaluate(ring) == "none"


# Puts words where those of a run that was computed stand: the right edge, and whether all can be read.
PATH_OF = """(path, words) => {
  const root = path.parentElement, around = root.getBoundingClientRect();
  path.hidden = false; path.textContent = words; root.querySelector(".track").hidden = true;
  const { right, bottom } = path.getBoundingClientRect();
  const isWhole = path.scrollWidth <= path.clientWidth && path.scrollHeight <= path.clientHeight;
  return [right, isWhole && bottom <= around.bottom + 0.5];
}"""


@pytest.mark.parametrize("page", [(390, 844)], indirect=True, ids=["phone"])
def test_on_a_phone_what_computes_is_read_whole_and_ends_before_the_buttons(page, base_url):
    page.goto(f"{base_url}/playground?example=own")
    button = page.get_by_role("button", name="Close prompts")
    expect(button).to_be_visible()
    for attention in ("torch", "triton"):
        words = Text("en")("path.words", attention=attention, dtype="bf16")
        path = page.locator(".st-key-readiness .path")
        right, is_whole = path.evaluate(PATH_OF, words)
        assert right < button.bounding_box()["x"], words
        assert is_whole, words
