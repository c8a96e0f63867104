"""axe-core over the page: nothing of our own making may be a serious barrier."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from views.choices import LENSES

pytestmark = pytest.mark.browser

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
COLOURS = ["color-contrast", "link-in-text-block"]  # the rules that look at them
# What Streamlit 1.67 draws itself, and we cannot change: rule -> the parts of its page.
STREAMLITS_OWN = {
    "color-contrast": "kbd, [data-testid=stMainMenu]",
    "scrollable-region-focusable": "[data-testid=stMain], [data-testid=stHorizontalBlock]",
}

# WCAG 2.5.8 excepts a target whose function another one of full size has: the rows of the timeline
# select what the pool and the request cards select.
EQUIVALENT = (("target-size", 'class="name"'),)


def violations(page: Page, part: str | None = None, *, rules: list[str] | None = None) -> list[str]:
    """Serious and critical findings, without those of Streamlit's own elements."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    only = {"type": "rule", "values": rules} if rules else {"type": "tag", "values": TAGS}
    # Of what is in order it need not tell the places: that took a third of its time.
    results = axe.run(page, part, options={"runOnly": only, "resultTypes": ["violations"]})
    return [
        f"{found['id']}: {node['target']} {node['html'][:160]} {node.get('failureSummary', '')[:200]}"
        for found in results.response["violations"]
        if found["impact"] in ("serious", "critical")
        for node in found["nodes"]
        if not is_streamlits(page, found["id"], node) and not has_equivalent(found["id"], node)
    ]


def violations_light_and_dark(page: Page, part: str | None = None) -> list[str]:
    """In the light scheme, and what the dark one adds: the same parts are there in other colours."""
    found, app = violations(page, part), page.get_by_test_id("stApp")
    light = app.evaluate("(node) => getComputedStyle(node).backgroundColor")
    page.emulate_media(color_scheme="dark")
    expect(app).not_to_have_css("background-color", light)
    return [*found, *violations(page, part, rules=COLOURS)]


def is_streamlits(page: Page, rule: str, node: dict[str, Any]) -> bool:
    """In the light DOM and on the list. What lies in a shadow root is ours, always."""
    target = node["target"][0]
    if isinstance(target, list) or rule not in STREAMLITS_OWN:
        return False
    inside = "([found, parts]) => Boolean(document.querySelector(found)?.closest(parts))"
    return bool(page.evaluate(inside, [target, STREAMLITS_OWN[rule]]))


def has_equivalent(rule: str, node: dict[str, Any]) -> bool:
    return any(rule == name and part in node["html"] for name, part in EQUIVALENT)


@pytest.mark.parametrize("lens", LENSES)
def test_axe_finds_no_serious_barrier_of_ours(page, base_url, lens):
    page.goto(f"{base_url}?step=3&sub=6&block=2&lens={lens}")
    page.get_by_role("group", name="Time").get_by_text("step 3, sub-step 6").wait_for()
    part = None if lens == LENSES[0] else f".st-key-{lens}"  # the same stands around each
    assert violations_light_and_dark(page, part) == []


@pytest.mark.parametrize("page", [(390, 844)], indirect=True, ids=["phone"])
def test_axe_finds_no_serious_barrier_on_a_phone_with_the_panel_open(page, base_url):
    page.goto(f"{base_url}?step=3&sub=6&request=request1")
    page.get_by_role("button", name="Settings").click()
    page.get_by_text("block_size").first.wait_for()
    assert violations(page) == []


def test_a_barrier_in_one_of_our_parts_would_be_found(page, base_url):
    page.goto(f"{base_url}/playground")
    page.get_by_role("group", name="Time").get_by_text("step 0").wait_for()
    page.locator(".buttons button").first.evaluate(
        "b => { b.textContent = ''; b.removeAttribute('aria-label'); b.removeAttribute('title'); }"
    )
    assert any(found.startswith("button-name") for found in violations(page))
