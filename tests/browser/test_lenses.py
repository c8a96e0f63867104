"""What the lenses draw, as a visitor sees it: nothing cut without a sign, nothing said by a box."""

import pytest
from playwright.sync_api import Locator, Page, expect

from engine.trace.codec import encode_trace
from tests.browser.test_inspect import opened, visit
from tests.views.trees import run

pytestmark = pytest.mark.browser

IN_SIGHT = """(node) => {
  const scroll = node.closest(".scroll").getBoundingClientRect(), box = node.getBoundingClientRect();
  return box.left >= scroll.left && box.right <= scroll.right
    && box.top >= scroll.top && box.bottom <= scroll.bottom;
}"""
OVERFLOWS = "(node) => node.scrollWidth > node.clientWidth"


def lens(page: Page, base_url: str, query: str, title: str) -> Locator:
    page.goto(f"{base_url}?{query}")
    expect(page.get_by_role("group", name="Time")).to_contain_text("sub-step")
    found = page.locator(".root", has=page.get_by_role("heading", name=title, exact=True))
    expect(found).to_have_count(1)
    return found


def test_the_whole_tree_of_the_example_fits_with_its_legend_above_it(page, base_url):
    tree = lens(page, base_url, "step=6&sub=6&lens=tree", "Prefix tree")
    expect(tree.locator(".node[data-kind=hash] .label")).to_have_text(
        ["ABCD", "EFGH", "IJKL", "αβγδ", "εζηθ", "ικλμ", "νξοπ", "IJkl", "mnop"]
    )
    expect(tree.locator(".differs")).to_have_text(["K", "k"])
    expect(tree).to_have_attribute("data-narrow", "true")
    assert not tree.locator(".scroll").evaluate(OVERFLOWS)
    expect(tree.locator(".cut:visible")).to_have_count(0)
    legend, scroll = (
        tree.locator(f"{name}:visible").bounding_box() for name in (".legend", ".scroll")
    )
    assert legend is not None
    assert scroll is not None
    assert legend["y"] + legend["height"] <= scroll["y"]
    assert legend["y"] + legend["height"] < 800


def test_four_requests_in_64_blocks_are_seen_whole_in_one_line_each(page, base_url):
    """Eight blocks that all share and seven of one's own, while everybody runs."""
    prompts = [([*range(32), *range(100 * i, 100 * i + 29)], {}) for i in range(1, 5)]
    many = [(prompt, {"output": list(range(7, 19))}) for prompt, _ in prompts]
    visit(page, base_url)
    trace = run(many, num_blocks=64)
    opened(page, encode_trace(trace))
    page.get_by_placeholder("go to step").fill("4")
    page.keyboard.press("Enter")
    tree = page.locator(".root", has=page.get_by_role("heading", name="Prefix tree", exact=True))
    expect(tree.locator(".chip")).to_have_text(["r0+2", "r1+1", "r2", "r3+3"])
    expect(tree).to_have_attribute("data-slim", "true")
    expect(tree.locator(".node[data-kind=fold]")).to_have_count(0)
    cached = trace.at(trace.after_update(4)).num_used_blocks - 3  # the last blocks are not full
    expect(tree.locator(".node .block:visible")).to_have_count(cached)
    assert not tree.locator(".scroll").evaluate(OVERFLOWS)
    assert not tree.evaluate("(node) => node.scrollHeight > node.clientHeight")
    expect(tree.locator(".cut:visible")).to_have_count(0)
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight") <= 900


def test_a_small_tree_has_room_for_its_hashes(page, base_url):
    tree = lens(page, base_url, "step=0&sub=8&lens=tree", "Prefix tree")
    expect(tree.locator(".foot").filter(has_text="#bae91d")).to_be_visible()
    assert tree.get_attribute("data-narrow") is None


@pytest.mark.parametrize("page", [(390, 844)], indirect=True)
def test_on_a_phone_the_end_of_the_chain_is_in_sight_and_the_cut_edge_says_so(page, base_url):
    tree = lens(page, base_url, "step=6&sub=6&lens=tree", "Prefix tree")
    end = tree.locator(".node", has=page.locator(".chip[data-request=request2]")).locator(".face")
    expect(tree.locator(".cut[data-side=left]")).to_be_visible()
    assert end.evaluate(IN_SIGHT)
    expect(tree.locator(".cut[data-side=right]")).to_be_hidden()
    tree.locator(".scroll").evaluate("(node) => node.scrollTo({ left: 0 })")
    expect(tree.locator(".cut[data-side=right]")).to_be_visible()
    expect(tree.locator(".cut[data-side=left]")).to_be_hidden()


def test_in_why_no_sentence_is_boxed_by_a_chosen_request(page, base_url):
    why = lens(page, base_url, "step=6&sub=5&lens=why&request=request2", "Why?")
    expect(why.locator(".line")).to_contain_text("request2 stands at the head")
    expect(why.locator(".pick[data-lit=own]")).to_have_count(1)
    boxed = why.locator("[data-request]:not(button, .name, .token)")
    expect(boxed).to_have_count(0)


def test_in_why_a_block_that_hit_has_the_colour_that_it_has_in_the_pool(page, base_url):
    why = lens(page, base_url, "step=5&sub=11&lens=why&request=request1", "Why?")
    pool = page.locator(".root", has=page.get_by_role("heading", name="Block pool", exact=True))
    for block_id in (1, 2):
        in_pool = pool.locator(f"button[data-block='{block_id}']")
        expect(in_pool).to_have_attribute("data-state", "remembered")
        chip = why.locator(f"button[data-block='{block_id}']")
        expect(chip).to_have_attribute("data-state", "remembered")


def test_a_token_of_the_batch_is_dashed_until_the_model_ran(page, base_url):
    batch = lens(page, base_url, "step=0&sub=7&lens=batch", "Batch of step 0")
    token = batch.locator(".tok").first
    expect(token).to_have_attribute("data-state", "scheduled")
    expect(token).to_have_css("border-bottom-style", "dashed")
    page.keyboard.press("ArrowRight")
    expect(token).to_have_attribute("data-state", "now")
    expect(token).to_have_css("border-bottom-style", "solid")
