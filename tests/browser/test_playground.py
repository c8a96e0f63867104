"""The main journeys through the playground, in a real Chromium on the real server."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.hand_over import of_area

pytestmark = pytest.mark.browser

NOW = "li[data-when=now] .words >> nth=-1"  # where the stage is drawn anew, the new one is the last
MODEL_MS = 90_000
BAD_STEPS = {id_: case for id_, case in of_area("link").items() if "with a note" in case["right"]}


def where(page: Page, step: int, sub_step: int) -> None:
    """Wait until the page stands at this moment."""
    time = page.get_by_role("group", name="Time")
    expect(time).to_contain_text(f"step {step}, sub-step {sub_step} of")


def open_at(page: Page, url: str, step: int, sub_step: int) -> None:
    page.goto(url)
    where(page, step, sub_step)


def block(page: Page, block_id: int):
    """The cell of a block in the pool."""
    return page.get_by_role("button", name=re.compile(rf"^{block_id}(: |：)"))


def overflow(page: Page) -> int:
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")


def test_the_example_opens_where_its_first_blocks_are_handed_out(page, base_url):
    open_at(page, f"{base_url}/playground", 0, 4)
    expect(page.locator(NOW)).to_have_text(
        "request0 takes blocks 1, 2, 3, 4 from the head of the free queue."
    )
    expect(page.get_by_text("BlockPool.get_new_blocks").first).to_be_visible()
    assert overflow(page) <= 0


def test_keys_go_forward_back_and_by_whole_steps_and_the_address_follows(page, base_url):
    open_at(page, f"{base_url}/playground", 0, 4)
    page.keyboard.press("ArrowRight")
    where(page, 0, 5)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    where(page, 0, 3)
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    expect(page.get_by_role("group", name="Time")).to_contain_text("step 1, sub-step")
    page.keyboard.press("Home")
    where(page, 0, 0)
    page.keyboard.press("End")
    expect(page.locator(NOW)).to_have_text(re.compile("is over"))
    page.wait_for_url(re.compile(r"example=doc_example&step=7&sub=\d+"))


def test_presses_that_come_fast_are_all_counted(page, base_url):
    open_at(page, f"{base_url}?step=0&sub=0", 0, 0)
    for _ in range(9):
        page.keyboard.press("ArrowRight")
    where(page, 0, 9)


def test_a_sentence_is_a_place_to_go_to(page, base_url):
    open_at(page, f"{base_url}?step=3&sub=13", 3, 13)
    page.get_by_text("request1 takes blocks 6, 7 from the head").click()
    where(page, 3, 6)


def test_a_click_on_a_block_shows_its_content_and_a_step_keeps_it_selected(page, base_url):
    """Case B43, where each block is a button; on a canvas: test_linking.py."""
    open_at(page, f"{base_url}?step=3&sub=6", 3, 6)
    block(page, 2).click()
    expect(page.get_by_role("heading", name="Block 2")).to_be_visible()
    held = page.locator("dl > div").filter(has_text="held by")
    expect(held.get_by_role("button")).to_have_text(["request0", "request1"])
    page.keyboard.press("ArrowRight")
    where(page, 3, 7)
    expect(block(page, 2)).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Deselect").click()
    expect(page.get_by_role("heading", name="Block 2")).to_have_count(0)


def test_arrow_keys_inside_the_pool_move_between_blocks_and_not_in_time(page, base_url):
    open_at(page, f"{base_url}/playground", 0, 4)
    block(page, 0).focus()
    page.keyboard.press("ArrowRight")
    expect(block(page, 1)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Block 1")).to_be_visible()
    where(page, 0, 4)


def test_play_ends_at_the_end_of_the_run(page, base_url):
    open_at(page, f"{base_url}?step=7&sub=0", 6, 11)
    page.get_by_role("combobox", name="Speed").select_option(label="fast")
    page.keyboard.press("Space")
    expect(page.locator(NOW)).to_have_text("Step 7 is over.")
    expect(page.get_by_role("button", name="Play")).to_be_disabled()


def test_a_step_is_reached_by_its_number(page, base_url):
    open_at(page, f"{base_url}/playground", 0, 4)
    begin = page.locator(".begin")
    expect(begin).to_have_text("→ goes on, ? shows the keys")
    field, said = page.get_by_role("textbox", name="go to step"), page.locator(".place .said")
    field.fill("5")
    field.press("Enter")
    expect(page.locator(NOW)).to_have_text(re.compile("Step 5 is over"))
    expect(begin).to_be_empty()
    field.fill("99")
    field.press("Enter")
    expect(page.locator(NOW)).to_have_text(re.compile("Step 7 is over"))
    expect(said).to_have_text("There is no step 99: the run ends with step 7, which is shown.")
    expect(field).to_have_value("")


def test_a_finished_card_opens_and_folds_by_the_keyboard(page, base_url):
    page.goto(f"{base_url}?step=7")
    card = page.locator("article", has_text="request0")
    expect(card).to_contain_text("ABCDEFGHIJKLMNO")
    expect(card.locator(".blocks")).to_be_hidden()
    show = page.get_by_role("button", name="tokens and answer of request0")
    show.press("Enter")
    expect(card.locator(".answer")).to_have_text("PQRST")
    expect(card.locator(".token")).to_have_count(20)
    expect(show).to_have_attribute("aria-expanded", "true")
    show.press("Enter")
    expect(card.locator(".blocks")).to_be_hidden()


def test_a_refused_setting_says_so_while_it_is_typed_and_stays_in_the_form(page, base_url):
    open_at(page, f"{base_url}/playground", 0, 4)
    page.get_by_role("button", name="Settings").click()
    field = page.get_by_role("textbox", name="Tokens per block block_size")
    apply = page.get_by_role("button", name="Apply and restart")
    for given, sentence in (("1.5", "is not a whole number"), ("0", "is out of range")):
        field.press("Control+a")
        page.keyboard.type(given)
        expect(page.get_by_text(f"block_size={given} {sentence}")).to_be_visible()
        expect(field).to_have_attribute("aria-invalid", "true")
        expect(field).to_have_value(given)
        expect(field).to_be_focused()
        expect(apply).to_be_disabled()
    page.get_by_role("button", name="Close settings").click()
    expect(field).to_have_count(0)
    page.get_by_role("button", name="Settings").click()
    expect(field).to_have_value("0")
    field.fill("2")
    expect(field).not_to_have_attribute("aria-invalid", "true")
    page.get_by_role("button", name="Apply and restart").click()
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.locator(NOW)).to_contain_text("request0 takes blocks 1, 2, 3, 4, 5, 6, 7, 8")


@pytest.mark.parametrize("case_id", BAD_STEPS)
def test_a_bad_step_in_the_address_opens_the_nearest_and_says_so(page, base_url, case_id):
    link, right = BAD_STEPS[case_id]["given"], BAD_STEPS[case_id]["right"]
    page.goto(f"{base_url}{link}")
    note = page.get_by_text("The address asked for step")
    expect(note).to_contain_text(link.removeprefix("?step=")[:40])
    shown = "step 7" if right.startswith("the last step") else "step 0"
    expect(page.get_by_role("group", name="Time")).to_contain_text(shown)


def test_a_step_given_twice_is_one_of_them_the_same_each_time(page, base_url):
    """Case link_step_twice."""
    for _ in range(2):
        page.goto("about:blank")
        page.goto(f"{base_url}{of_area('link')['link_step_twice']['given']}")
        expect(page.get_by_role("group", name="Time")).to_contain_text("step 2, sub-step")


def test_markup_in_the_address_is_shown_letter_by_letter(page, base_url):
    page.goto(f"{base_url}?example=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E%20**b**")
    expect(page.get_by_text("“<img src=x onerror=alert(1)> **b**”")).to_be_visible()


@pytest.mark.parametrize("page", [(390, 844)], indirect=True)
def test_a_phone_shows_everything_in_one_column(page, base_url):
    open_at(page, f"{base_url}?step=3&sub=6", 3, 6)
    assert overflow(page) <= 0
    page.get_by_role("button", name="Forward", exact=True).click()
    where(page, 3, 7)
    block(page, 6).scroll_into_view_if_needed()
    block(page, 6).click()
    expect(page.get_by_role("heading", name="Block 6")).to_be_visible()
    assert overflow(page) <= 0


@pytest.mark.model
def test_two_prompts_on_the_real_model_to_the_end(page, base_url):
    page.goto(f"{base_url}?example=own")
    expect(page.get_by_text("Model ready")).to_be_visible(timeout=MODEL_MS)
    prompt, add = (
        page.get_by_role("textbox", name="Prompt", exact=True),
        page.get_by_role("button", name="Add to the run"),
    )
    page.get_by_role("textbox", name="max_tokens").fill("3")

    # Bad input gets a sentence and costs nothing.
    page.get_by_text("Raw text").click()
    add.click()
    expect(page.get_by_role("alert")).to_contain_text("cannot be empty")
    page.get_by_role("textbox", name="max_tokens").fill("0")
    prompt.fill("Hello <b>there</b> 👍🏽")
    expect(page.get_by_text("F0 9F").first).to_be_visible()
    add.click()
    expect(page.get_by_role("alert")).to_contain_text("max_tokens=0 is out of range")
    expect(prompt).to_have_value("Hello <b>there</b> 👍🏽")

    page.get_by_role("textbox", name="max_tokens").fill("3")
    add.click()
    expect(page.get_by_text("r0 was added")).to_be_visible()
    expect(prompt).to_have_value("")
    page.get_by_text("Chat", exact=True).click()
    prompt.fill("What is the capital of France?")
    expect(page.get_by_text("37 tokens: 4 full blocks of 8 and 5 tokens")).to_be_visible()
    add.click()
    expect(page.get_by_text("r1 was added")).to_be_visible()

    page.get_by_role("button", name="Run next step").click()
    expect(page.get_by_text("step 0, sub-step")).to_be_visible()
    expect(page.locator(NOW)).to_have_text(re.compile("Step 0 is over"), timeout=MODEL_MS)
    for step in (1, 2):
        page.keyboard.press("Shift+ArrowRight")
        expect(page.locator(NOW)).to_have_text(re.compile(f"Step {step} is over"), timeout=MODEL_MS)
    expect(page.get_by_text("finished: length")).to_have_count(2)
    expect(page.get_by_title("The capital of", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Run next step")).to_be_hidden()
    page.keyboard.press("Shift+ArrowLeft")
    expect(page.locator(NOW)).to_have_text(re.compile("Step 1 is over"))


@pytest.mark.model
def test_a_run_that_is_stuck_goes_on_after_its_head_is_aborted(page, base_url):
    page.goto(f"{base_url}?example=own")
    expect(page.get_by_text("Model ready")).to_be_visible(timeout=MODEL_MS)
    page.get_by_role("button", name="Settings").click()
    blocks = page.get_by_role("textbox", name="num_blocks")
    blocks.fill("3")
    blocks.press("Enter")
    page.get_by_role("button", name="Apply and restart").click()
    expect(block(page, 3)).to_have_count(0)
    page.get_by_role("button", name="Prompts").click()

    # What can never fit is refused; the notice lets it in.
    page.get_by_text("Raw text").click()
    prompt = page.get_by_role("textbox", name="Prompt", exact=True)
    prompt.fill("one two three four five six seven eight nine ten eleven twelve")
    page.get_by_role("button", name="Add to the run").click()
    expect(page.get_by_role("alert")).to_contain_text("the pool has 2")
    page.get_by_role("button", name="Let it wait for ever, as vLLM does").click()
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.get_by_role("heading", name="r0", exact=True)).to_be_visible()
    page.get_by_role("textbox", name="max_tokens").fill("1")
    prompt.fill("hi")
    page.get_by_role("button", name="Add to the run").click()
    expect(page.get_by_text("r1 was added")).to_be_visible()

    # Play comes to a standstill and stops by itself.
    page.get_by_role("combobox", name="Play by").select_option(label="step")
    page.get_by_role("combobox", name="Speed").select_option(label="fast")
    page.get_by_role("button", name="Play", exact=True).click()
    stuck = page.get_by_text("nothing can run any more: r0")
    expect(stuck).to_be_visible(timeout=MODEL_MS)
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_disabled()

    # From the past an abort applies to the end; with the keyboard, as with the pointer.
    page.keyboard.press("Home")
    expect(stuck).to_have_count(0)
    abort = page.get_by_role("button", name="abort r0")
    expect(abort).to_have_count(0)
    page.keyboard.press("Shift+ArrowRight")
    expect(abort).to_have_attribute("title", re.compile("at the end of the run"))
    page.keyboard.press("End")
    page.get_by_role("button", name="Abort r0", exact=True).press("Enter")
    expect(page.locator(NOW)).to_have_text(re.compile("^r0 is aborted"))
    expect(stuck).to_have_count(0)
    page.get_by_role("button", name="Run next step").click()
    expect(page.get_by_text("finished: length")).to_be_visible(timeout=MODEL_MS)

    page.get_by_role("button", name="Reset prefix cache").press("Enter")
    expect(page.locator(NOW)).to_have_text("The prefix cache is reset: all hashes are forgotten.")
