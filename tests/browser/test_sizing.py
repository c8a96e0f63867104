"""The calculator in the browser, and pages side by side."""

import json
import re
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_accessibility import violations_light_and_dark
from tests.browser.test_playground import block, open_at, where

pytestmark = pytest.mark.browser

SMALL = {
    "model_type": "llama",
    "num_hidden_layers": 2,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 128,
    "vocab_size": 100,
    "max_position_embeddings": 512,
}


def number(page: Page, key: str):
    return page.locator(f".number[data-key={key}] .value")


def open_page(page: Page, base_url: str, query: str = "") -> None:
    page.goto(f"{base_url}/sizing{query}")
    expect(page.get_by_role("heading", name="Step by step")).to_be_attached()


def test_one_click_shows_131928_and_the_link_brings_it_back(page, base_url):
    open_page(page, base_url)
    page.get_by_role("button", name="The known example").click()
    expect(number(page, "blocks")).to_have_text("131,928")
    expect(number(page, "page")).to_have_text("8,192 B")
    expect(page.get_by_text("1,080,754,176 B").first).to_be_visible()
    page.wait_for_url(re.compile("kv=25938100224"))
    page.reload()
    expect(number(page, "blocks")).to_have_text("131,928")
    page.get_by_role("button", name="Start over").click()
    expect(number(page, "blocks")).to_have_text("28,181")
    page.wait_for_url(lambda url: not urlparse(url).query)


def test_typing_changes_the_result_and_keeps_the_cursor(page, base_url):
    open_page(page, base_url, "?model=Qwen/Qwen2-0.5B-Instruct&gpu=32&kv=25938100224")
    field = page.get_by_label("block_size")
    field.fill("32")
    expect(number(page, "page")).to_have_text("16,384 B")
    expect(number(page, "blocks")).to_have_text("65,964")
    expect(field).to_be_focused()
    field.fill("0")
    expect(page.get_by_text("“0” is not a whole number")).to_be_visible()
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_text("The result stands here")).to_be_visible()
    expect(number(page, "blocks")).to_be_hidden()
    field.fill("16")
    expect(number(page, "blocks")).to_have_text("131,928")


def test_a_config_is_pasted_opened_and_refused(page, base_url, tmp_path):
    open_page(page, base_url)
    page.get_by_label("Model", exact=True).select_option("own")
    expect(page.get_by_text("There is no config.json yet")).to_be_visible()
    area = page.get_by_label("config.json", exact=True)
    area.fill(json.dumps(SMALL))
    expect(number(page, "page")).to_have_text("2,048 B")
    page.wait_for_url(re.compile("model=own"))
    assert json.loads(parse_qs(urlparse(page.url).query)["config"][0]) == SMALL
    area.fill(json.dumps(SMALL | {"num_hidden_layers": None}))
    expect(page.get_by_text("num_hidden_layers is missing")).to_be_visible()
    good, huge = tmp_path / "config.json", tmp_path / "model.safetensors.json"
    good.write_text(json.dumps(SMALL | {"num_key_value_heads": 4}), encoding="utf-8")
    with huge.open("wb") as file:
        file.truncate(200 * 2**20)
    chooser = page.locator("input[type=file]")
    chooser.set_input_files(huge)
    expect(page.get_by_text("too large to be a config.json")).to_be_visible()
    chooser.set_input_files(good)
    expect(number(page, "page")).to_have_text("4,096 B")
    expect(page.get_by_text("too large to be a config.json")).to_be_hidden()


def test_a_model_that_slides_shows_its_groups(page, base_url):
    open_page(page, base_url, "?model=google/gemma-3-1b-it")
    expect(page.get_by_role("heading", name="Layers dealt to groups")).to_be_visible()
    expect(page.locator(".dealt")).to_have_count(7)
    expect(page.locator(".dealt .pad")).to_have_count(2)
    page.get_by_label("Model", exact=True).select_option("Qwen/Qwen3-8B")
    expect(page.get_by_role("heading", name="Layers dealt to groups")).to_be_hidden()


def test_the_bar_is_as_wide_as_its_bytes(page, base_url):
    open_page(page, base_url, "?gpu=64&weights=16&rest=0&util=1")
    strip = page.locator(".strip").bounding_box()
    weights = page.locator(".strip [data-key=weights]").bounding_box()
    assert weights["width"] / strip["width"] == pytest.approx(0.25, abs=0.005)


def test_going_to_another_page_and_back_loses_nothing(page, base_url):
    open_at(page, f"{base_url}?step=3&sub=6", 3, 6)
    block(page, 2).click()
    page.wait_for_url(re.compile("block=2"))
    page.keyboard.press("ArrowLeft")
    where(page, 3, 5)
    page.get_by_role("link", name="Sizing").click()
    expect(number(page, "blocks")).to_have_text("28,181")
    page.get_by_role("button", name="The known example").click()
    expect(number(page, "blocks")).to_have_text("131,928")
    page.get_by_role("link", name="Playground").click()
    where(page, 3, 5)
    expect(block(page, 2)).to_have_attribute("aria-pressed", "true")
    page.wait_for_url(re.compile("step=3&sub=5.*block=2"))
    page.get_by_role("link", name="Sizing").click()
    expect(number(page, "blocks")).to_have_text("131,928")
    expect(page.get_by_label("kv_cache_memory_bytes")).to_have_value("25938100224")


def test_the_playground_still_fits_a_screen_below_the_line_of_pages(page, base_url):
    open_at(page, f"{base_url}?step=3&sub=6", 3, 6)
    main = page.get_by_test_id("stMain")
    assert main.evaluate("m => m.scrollHeight - m.clientHeight") <= 1
    assert page.get_by_test_id("stHeader").bounding_box()["height"] <= 36


@pytest.mark.parametrize("page", [(390, 844), (1440, 900)], indirect=True, ids=["phone", "desk"])
@pytest.mark.parametrize("query", ["?model=google/gemma-3-1b-it", "?gpu=0"])
def test_axe_finds_no_serious_barrier_and_nothing_is_wider_than_the_screen(page, base_url, query):
    page.goto(f"{base_url}/sizing{query}")
    expect(page.get_by_role("button", name="The known example")).to_be_visible()
    assert violations_light_and_dark(page) == []
    root = page.locator(".root").first
    assert root.evaluate("r => r.scrollWidth - r.clientWidth") <= 1
