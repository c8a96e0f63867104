"""The page on trace files in a real Chromium: what is chosen, dropped, shown and downloaded."""

import base64
import gzip
import json
import re

import pytest
from playwright.sync_api import expect

from engine.trace.codec import encode_trace, read_trace
from tests.browser.test_accessibility import violations_light_and_dark
from tests.browser.test_playground import overflow
from tests.trace.perfetto import read
from tests.trace.stories import old_file
from tests.views.runs import golden_trace

pytestmark = pytest.mark.browser


def doc_file(**how):
    return encode_trace(golden_trace("doc_example"), **how)


def visit(page, base_url, query=""):
    page.goto(f"{base_url}/inspect{query}")
    expect(page.locator(".choose")).to_be_visible()


def give(page, content, name="run.jsonl"):
    file = {"name": name, "mimeType": "application/octet-stream", "buffer": content}
    page.set_input_files("input[type=file]", files=[file])


def opened(page, content, name="run.jsonl"):
    give(page, content, name)
    expect(page.locator(".about .name")).to_have_text(name)
    expect(page.locator(".where").first).to_be_visible()


def where(page):
    return page.locator(".where").first


def test_a_file_stands_on_the_stage_and_is_walked_through(page, base_url):
    visit(page, base_url)
    opened(page, doc_file(compress=True), "doc.jsonl.gz")
    expect(page.locator(".about .facts")).to_contain_text("8 steps · 3 requests")
    expect(where(page)).to_have_text("step 0, sub-step 4 of 10")
    page.keyboard.press("ArrowRight")
    expect(where(page)).to_have_text("step 0, sub-step 5 of 10")
    page.wait_for_url(re.compile(r"file=doc\.jsonl\.gz&step=0&sub=5"))
    assert overflow(page) <= 0


def test_a_plain_file_travels_packed_and_arrives_whole(page, base_url):
    visit(page, base_url)
    content = encode_trace(golden_trace("fuzz_01"))
    assert len(content) > 1 << 16
    opened(page, content, "fuzz.jsonl")
    expect(page.locator(".about .facts")).to_contain_text(
        f"{golden_trace('fuzz_01').num_events:,} events"
    )
    expect(page.locator("p.problem")).to_be_hidden()


def test_a_file_may_be_dropped_anywhere(page, base_url):
    visit(page, base_url)
    page.evaluate(
        """(coded) => {
          const bytes = Uint8Array.from(atob(coded), (c) => c.charCodeAt(0)), dataTransfer = new DataTransfer();
          dataTransfer.items.add(new File([bytes], "dropped.jsonl"));
          document.body.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
        }""",
        base64.b64encode(doc_file()).decode(),
    )
    expect(page.locator(".about .name")).to_have_text("dropped.jsonl")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "the file is empty"),
        (bytes(range(256)) * 400, "this is a binary file"),
        (b'{"traceEvents": []}', "a file for Perfetto"),
        (b"\x1f\x8b" + bytes(90), "line 1: "),
    ],
    ids=["empty", "junk", "foreign", "gzip"],
)
def test_what_is_no_trace_gets_a_sentence_and_another_try(page, base_url, content, says):
    visit(page, base_url)
    give(page, content)
    expect(page.get_by_role("alert")).to_contain_text(says)
    opened(page, doc_file())
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_broken_file_is_shown_as_far_as_it_goes(page, base_url):
    visit(page, base_url)
    opened(page, doc_file()[:-40], "broken.jsonl")
    expect(page.locator("p.problem")).to_contain_text("the line is cut off; what stands before it")
    page.keyboard.press("End")
    expect(where(page)).to_contain_text("step 7")


def test_markup_in_a_file_stays_text(page, base_url):
    visit(page, base_url)
    header, rest = old_file(golden_trace("doc_example")).split(b"\n", 1)
    evil = "<img src=x onerror=document.title='hit'>"
    titled = json.dumps({**json.loads(header), "title": evil, "model": evil}).encode()
    opened(page, titled + b"\n" + rest.replace(b"request0", evil.encode()), f"{evil}.jsonl")
    expect(page.locator(".about .facts")).to_contain_text(evil[:30])
    page.keyboard.press("End")
    expect(where(page)).to_contain_text("step 7")
    assert page.title() != "hit"


def test_the_trace_stays_when_the_page_changes(page, base_url):
    """B52, in a browser: an upload is lost on a page change unless somebody keeps it."""
    visit(page, base_url)
    opened(page, doc_file())
    page.keyboard.press("End")
    expect(where(page)).to_contain_text("step 7")
    page.get_by_role("link", name="Sizing").click()
    expect(page.locator(".about .name")).to_have_count(0)
    page.get_by_role("link", name="Inspect").click()
    expect(page.locator(".about .name")).to_have_text("run.jsonl")
    expect(where(page)).to_contain_text("step 7")


def test_a_link_asks_for_its_file_and_then_goes_to_its_moment(page, base_url):
    visit(page, base_url, "?file=run.jsonl&step=3&sub=4")
    expect(page.get_by_text("This link is about the file “run.jsonl”")).to_be_visible()
    opened(page, doc_file())
    expect(where(page)).to_contain_text("step 3, sub-step 4")


def downloaded(page, label, group=0):
    with page.expect_download() as download:
        page.get_by_role("button", name=label).nth(group).click()
    return download.value.suggested_filename, download.value.path().read_bytes()


def test_both_runs_are_downloaded_as_trace_and_for_perfetto(page, base_url):
    page.goto(f"{base_url}/playground")
    expect(where(page)).to_be_visible()
    page.get_by_role("link", name="Inspect").click()
    opened(page, encode_trace(golden_trace("lru_eviction")), "lru.jsonl")
    page.get_by_role("button", name="Download").click()
    name, content = downloaded(page, "Trace file")
    assert name == "pagewalk-8-steps.jsonl.gz"
    assert read_trace(content).trace.num_steps == 8
    name, content = downloaded(page, "Perfetto", 1)
    assert name == "lru.perfetto.json"
    assert len(read(content).counters["blocks"]) == golden_trace("lru_eviction").num_steps
    name, content = downloaded(page, "Trace file", 1)
    assert gzip.decompress(content).count(b"\n") == golden_trace("lru_eviction").num_events + 1


@pytest.mark.parametrize("page", [(390, 844), (1440, 900)], indirect=True, ids=["phone", "desk"])
def test_axe_finds_no_serious_barrier_and_nothing_runs_over_the_edge(page, base_url):
    visit(page, base_url)
    assert violations_light_and_dark(page) == []
    page.emulate_media(color_scheme="light")
    opened(page, doc_file()[:-40], "a-rather-long-name-of-a-trace-file-that-was-broken.jsonl")
    assert overflow(page) <= 0
    assert violations_light_and_dark(page) == []
