"""What a lesson says of later versions: what changed and since when at once, how only behind its questions."""

import pytest
from streamlit.util import calc_hash

from lessons.library import load_lesson
from tests.views.page import payload
from views.own_words import scene_on_stage
from views.study import Study
from views.text import Text
from views.widgets.lesson import lesson_payload

TEXT = Text("en")


def reading(name: str, chunk: str) -> Study:
    """At this text, with every question before it skipped."""
    study = Study(load_lesson(name))
    for index, each in enumerate(study.loaded.lesson.chunks):
        study.turn(index)
        if each.id == chunk:
            return study
        study.skip()
    raise AssertionError(chunk)


@pytest.mark.parametrize(
    ("lesson", "first", "told_from", "what"),
    [
        (
            "14",
            "two_take_turns",
            "tails",
            "Where a freed block without a hash joins the free queue.",
        ),
        ("10", "first", "tail_first", "Where a freed block without a hash joins the free queue."),
        ("13", "holds", "freed", "Where a freed block without a hash joins the free queue."),
        ("23", "letters", "forgotten", "Where a freed block without a hash joins the free queue."),
        ("18", "budget", "counted", "When the statistics count a lookup of the cache."),
        ("20", "two_steps", "formula", "When the statistics count a lookup of the cache."),
    ],
)
def test_a_badge_says_at_once_what_changed_and_later_how(lesson, first, told_from, what):
    (badge,) = lesson_payload(reading(lesson, first), TEXT)["badges"]
    assert (badge["what"], badge["text"], badge["switch"]) == (what, [], None)
    assert badge["title"].startswith("Changed after 0.17.1: 2026-0")
    (badge,) = lesson_payload(reading(lesson, told_from), TEXT)["badges"]
    assert badge["text"]
    assert (badge["switch"] is not None) == (lesson in ("13", "14", "20"))


def test_a_change_whose_month_is_not_known_names_the_latest_one():
    drop, tails = lesson_payload(reading("21", "dropped"), TEXT)["badges"]
    assert drop["title"] == "Changed after 0.17.1: by 2026-09 at the latest, vllm#53388"
    assert tails["title"] == "Changed after 0.17.1: 2026-05, vllm#42656"


def test_a_later_version_on_the_stage_is_said_over_a_text_about_0_17_1():
    study = reading("14", "tails")
    assert lesson_payload(study, TEXT)["written"] == ""
    study.variants = {"partial_tails"}
    assert scene_on_stage(study, TEXT) == "Three, 7 blocks, unhashed ones first (later than 0.17.1)"
    assert lesson_payload(study, TEXT)["written"] == (
        "The stage shows what later versions do (vllm#42656): Three, 7 blocks, unhashed ones first. "
        "The text speaks of 0.17.1."
    )


def test_the_cliff_explains_before_it_offers_its_switch():
    study = reading("14", "cliff")
    assert lesson_payload(study, TEXT)["badges"][0]["switch"] is None


def test_the_open_question_of_lesson_20_is_not_answered_by_its_badge():
    study = reading("20", "two_steps")
    (badge,) = lesson_payload(study, TEXT)["badges"]
    assert (badge["text"], "once" in badge["what"], "once" in badge["title"]) == ([], False, False)


def test_equal_hashes_light_up_only_when_the_question_is_answered(app):
    app.query_params.update({"lesson": "14", "chunk": "5"})
    app._page_hash = calc_hash("learn")  # AppTest 1.67 switches to files only
    app.run()
    assert payload(app, "requests")["lit"]["own"] == {"request": "A2"}
    assert payload(app, "requests")["lit"]["hashes"] == []
    app.session_state["desks"]["learn"].asked["skipped"] = ""
    app.run()
    assert len(payload(app, "requests")["lit"]["hashes"]) == 2


@pytest.mark.parametrize(
    ("typed", "is_right"),
    [("33.0", True), ("33,0", True), ("33 %", True), ("32.9", False), ("33.1", False)],
)
def test_a_share_is_right_as_it_is_printed_with_a_point_or_a_comma(typed, is_right):
    study = reading("20", "rate")
    study.answer(typed, TEXT)
    assert study.answers["rate"].is_right == is_right


@pytest.mark.parametrize("typed", ["about 33", "1,000", "3 3", "--5"])
def test_what_is_no_number_is_told_how_one_is_written(typed):
    study = reading("20", "rate")
    study.answer(typed, TEXT)
    assert study.complaint == f"“{typed}” is not a number: write it in digits, such as 48 or 33.0"
