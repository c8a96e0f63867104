"""Every lesson is walked to its end in a browser, with right and wrong answers in turn."""

import re

import pytest
from playwright.sync_api import Page, expect

from lessons.grading import answer_of, choices_of, grade
from lessons.library import LoadedLesson, all_lessons

pytestmark = pytest.mark.browser

LESSONS = {loaded.name: loaded for loaded in all_lessons()}


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_is_walked_to_its_end(page, base_url, name):
    loaded = LESSONS[name]
    page.goto(f"{base_url}/learn?lesson={name}")
    is_right, num_right = int(name[:2]) % 2 == 0, 0  # one lesson begins so, the next otherwise
    for index, chunk in enumerate(loaded.lesson.chunks):
        expect(text_of(page, name, index)).to_be_visible()
        if chunk.predict:
            answer(page, loaded, chunk.predict, is_right=is_right)
            found = page.locator(".body > .verdict")
            expect(found).to_have_attribute("data-kind", "right" if is_right else "wrong")
            expect(found.locator(".sentence p").first).to_be_visible()
            is_right, num_right = not is_right, num_right + is_right
        page.keyboard.press("Enter")
    total = len(loaded.lesson.predictions)
    expect(page.locator(".body > .ending")).to_contain_text(
        f"You predicted {num_right} of {total} rightly."
    )
    expect(page.locator(".body > .ending .sources a").first).to_have_attribute(
        "href", re.compile("v0.17.1")
    )
    assert page.get_by_text("could not be drawn").count() == 0


def text_of(page: Page, name: str, index: int):
    """The part that shows this text."""
    return page.locator(f'[data-page="{name}/{index}/False"]')


def answer(page: Page, loaded: LoadedLesson, question: str, *, is_right: bool) -> None:
    lesson = loaded.lesson
    prediction = lesson.predictions[question]
    given = answer_of(lesson, question, loaded.traces)
    if not is_right:
        given = a_wrong_one(loaded, question, given)
    card = page.locator(".body > .card")
    if prediction.kind == "number":
        card.locator("input").fill(str(given))
    elif prediction.kind == "choice":
        options = choices_of(lesson, question, loaded.traces)
        card.locator(".option").nth(options.index(given)).click()
    else:
        click_blocks(page, (given,) if prediction.kind == "block" else given)
    card.get_by_role("button", name="This is my answer").click()


def click_blocks(page: Page, block_ids) -> None:
    """Where they are offered, else in the pool; each one waits until it is seen as picked."""
    for place, block_id in enumerate(block_ids):
        offered = page.locator(".body > .card .option.block", has_text=re.compile(rf"^{block_id}$"))
        if offered.count():
            offered.click()
        else:
            page.get_by_role("button", name=re.compile(rf"^{block_id}: ")).first.click()
        expect(page.locator(".body > .card .picks .block")).to_have_count(place + 1)


def a_wrong_one(loaded: LoadedLesson, question: str, right):
    """Something that the engine did not do, in the form of an answer."""
    lesson = loaded.lesson
    prediction = lesson.predictions[question]
    if prediction.kind == "choice":
        return next(o for o in choices_of(lesson, question, loaded.traces) if o != right)
    if prediction.kind == "order":
        other = tuple(reversed(right))
        return other if other != tuple(right) else tuple(right)[:-1] or (9,)
    candidates = (right - 1, 1, 2, 3) if prediction.kind == "block" else (right + 3,)
    return next(
        c for c in candidates if c and not grade(lesson, question, c, loaded.traces).is_right
    )


def test_going_on_finishes_the_motion_before_the_next_text_begins(page, base_url):
    page.emulate_media(reduced_motion="no-preference")
    page.goto(f"{base_url}/learn?lesson=2&chunk=3")
    expect(text_of(page, "02-block-table", 2)).to_be_visible()
    page.keyboard.press("Enter")
    expect(text_of(page, "02-block-table", 3)).to_be_visible()
    time = page.get_by_role("slider").first
    before = int(time.input_value())
    page.keyboard.press("Enter")
    expect(text_of(page, "02-block-table", 3)).to_be_visible()
    expect(time).to_have_value("92")
    assert before < 92
    page.keyboard.press("Enter")
    expect(text_of(page, "02-block-table", 4)).to_be_visible()


def test_no_dead_tabs_stay_where_a_lesson_hides_the_lenses(page, base_url):
    page.goto(f"{base_url}/learn?lesson=1&chunk=7")
    expect(text_of(page, "01-reserved-rows", 6)).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator(".body > .ending")).to_be_visible()
    expect(page.get_by_role("tab").first).to_be_visible()
    page.keyboard.press("Enter")
    expect(text_of(page, "02-block-table", 0)).to_be_visible()
    expect(page.get_by_role("tab").first).to_be_hidden()
    page.keyboard.press("Enter")
    expect(text_of(page, "02-block-table", 1)).to_be_visible()
    expect(page.get_by_role("tab").first).to_be_hidden()


def test_progress_stays_in_the_link_and_a_reload_brings_the_reader_back(page, base_url):
    page.goto(f"{base_url}/learn?lesson=6&chunk=8")
    expect(text_of(page, "06-prefill", 7)).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator(".body > .ending")).to_be_visible()
    expect(page).to_have_url(re.compile("done=40"))
    page.reload()
    expect(page.locator(".marks")).to_be_visible()
    page.get_by_role("button", name="All lessons").click()
    card = page.get_by_role("button", name=re.compile("Prefill takes what it needs"))
    expect(card).to_contain_text("done")


def test_a_lesson_is_changed_and_run_live_and_taken_back(page, base_url):
    page.goto(f"{base_url}/learn?lesson=6")
    page.get_by_text("Run it live, your way").click()
    page.get_by_label("prompt of r0").fill("ABCDEFG")
    page.get_by_role("button", name="Run it live", exact=True).click()
    expect(page.locator(".body > .change .own")).to_contain_text("This is your run")
    page.locator(".body > .card input").fill("2")
    page.get_by_role("button", name="This is my answer").click()
    expect(page.locator(".body > .verdict")).to_have_attribute("data-kind", "right")
    page.reload()
    expect(page.get_by_text("your own run was run once more")).to_be_visible()
    expect(page.locator(".body > .verdict .found")).to_have_text("Right: 2")
    page.get_by_text("This is your run: change it again").click()
    expect(page.get_by_label("prompt of r0")).to_have_value("ABCDEFG")
    page.get_by_role("button", name="Back to the recorded run").click()
    expect(page.locator(".body > .change .own")).to_contain_text("Change what you like")


def test_the_card_of_a_question_is_made_once(page, base_url):
    page.goto(f"{base_url}/learn?lesson=10&chunk=5")
    click_blocks(page, (5, 4, 3))
    expect(page.locator(".body > .card .picks .block")).to_have_text(["5", "4", "3"])
    assert page.locator(".body > .card .how").count() == 1


def test_who_comes_back_without_the_link_goes_on_where_they_were(page, base_url):
    page.goto(f"{base_url}/learn?lesson=6")
    page.locator(".body > .card input").fill("3")
    page.get_by_role("button", name="This is my answer").click()
    expect(page.locator(".body > .verdict")).to_have_attribute("data-kind", "wrong")
    page.keyboard.press("Enter")
    expect(text_of(page, "06-prefill", 1)).to_be_visible()
    page.goto(f"{base_url}/learn")
    page.get_by_role("button", name="Go on with lesson 6, text 2").click()
    expect(text_of(page, "06-prefill", 1)).to_be_visible()
    expect(page.locator(".mark").first).to_have_attribute("data-kind", "wrong")


def test_on_a_phone_the_pool_stands_under_the_question_that_is_answered_in_it(page, base_url):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{base_url}/learn?lesson=2&chunk=2")
    click_blocks(page, (19,))
    expect(page.get_by_text("Covered until the question is answered or skipped.")).to_have_count(1)
    stand_in_this_order(page, "prose", "pool", "requests")
    page.get_by_role("button", name="This is my answer").click()
    expect(page.locator(".body > .verdict")).to_have_attribute("data-kind", "right")
    expect(page.locator(":root")).not_to_have_attribute("data-asks", "pool")
    stand_in_this_order(page, "prose", "requests", "pool")


def stand_in_this_order(page: Page, *parts: str) -> None:
    boxes = [page.locator(f".st-key-stage_{part}").bounding_box() for part in parts]
    tops = [box["y"] for box in boxes if box is not None]
    assert tops == sorted(tops)
    assert len(tops) == len(parts)


def test_what_happened_begins_with_a_whole_line(page, base_url):
    page.goto(f"{base_url}/learn?lesson=2&chunk=6")
    now = page.locator(".st-key-stage_told [data-when=now]")
    expect(now).to_be_visible()
    expect(now).to_be_in_viewport(ratio=1)
    cut = """(now) => [...now.parentElement.children].filter((line) => {
        const top = line.offsetTop - now.parentElement.scrollTop;
        return top < -1 && top + line.offsetHeight > 1; }).length"""
    assert now.evaluate(cut) == 0


@pytest.mark.parametrize("language", ["en", "ja", "zh"])
def test_the_languages_cover_no_page_of_the_navigation(page, base_url, language):
    page.set_viewport_size({"width": 780, "height": 800})
    page.goto(f"{base_url}/learn?lang={language}")
    switch, links = page.locator(".st-key-language_switch"), page.get_by_test_id("stTopNav")
    expect(switch).to_be_visible()

    def are_apart() -> bool:
        last, languages = links.locator("a").last.bounding_box(), switch.bounding_box()
        if last is None or languages is None:
            return False
        is_beside = last["x"] + last["width"] <= languages["x"]
        return is_beside or languages["y"] >= last["y"] + last["height"]

    for _ in range(50):  # the navigation folds once it has measured itself
        if are_apart():
            break
        page.wait_for_timeout(100)
    assert are_apart()


def test_the_first_text_stands_alone(page, base_url):
    page.goto(f"{base_url}/learn?lesson=1")
    expect(text_of(page, "01-reserved-rows", 0)).to_be_visible()
    expect(page.locator(".body > .bars li")).to_have_count(3)
    expect(page.locator(".st-key-stage_pool")).to_be_hidden()
    expect(page.get_by_role("slider")).to_be_hidden()
    page.get_by_role("button", name="All lessons").click()
    expect(page.locator(":root")).not_to_have_attribute("data-alone", "true")
