"""The page on trace files: the line about the file, the stage under it, and what it keeps."""

import pytest
from streamlit.util import calc_hash

from engine.trace.codec import encode_trace
from engine.trace.state import Cursor
from tests.views.page import payload
from tests.views.runs import golden_trace
from tests.views.uploads import TEXT, doc_file, sent
from views import opening
from views.figures.opened import MAX_QUOTED_PROBLEM, File, Limits, in_units, opened, shortened
from views.opening import EXAMPLE_NAME
from views.text import Text

# The line about it ------------------------------------------------------------------------------


def line(file, trace=None):
    return opened(trace or golden_trace("doc_example"), file, Limits(16 << 20, 48 << 20), TEXT)


def test_the_line_says_what_is_in_the_file():
    assert line(File("a.jsonl"))["file"] == {
        "name": "a.jsonl",
        "facts": [
            "8 steps",
            "3 requests",
            f"{golden_trace('doc_example').num_events} events",
            "11 blocks of 4 tokens",
            "scripted tokens, no model",
        ],
        "problem": None,
        "problem_title": "Not all of it",
        "remark": "",
    }


def test_nothing_is_open_at_first():
    payload = opened(None, None, Limits(16 << 20, 48 << 20), TEXT)
    assert payload["file"] is None
    assert "up to 16 MiB as it travels and 48 MiB unpacked" in payload["drop"]


@pytest.mark.parametrize(
    ("num_bytes", "said"),
    [
        (1, "1 B"),
        (1023, "1,023 B"),
        (2 << 10, "2 KiB"),
        (3 << 19, "1.5 MiB"),
        (1_000_000, "976.56 KiB"),
        ((1 << 20) - 1, "1,023.99 KiB"),
        (10 << 20, "10 MiB"),
    ],
)
def test_a_limit_is_said_in_a_unit_of_its_size_and_never_rounded_up(num_bytes, said):
    assert in_units(num_bytes) == said
    payload = opened(None, None, Limits(num_bytes, 48 << 20), TEXT)
    assert f"up to {said} as it travels and 48 MiB unpacked" in payload["drop"]


def test_a_name_is_shown_letter_by_letter():
    assert line(File("\u202egnp.exe"))["file"]["name"] == "U+202Egnp.exe"


def test_a_sentence_never_holds_all_that_a_file_says():
    said = shortened("x" * 100_000)
    assert len(said) < MAX_QUOTED_PROBLEM + 10
    assert line(File("a", problem="y" * 10_000))["file"]["problem"] == shortened(
        "Y" + "y" * 9_999 + "."
    )


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "Line 3: it is cut off."), ("ja", "3 行目。"), ("zh", "第 3 行。")],
)
def test_a_problem_is_a_sentence_of_its_own(language, said):
    clause = {"en": "line 3: it is cut off", "ja": "3 行目", "zh": "第 3 行"}[language]
    assert Text(language).sentence(clause) == said
    assert Text(language).sentence(said) == said


# The page ---------------------------------------------------------------------------------------


@pytest.fixture
def page(app):
    app._page_hash = calc_hash("inspect")  # AppTest 1.67 switches to files only
    return app


def upload(page, content, name="run.jsonl"):
    page.session_state["desks"]["inspect"].asked["uploaded"] = sent(content, name)
    return page.run()


def desk(page):
    return page.session_state["desks"]["inspect"]


def notice(page):
    return " ".join(desk(page).notices.values())


def test_the_page_opens_with_an_invitation(page):
    page.run()
    assert not page.exception
    assert payload(page, "opened")["file"] is None
    assert payload(page, "transport") is None


def test_an_opened_file_stands_on_the_whole_stage(page):
    upload(page.run(), doc_file(compress=True), "doc.jsonl.gz")
    assert not page.exception
    assert payload(page, "opened")["file"]["name"] == "doc.jsonl.gz"
    for part in ("narration", "numbers", "requests", "pool", "queue", "tables", "transport"):
        assert payload(page, part), part
    assert payload(page, "transport")["address"]["file"] == "doc.jsonl.gz"


def test_a_trace_stays_through_reruns_and_is_parsed_once_for_each_upload(page, monkeypatch):
    """B52: the upload is not parsed anew, and does not vanish with a page change."""
    parsed = []
    real = opening.open_recorded
    monkeypatch.setattr(
        opening, "open_recorded", lambda *given, **more: parsed.append(1) or real(*given, **more)
    )
    upload(page.run(), doc_file())
    run = desk(page).run
    desk(page).asked["target"] = {"step": 3, "plus": 0, "run": run.run_id}
    page.run()
    assert desk(page).cursor.step == 3
    page._page_hash = calc_hash("playground")
    page.run()
    assert payload(page, "opened") is None
    page._page_hash = calc_hash("inspect")
    page.run()
    assert desk(page).run is run
    assert desk(page).cursor.step == 3
    assert payload(page, "opened")["file"]["name"] == "run.jsonl"
    assert parsed == [1]
    upload(page, doc_file())
    assert parsed == [1, 1]


def test_a_file_that_cannot_be_opened_costs_nothing_of_the_one_that_is_open(page):
    upload(page.run(), doc_file())
    upload(page, b"hello", "other.txt")
    assert not page.exception
    assert "not a Pagewalk trace" in notice(page)
    assert payload(page, "opened")["file"]["name"] == "run.jsonl"


def test_each_answer_ends_the_wait_of_the_browser(page):
    upload(page.run(), b"hello")
    first = payload(page, "opened")["num_sent"]
    upload(page, b"hello")
    assert payload(page, "opened")["num_sent"] == first + 1


def test_a_broken_file_says_so_beside_its_name(page):
    upload(page.run(), doc_file()[:-40])
    assert "the line is cut off" in payload(page, "opened")["file"]["problem"]


def test_the_example_needs_no_file(page):
    page.run()
    desk(page).asked["example_wanted"] = True
    page.run()
    assert payload(page, "opened")["file"]["name"] == EXAMPLE_NAME


def test_a_link_waits_for_its_file_and_goes_to_its_moment(page):
    page.query_params.update({"file": "run.jsonl", "step": "3", "sub": "4", "block": "2"})
    page.run()
    assert "“run.jsonl”" in notice(page)
    upload(page, doc_file())
    assert desk(page).cursor == Cursor(3, 4)
    assert desk(page).selection.block_id == 2
    assert notice(page) == ""


def test_a_link_about_another_file_says_so(page):
    page.query_params.update({"file": "theirs.jsonl", "step": "3"})
    upload(page.run(), doc_file())
    assert "“theirs.jsonl”" in notice(page)


def test_an_address_that_follows_the_page_is_no_link(page):
    upload(page.run(), doc_file(), "first.jsonl")
    page.query_params.update({"file": "first.jsonl", "step": "3"})
    upload(page, doc_file(), "second.jsonl")
    assert notice(page) == ""
    assert desk(page).cursor.step == 0


@pytest.mark.parametrize("name", ["fuzz_03", "hybrid_three_groups", "ngram_spec", "reset_cache"])
def test_every_kind_of_run_is_drawn_at_both_ends(page, name):
    upload(page.run(), encode_trace(golden_trace(name)))
    for cursor in (golden_trace(name).last, Cursor(0, 0)):
        desk(page).cursor = cursor
        page.run()
        assert not page.exception
        assert not page.error


def test_the_playground_s_run_is_offered_when_there_is_one(page):
    page.run()
    assert "The playground has no run yet." in [shown.value for shown in page.caption]
    page._page_hash = calc_hash("playground")
    page.run()
    page._page_hash = calc_hash("inspect")
    page.run()
    labels = [button.label for button in page.get("download_button")]
    assert labels == ["Trace file (.jsonl.gz)", "Perfetto (.json)"]
