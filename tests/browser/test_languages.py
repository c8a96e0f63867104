"""The language is switched in place, stands in the link, and costs nothing of what was there."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_playground import block, open_at, overflow
from views.text import LANGUAGES

pytestmark = pytest.mark.browser

PAGES = ("", "learn", "allocator", "playground", "compare", "sizing", "fragmentation", "inspect")
NAMES = {"en": "EN", "ja": "日本語", "zh": "中文"}


def speak(page: Page, language: str) -> None:
    page.get_by_role("radio", name=NAMES[language]).click()
    page.wait_for_url(re.compile(f"lang={language}"))


def stands_in_japanese_at(page: Page, step: int, sub_step: int) -> None:
    time = page.get_by_role("group", name="時間")
    expect(time).to_contain_text(f"ステップ {step}、サブステップ {sub_step}/13")


def test_the_moment_the_selection_the_lens_and_a_typed_text_survive_the_switch(page, base_url):
    open_at(page, f"{base_url}/playground?step=3&sub=6", 3, 6)
    block(page, 2).click()
    page.get_by_role("tab", name="Why?").click()
    page.get_by_role("textbox", name="A text to ask the cache about").fill("ABCDEFGHx")
    expect(page.get_by_text("This text is 9 tokens; 8 would hit.")).to_be_visible()
    speak(page, "ja")
    stands_in_japanese_at(page, 3, 6)
    in_pool = page.get_by_role("button", name="2：共有中、ref_cnt 2、ハッシュあり")
    expect(in_pool).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("tab", name="なぜ？")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_role("textbox", name="ヒットを調べるテキスト")).to_have_value("ABCDEFGHx")
    said = "このテキストは 9 トークンで、8 トークンがヒットする見込みです。"
    expect(page.get_by_text(said)).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "ja")
    page.get_by_role("button", name="進む", exact=True).click()
    stands_in_japanese_at(page, 3, 7)


IN_ONE_TICK = """(button) => {
  __pagewalk.asking.parts.get("readiness").send("looked", Math.random());
  button.click();
}"""


def test_a_language_chosen_in_the_tick_in_which_another_part_asks_is_spoken_by_the_whole_page(
    page, base_url
):
    """As while the model loads: what is sent in one tick arrives as one message, for one fragment."""
    open_at(page, f"{base_url}/playground?step=3&sub=6", 3, 6)
    page.get_by_role("radio", name=NAMES["ja"]).evaluate(IN_ONE_TICK)
    stands_in_japanese_at(page, 3, 6)
    expect(page.get_by_role("radio", name="公式の例")).to_be_visible()


def test_a_reload_of_the_link_speaks_the_language_at_the_same_moment(page, base_url):
    open_at(page, f"{base_url}/playground?step=3&sub=6", 3, 6)
    block(page, 2).click()
    page.wait_for_url(re.compile("block=2"))
    speak(page, "ja")
    page.wait_for_url(re.compile("(?=.*lang=ja)(?=.*step=3&sub=6)(?=.*block=2)"))
    page.reload()
    stands_in_japanese_at(page, 3, 6)
    expect(block(page, 2)).to_have_attribute("aria-pressed", "true")


def test_the_run_with_a_changed_setting_survives_the_switch(page, base_url):
    open_at(page, f"{base_url}/playground?step=7&sub=2", 7, 2)
    page.get_by_role("button", name="Settings").click()
    page.get_by_label("num_blocks").fill("9")
    page.get_by_role("button", name=re.compile("^Branch from step 7")).click()
    expect(page.get_by_role("button", name=re.compile("^Run 2"))).to_be_visible()
    speak(page, "ja")
    expect(page.get_by_role("button", name=re.compile("^実行 2 実行 1 の"))).to_be_visible()
    expect(page.get_by_text("num_blocks=9")).to_be_visible()
    expect(page.get_by_label("num_blocks")).to_have_value("9")
    speak(page, "en")
    expect(page.get_by_role("button", name=re.compile("^Run 2"))).to_be_visible()


def test_a_prompt_that_is_half_typed_survives_the_switch(page, base_url):
    page.goto(f"{base_url}/playground?example=own")
    page.get_by_role("textbox", name="Prompt", exact=True).fill("Which blocks does")
    speak(page, "ja")
    expect(page.get_by_role("textbox", name="プロンプト", exact=True)).to_have_value(
        "Which blocks does"
    )


def test_an_unknown_language_gets_a_sentence(page, base_url):
    page.goto(f"{base_url}/playground?lang=tlh")
    expect(page.get_by_text("The address asked for the language “tlh”")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "en")


def test_a_browser_that_asks_for_japanese_gets_it_without_a_word_in_the_link(chromium, base_url):
    context = chromium.new_context(locale="ja-JP")
    page = context.new_page()
    page.goto(f"{base_url}/sizing")
    expect(
        page.get_by_role("heading", name="ブロック、トークン、リクエストはいくつ入る？")
    ).to_be_visible()
    page.wait_for_url(re.compile("lang=ja"))
    context.close()


@pytest.mark.parametrize("language", [each for each in LANGUAGES if each != "en"])
def test_no_page_is_wider_than_the_screen_and_its_label_stands_whole(page, base_url, language):
    for name in PAGES:
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto(f"{base_url}/{name}?lang={language}")
        expect(page.locator(".root:not(:empty)").first).to_be_visible()
        for width, height in ((390, 844), (1440, 900)):
            page.set_viewport_size({"width": width, "height": height})
            page.wait_for_timeout(800)
            assert overflow(page) <= 0, (name, width)
            assert not page.evaluate(CUT_SHORT), (name, width)


# Buttons and labels of which a part cannot be seen. Names of vLLM may be cut: they are said in full nearby.
CUT_SHORT = """() => {
  const found = [], walk = (root) => root.querySelectorAll("*").forEach((node) => {
    if (node.shadowRoot) walk(node.shadowRoot);
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
    const isCut = own && node.clientWidth > 1 && node.scrollWidth > node.clientWidth + 1;
    if (isCut && node.matches(".root button, .root .label, .root h2, .root .head *")) found.push(node.textContent);
  });
  walk(document);
  return found.filter((text) => /[^\\x00-\\x7f]/.test(text)).join(" | ");
}"""


def test_the_choice_of_models_and_a_pasted_config_follow_the_language(page, base_url):
    page.goto(f"{base_url}/sizing?model=own")
    model = page.locator("#sizing-model")
    expect(model.locator("option:checked")).to_have_text("A config.json of your own")
    page.locator("#sizing-config").fill("{half")
    speak(page, "zh")
    expect(model.locator("option:checked")).to_contain_text(re.compile("[\u4e00-\u9fff]"))
    expect(page.locator("#sizing-config")).to_have_value("{half")
