"""A run that its reader changed so far that something of the lesson does not happen in it."""

import pytest

from views.choices import Choices
from views.studying import ACTIONS, reach
from views.text import Text
from views.widgets.lesson import lesson_payload

TEXT = Text("en")
NOTHING_TO_PREDICT = (
    "Here the lesson asks about something that does not happen in your run: "
    "there is nothing to predict. Go on."
)
TOO_SMALL = {"settings": {"num_blocks": "3"}}  # two usable blocks for a prompt of four
ROOM_FOR_BOTH = {"settings": {"num_blocks": "12"}}


def reading(lesson: str, chunk: str, sent: dict) -> Choices:
    """At this text, in a run changed so."""
    chosen = Choices()
    ACTIONS["lesson"](chosen, None, lesson)
    places = [each.id for each in chosen.study.loaded.lesson.chunks]
    chosen.study.turn(places.index(chunk))
    ACTIONS["changed"](chosen, None, sent)
    assert chosen.study.change_complaint == ""
    return chosen


def drawn(chosen: Choices) -> dict:
    return lesson_payload(chosen.study, TEXT)


def said(paragraphs: list) -> str:
    return " ".join("".join(text for _, text in each["spans"]) for each in paragraphs)


def verdict_of(chosen: Choices, given: object) -> dict:
    ACTIONS["answered"](chosen, None, given)
    return drawn(chosen)["verdict"]


def test_a_prompt_that_is_never_given_a_block_is_not_asked_about_and_its_reader_goes_on():
    chosen = reading("6", "arrives", TOO_SMALL)
    page = drawn(chosen)
    assert page["question"] is None
    assert page["verdict"]["title"] == NOTHING_TO_PREDICT
    assert page["next"]["word"] == "Go on"
    assert reach(chosen.study) == len(chosen.study.loaded.lesson.chunks) - 2  # another scenario's
    ACTIONS["answered"](chosen, None, "4")
    assert chosen.study.answers == {}


def test_the_recorded_run_asks_again_what_the_own_run_did_not_answer():
    chosen = reading("6", "arrives", TOO_SMALL)
    ACTIONS["recorded"](chosen, None, True)
    assert drawn(chosen)["question"]["id"] == "blocks"
    assert verdict_of(chosen, "4")["title"] == "Right: 4"


@pytest.mark.parametrize(("given", "kind"), [("2", "right"), ("4", "wrong")])
def test_a_budget_of_8_tokens_gives_the_prompt_2_blocks_in_its_first_step(given, kind):
    chosen = reading(
        "6", "arrives", {"settings": {"max_num_batched_tokens": "8", "max_num_seqs": "4"}}
    )
    verdict = verdict_of(chosen, given)
    assert verdict["kind"] == kind
    assert "cdiv(8, 4)" in said(verdict["sentence"])


def test_usage_when_a_request_is_gone_is_asked_of_the_moment_it_goes_and_not_of_a_step():
    chosen = reading("12", "running", {"outputs": {"r0": "vwx"}})  # in step 1 it still runs
    assert verdict_of(chosen, "0")["kind"] == "right"


@pytest.mark.parametrize("chunk", ["before_the_model", "written"])
def test_a_text_about_what_did_not_happen_says_that_it_was_written_for_another_run(chunk):
    chosen = reading("6", chunk, TOO_SMALL)
    assert "more has happened by this moment than in yours" in drawn(chosen)["written"]
    same = reading("6", chunk, {"settings": {"num_blocks": "12"}})
    assert drawn(same)["written"] == ""


@pytest.mark.parametrize(
    ("chunk", "question"),
    [
        ("full_house", "victim"),
        ("thrown_out", "block_for_a"),
        ("waits", "next_step"),
        ("comes_back", "recomputed"),
        ("own_blocks", "table"),
    ],
)
def test_where_nobody_is_preempted_nothing_about_a_preemption_is_asked(chunk, question):
    chosen = reading("15", chunk, ROOM_FOR_BOTH)
    assert chosen.study.question == question
    page = drawn(chosen)
    assert (page["question"], page["verdict"]["title"]) == (None, NOTHING_TO_PREDICT)


def test_a_text_about_a_preemption_is_excused_where_there_was_none():
    assert drawn(reading("15", "head_of_line", ROOM_FOR_BOTH))["written"]


def test_the_third_block_of_a_longer_prompt_is_taken_when_it_is_taken():
    chosen = reading("7", "prefilled", {"prompts": {"r0": "ABCDEFGHI"}})  # three blocks at once
    assert verdict_of(chosen, "0")["kind"] == "right"


def test_the_parent_that_lesson_8_asks_for_is_that_of_the_changed_table():
    longer = {"prompts": {"b": "zBCDEFGHIJKLMNOPQRSTUVWXYZ"}}
    chosen = reading("8", "from_there_on", longer)
    assert "block 13's hash" in said(drawn(chosen)["question"]["text"])
    ACTIONS["picked"](chosen, None, 1)
    assert verdict_of(chosen, None)["title"] == "Right: 1"


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        (
            {"max_num_batched_tokens": "4", "max_num_seqs": "8"},
            "“Token budget of a step” (max_num_batched_tokens=4) is below "
            "“Requests that run at once” (max_num_seqs=8): "
            "raise it to 8 or lower “Requests that run at once” to 4",
        ),
        ({"block_size": "0"}, "“Tokens per block” (block_size=0) is out of range"),
        ({"num_blocks": "many"}, "“Blocks in the pool” (num_blocks=many) is not a whole number"),
    ],
)
def test_a_setting_that_cannot_be_is_named_as_its_field_is(settings, complaint):
    chosen = Choices()
    ACTIONS["lesson"](chosen, None, "6")
    ACTIONS["changed"](chosen, None, {"settings": settings})
    assert complaint in drawn(chosen)["change"]["complaint"]


def test_what_ten_requests_use_is_not_asked_where_the_budget_lets_fewer_run():
    chosen = reading(
        "9", "pirates", {"settings": {"max_num_batched_tokens": "16", "max_num_seqs": "16"}}
    )
    assert chosen.study.question == "ten_blocks"
    page = drawn(chosen)
    assert (page["question"], page["verdict"]["title"]) == (None, NOTHING_TO_PREDICT)
