"""Run until, branches, and the runs beside each other, in a real Chromium on the real server."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_playground import MODEL_MS, NOW, open_at, where

pytestmark = pytest.mark.browser


def until(page: Page):
    return page.get_by_role("group", name="Run until")


def run_until(page: Page, what: str) -> None:
    until(page).get_by_role("combobox").select_option(label=what)
    until(page).get_by_role("button", name="Go").click()


def run_button(page: Page, number: int):
    return page.get_by_role("group", name="Runs").get_by_role(
        "button", name=re.compile(f"^Run {number}")
    )


def test_run_until_goes_to_the_next_moment_of_a_recorded_run(page, base_url):
    open_at(page, f"{base_url}/playground", 0, 4)
    run_until(page, "request1 starts")
    expect(page.locator(NOW)).to_have_text(re.compile("^request1 runs"))
    run_until(page, "something is evicted")
    expect(page.locator(NOW)).to_have_text(re.compile("^request2 takes blocks .* forgets"))
    run_until(page, "somebody is preempted")
    expect(page.get_by_text("before this happened: somebody is preempted")).to_be_visible()
    expect(page.locator(NOW)).to_have_text("Step 7 is over.")


def test_a_branch_stands_beside_its_run_and_both_keep_their_place(page, base_url):
    open_at(page, f"{base_url}?step=2&sub=7", 2, 7)
    page.get_by_role("button", name="Settings").click()
    field = page.get_by_role("textbox", name="max_num_seqs")
    field.fill("1")
    field.press("Enter")
    expect(page.get_by_text("max_num_seqs changes there, between two steps")).to_be_visible()
    page.get_by_role("button", name="Branch from step 3 with these").click()
    expect(page.locator(NOW)).to_have_text("max_num_seqs is 1 from now on.")
    expect(run_button(page, 2)).to_have_attribute("aria-pressed", "true")
    expect(run_button(page, 2)).to_contain_text("from run 1 at step 3, max_num_seqs=1")
    page.get_by_role("button", name="Close settings").click()
    run_until(page, "something is evicted")
    expect(page.get_by_role("group", name="Time")).to_contain_text("step 8, sub-step 4")

    run_button(page, 1).click()
    where(page, 2, 7)
    run_button(page, 2).press("Enter")
    where(page, 8, 4)
    page.get_by_role("button", name="Close run 2").click()
    where(page, 2, 7)
    expect(page.get_by_role("group", name="Runs")).to_have_count(0)


def test_after_a_reload_the_runs_that_stood_beside_it_are_opened_from_the_bar(page, base_url):
    open_at(page, f"{base_url}?step=2&sub=7", 2, 7)
    page.get_by_role("button", name="Settings").click()
    field = page.get_by_role("textbox", name="max_num_seqs")
    field.fill("1")
    field.press("Enter")
    page.get_by_role("button", name="Branch from step 3 with these").click()
    page.wait_for_url(re.compile("run="))
    page.evaluate(
        """() => { const key = "pagewalk-runs-doc_example", link = { example: "doc_example", run: "x" };
        const older = { id: 1, number: 2, name: "Run 2", about: "", gist: "num_blocks=7", link, at: 1e12, visitor: "x" };
        sessionStorage.setItem(key, JSON.stringify([...JSON.parse(sessionStorage.getItem(key)), older])); }"""
    )
    page.reload()
    older = page.get_by_role(
        "button", name=re.compile(r"^open again: Earlier, \d+:\d+.*num_blocks=7")
    )
    expect(older).to_be_visible()
    page.get_by_role("button", name=re.compile("^Forget Earlier")).click()
    expect(older).to_have_count(0)
    expect(run_button(page, 2)).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="open again: Run 1").click()
    expect(run_button(page, 1)).to_have_attribute("aria-pressed", "true")
    expect(run_button(page, 2)).to_contain_text("from run 1 at step 3, max_num_seqs=1")
    expect(page.get_by_role("button", name="open again")).to_have_count(0)
    page.reload()
    page.get_by_role("button", name="Forget Run 2").click()
    expect(page.get_by_role("group", name="Runs")).to_be_hidden()


def test_the_panel_names_the_step_at_which_time_stands(page, base_url):
    open_at(page, f"{base_url}?step=2&sub=7", 2, 7)
    page.get_by_role("button", name="Settings").click()
    expect(page.get_by_role("button", name="Branch from step 3 with these")).to_be_visible()
    page.keyboard.press("Shift+ArrowRight")
    expect(page.get_by_role("button", name="Branch from step 4 with these")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("lies inside step 4")).to_be_visible()


@pytest.mark.parametrize("page", [(390, 844)], indirect=True)
def test_a_phone_runs_until_and_turns_from_run_to_run(page, base_url):
    open_at(page, f"{base_url}?step=2&sub=7", 2, 7)
    page.get_by_role("button", name="Settings").click()
    field = page.get_by_role("textbox", name="block_size")
    field.fill("8")
    field.press("Enter")
    restarts, apply = (
        page.get_by_text("Changes block_size. Applying restarts"),
        page.get_by_role("button", name="Apply and restart"),
    )
    field.scroll_into_view_if_needed()
    for seen in (restarts, apply):
        expect(seen).to_be_in_viewport(ratio=1)
        box = seen.bounding_box()
        assert box is not None
        middle = (box["x"] + 20, box["y"] + box["height"] / 2)
        assert seen.evaluate(
            "(node, [x, y]) => node.contains(document.elementFromPoint(x, y))", middle
        )
    expect(page.get_by_text("Its past may look different")).to_be_visible()
    page.get_by_role("button", name="Branch from step 3 with these").click()
    expect(run_button(page, 2)).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Close settings").click()
    run_until(page, "all are done")
    expect(page.locator(NOW)).to_have_text(re.compile("^request2 is finished"))
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


@pytest.mark.model
def test_a_live_run_goes_on_until_it_is_stopped_and_branches_with_another_prompt(page, base_url):
    page.goto(f"{base_url}?example=own")
    expect(page.get_by_text("Model ready")).to_be_visible(timeout=MODEL_MS)
    prompt = page.get_by_role("textbox", name="Prompt", exact=True)
    page.get_by_role("textbox", name="max_tokens").fill("200")
    prompt.fill("Count to one hundred.")
    page.get_by_role("button", name="Add to the run").click()
    expect(page.get_by_text("r0 was added")).to_be_visible()

    # The way is shown while it is gone, and can be stopped.
    run_until(page, "somebody is preempted")
    expect(until(page)).to_contain_text("until somebody is preempted")
    expect(page.get_by_role("group", name="Time")).to_contain_text(
        re.compile(r"step \d\d, "), timeout=MODEL_MS
    )
    until(page).get_by_role("button", name="Stop").click()
    expect(until(page).get_by_role("button", name="Go")).to_be_visible()

    # In the past a prompt can come in a branch; the run that it left stays.
    place = page.get_by_role("textbox", name="go to step").last
    place.fill("4")
    place.press("Enter")
    expect(page.locator(NOW)).to_have_text(re.compile("Step 4 is over"))
    prompt.fill("Count to one thousand.")
    page.get_by_role("textbox", name="max_tokens").fill("3")
    page.get_by_role("button", name="Add here, in a branch from step 5").click()
    expect(page.locator(NOW)).to_have_text(re.compile("^r1 arrives"), timeout=MODEL_MS)
    expect(run_button(page, 2)).to_contain_text("from run 1 at step 5, with r1")
    expect(prompt).to_have_value("")
    run_until(page, "r1 starts")
    expect(page.locator(NOW)).to_have_text(re.compile("^r1 runs"), timeout=MODEL_MS)
    run_button(page, 1).click()
    expect(page.locator(NOW)).to_have_text(re.compile("Step 4 is over"))
