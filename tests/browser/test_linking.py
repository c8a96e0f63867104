"""One thing, one light: choosing it anywhere shows it everywhere, and nothing else is lost by that."""

import re

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def open_at(page: Page, url: str) -> None:
    page.goto(url)
    expect(page.get_by_role("group", name="Time")).to_contain_text("sub-step")


def piece(page: Page, title: str):
    """The part of the stage with this title."""
    return page.locator(".root", has=page.get_by_role("heading", name=title, exact=True))


def token(page: Page, request: str, place: int):
    return page.locator(f".token[data-request='{request}'][data-token='{place}']")


def block_in(page: Page, title: str, block_id: int):
    return piece(page, title).locator(f"button[data-block='{block_id}']").first


def restart_with(page: Page, **settings: str) -> None:
    page.get_by_role("button", name="Settings").click()
    for name, value in settings.items():
        field = page.get_by_role("textbox", name=name)
        field.fill(value)
        expect(field).to_have_attribute("data-changed", "true")
    page.get_by_role("button", name="Apply and restart").click()
    expect(page.get_by_role("button", name="Apply and restart")).to_be_disabled()
    page.get_by_role("button", name="Close settings").click()


def test_a_chosen_token_lights_its_block_in_pool_and_table_and_escape_puts_it_out(page, base_url):
    open_at(page, f"{base_url}?step=3&sub=8")
    token(page, "request1", 1).click()
    expect(token(page, "request1", 1)).to_have_attribute("data-lit", "own")
    expect(token(page, "request1", 1)).to_have_attribute("aria-pressed", "true")
    expect(block_in(page, "Block pool", 1)).to_have_attribute("data-lit", "linked")
    expect(block_in(page, "Block tables", 1)).to_have_attribute("data-lit", "linked")
    expect(block_in(page, "Block pool", 2)).not_to_have_attribute("data-lit", re.compile("."))
    page.wait_for_url(re.compile("request=request1&token=1"))
    page.keyboard.press("?")  # the keys lie on top, and go first
    expect(page.get_by_text("one sub-step back or forward")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_text("one sub-step back or forward")).to_be_hidden()
    expect(token(page, "request1", 1)).to_have_attribute("data-lit", "own")
    page.keyboard.press("Escape")
    expect(page.locator("[data-lit]")).to_have_count(0)
    expect(page.get_by_role("group", name="Time")).to_contain_text("step 3, sub-step 8")


def test_a_free_block_is_the_same_thing_in_pool_and_queue(page, base_url):
    open_at(page, f"{base_url}?step=5")
    block_in(page, "Free queue", 7).click()
    expect(block_in(page, "Free queue", 7)).to_have_attribute("data-lit", "own")
    expect(block_in(page, "Block pool", 7)).to_have_attribute("data-lit", "own")
    page.wait_for_url(re.compile("block=7"))  # all of the page has it, so that nothing is under way
    block_in(page, "Block pool", 7).click()
    expect(page.locator("[data-lit]")).to_have_count(0)


@pytest.mark.model
def test_nothing_moves_and_nothing_is_drawn_anew_when_the_model_becomes_ready(page, base_url):
    """Who does not wait for the model goes on with what stands there."""
    open_at(page, f"{base_url}?step=5")
    queue = piece(page, "Free queue")
    place = queue.bounding_box()
    page.locator(".root").evaluate_all("(roots) => roots.forEach((root) => { root.known = true; })")
    expect(page.get_by_text("Model ready")).to_be_visible(timeout=90_000)
    assert queue.bounding_box() == place
    assert page.locator(".root").evaluate_all("(roots) => roots.every((root) => root.known)")
    block_in(page, "Free queue", 7).click()
    expect(block_in(page, "Block pool", 7)).to_have_attribute("data-lit", "own")


def test_a_card_that_was_closed_does_not_stay_while_the_model_loads(page, base_url):
    open_at(page, f"{base_url}?step=5")
    card = page.get_by_role("heading", name="Block 7", exact=True)
    for _ in range(6):
        block_in(page, "Free queue", 7).click()
        expect(card).to_be_visible()
        page.get_by_role("button", name="Deselect").click()
        expect(card).to_be_hidden()


def test_the_pointer_shows_the_same_thing_everywhere_at_once(page, base_url):
    open_at(page, f"{base_url}?step=3&sub=8")
    token(page, "request1", 9).hover()
    for title in ("Block pool", "Block tables"):
        expect(block_in(page, title, 6)).to_have_attribute("data-hover", "true")
    expect(page.locator(".token[data-hover]")).to_have_count(1)
    piece(page, "Block pool").get_by_role("heading").hover()
    expect(page.locator("[data-hover]")).to_have_count(0)
    expect(page.locator("[data-lit]")).to_have_count(0)


def test_tokens_are_reached_by_arrow_keys_behind_one_tab_stop(page, base_url):
    open_at(page, f"{base_url}?step=3&sub=8")
    card = page.locator("article", has_text="request1")
    expect(card.locator(".blocks [tabindex='0']")).to_have_count(1)
    card.locator(".blocks [tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    expect(token(page, "request1", 0)).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(token(page, "request1", 1)).to_have_attribute("data-lit", "own")
    expect(token(page, "request1", 1)).to_be_focused()
    expect(page.get_by_role("group", name="Time")).to_contain_text("step 3, sub-step 8")


def test_a_block_that_is_hit_leaves_a_ghost_in_the_queue(page, base_url):
    open_at(page, f"{base_url}?step=6&sub=4")
    expect(piece(page, "Free queue").locator("[data-ghost]")).to_have_text(["3", "2", "1"])
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator("li[data-when=now] .words")).to_contain_text("hashes are registered")
    expect(piece(page, "Free queue").locator("[data-ghost]")).to_have_count(0)


def test_a_click_on_the_canvas_of_a_large_pool_selects_the_block_under_it(page, base_url):
    """Case B43."""
    open_at(page, f"{base_url}/playground")
    restart_with(page, num_blocks="1500")
    holder = piece(page, "Block pool").locator(".holder")
    cell = float(holder.get_attribute("data-cell"))
    for block_id in (2, 1):
        at = {"x": cell * (block_id + 0.5), "y": cell / 2}
        holder.locator("canvas").click(position=at)
        page.wait_for_url(re.compile(rf"block={block_id}\b"))
    expect(block_in(page, "Block tables", 1)).to_have_attribute("data-lit", "own")


def test_a_large_pool_keeps_its_zoom_over_steps_selection_and_settings(page, base_url):
    open_at(page, f"{base_url}/playground")
    restart_with(page, num_blocks="1500")
    holder = piece(page, "Block pool").locator(".holder")
    picture = holder.locator("canvas")
    expect(holder.get_by_role("button", name="All blocks")).to_be_hidden()
    page.wait_for_timeout(1_500)  # a restart draws the picture anew, away from the pointer
    picture.hover(position={"x": 1, "y": 1})
    page.mouse.wheel(0, -600)
    expect(holder).to_have_attribute("data-zoomed", "true")
    cell = holder.get_attribute("data-cell")
    assert float(cell) > 18, "numbers can be read"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("group", name="Time")).to_contain_text("step 0, sub-step 6")
    expect(holder).to_have_attribute("data-cell", cell)
    picture.click(position={"x": float(cell) * 1.5, "y": float(cell) / 2})
    page.wait_for_url(re.compile("block=1"))
    expect(block_in(page, "Block tables", 1)).to_have_attribute("data-lit", "own")
    page.get_by_role("button", name="Settings").click()
    expect(page.get_by_role("button", name="Close settings")).to_be_visible()
    expect(holder).to_have_attribute("data-cell", cell)
    holder.get_by_role("button", name="All blocks").click()
    expect(holder).not_to_have_attribute("data-zoomed", "true")


IN_USE = """(canvas) => {
  const { width, height } = canvas, pixels = canvas.getContext("2d").getImageData(0, 0, width, height).data;
  let found = 0;
  for (let i = 0; i < pixels.length; i += 4) found += pixels[i] === 0 && pixels[i + 1] === 114 && pixels[i + 2] === 178;
  return found;
}"""  # how many pixels have the blue of what is in use


def test_in_the_largest_pool_the_few_blocks_in_use_are_seen_and_found(page, base_url):
    """Four of 131,928: one pixel of the picture would be 1.7 of them."""
    open_at(page, f"{base_url}/playground")
    restart_with(page, num_blocks="131928")
    pool = piece(page, "Block pool")
    holder = pool.locator(".holder")
    picture = holder.locator("canvas")
    expect(pool).to_contain_text("A cell is 64 blocks, filled by the share of each state")
    assert picture.evaluate(IN_USE) >= 5
    picture.hover(position={"x": 3, "y": 3})
    expect(picture).to_have_attribute("title", re.compile("^blocks 0 to 63: 4 in use, 0 of them"))
    picture.click(position={"x": 3, "y": 3})
    page.wait_for_url(re.compile(r"block=1\b"))
    for _ in range(3):  # each around the chosen block
        holder.get_by_role("button", name="Zoom in").click()
    expect(pool).to_contain_text("A cell is one block. 64 consecutive blocks make a square")
    expect(holder).to_have_attribute("data-zoomed", "true")
    before = picture.evaluate(IN_USE)
    box = picture.bounding_box()
    assert box is not None
    picture.click(position={"x": 70, "y": box["height"] - 15})  # the far corner of the small map
    assert before > picture.evaluate(IN_USE), "it looks elsewhere now"


def test_presses_around_the_settings_panel_all_count(page, base_url):
    open_at(page, f"{base_url}?step=0&sub=0")
    slider = page.get_by_role("slider", name="Place in the run, in sub-steps")
    for expected, name in ((3, "Settings"), (6, "Close settings")):
        page.get_by_role("button", name=name).click()
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        expect(page.locator(".root[data-busy]")).to_have_count(0)
        expect(slider).to_have_value(str(expected))


WATCH_HEIGHTS = """() => {
  const stage = () => document.querySelector('.st-key-stage_requests')?.offsetHeight ?? 0;
  globalThis.lowest = stage();
  const look = () => { globalThis.lowest = Math.min(globalThis.lowest, stage()); requestAnimationFrame(look); };
  look();
}"""


def test_an_open_panel_that_follows_time_to_another_step_mounts_nothing_anew(page, base_url):
    """The page around the stage is drawn again there: no part may go, blink or lose its place."""
    open_at(page, f"{base_url}?step=2&sub=7")
    page.get_by_role("button", name="Settings").click()
    field = page.get_by_role("textbox", name="max_num_seqs")
    expect(page.get_by_role("button", name="Branch from step 3 with these")).to_be_visible()
    page.locator(".root").evaluate_all("(roots) => roots.forEach((root) => { root.known = true; })")
    num_parts = page.locator(".root").count()
    page.evaluate(WATCH_HEIGHTS)
    field.fill("5")
    page.get_by_role("heading", name="Requests", exact=True).click()
    page.keyboard.press("Shift+ArrowRight")
    expect(page.get_by_role("button", name="Branch from step 4 with these")).to_be_visible()
    page.wait_for_timeout(300)
    known = page.locator(".root").evaluate_all("(roots) => roots.filter((r) => r.known).length")
    assert (known, page.locator(".root").count()) == (num_parts, num_parts)
    assert page.evaluate("globalThis.lowest") > 100, "no frame without the stage"
    expect(field).to_have_value("5")


def test_opened_cards_stay_open_when_the_page_around_them_changes(page, base_url):
    page.goto(f"{base_url}?step=7")
    page.get_by_role("button", name="tokens and answer of request0").click()
    card = page.locator("article", has_text="request0")
    expect(card.locator(".blocks")).to_be_visible()
    page.get_by_role("button", name="Settings").click()
    expect(page.get_by_role("button", name="Close settings")).to_be_visible()
    expect(card.locator(".blocks")).to_be_visible()
