"""What the browser keeps of the lessons, for a reader who comes back without the link."""

import pytest

from lessons.library import load_lesson
from views.choices import Choices
from views.figures.learning.syllabus import syllabus as drawn_syllabus
from views.study import SKIPPED, Study
from views.studying import ACTIONS, done_code, read_link, syllabus
from views.text import Text
from views.widgets.lesson import lesson_payload

TEXT = Text("en")


def test_a_reader_goes_on_at_the_text_and_with_the_answers_that_the_browser_kept():
    chosen = Choices()
    kept = {"done": done_code({1, 2}), "lesson": "06-prefill", "chunk": 2}
    ACTIONS["remembered"](chosen, None, kept)
    assert (chosen.done, chosen.left_at) == ({1, 2}, ("06-prefill", 2))
    drawn = drawn_syllabus(syllabus(), chosen.done, TEXT, chosen.left_at)
    assert drawn["go"] == "Go on with lesson 6, text 3"
    ACTIONS["resumed"](chosen, None, True)
    assert chosen.study.here.id == "taken"
    assert lesson_payload(chosen.study, TEXT)["progress"]["recalls"]
    ACTIONS["recalled"](chosen, None, {"blocks": 3, "last_block": None, "unknown": 4})
    answers = chosen.study.answers
    assert set(answers) == {"blocks", "last_block"}
    assert (answers["blocks"].is_right, answers["blocks"].answer) == (False, 4)
    assert answers["last_block"] == SKIPPED
    assert not lesson_payload(chosen.study, TEXT)["progress"]["recalls"]


def test_a_link_asks_the_browser_for_the_answers_and_a_lesson_begun_anew_does_not():
    chosen = Choices()
    read_link(chosen, {"lesson": "6", "chunk": "3"})
    assert chosen.study.recalls
    ACTIONS["lesson"](chosen, None, "06-prefill")
    ACTIONS["recalled"](chosen, None, {"blocks": 4})
    assert chosen.study.answers == {}


def test_an_order_is_kept_and_graded_again():
    chosen = Choices()
    read_link(chosen, {"lesson": "10", "chunk": "6"})
    ACTIONS["recalled"](chosen, None, {"freed": [3, 4, 5]})
    assert chosen.study.answers["freed"].text == "freed.wrong.forward"


@pytest.mark.parametrize(
    "sent",
    [None, 7, "x", {}, {"lesson": 6}, {"lesson": "06-prefill", "chunk": "2"}, {"done": "zz"}],
)
def test_what_no_browser_of_ours_kept_does_no_harm(sent):
    chosen = Choices()
    ACTIONS["remembered"](chosen, None, sent)
    assert (chosen.done, chosen.left_at) == (set(), None)


@pytest.mark.parametrize("given", [{"a": 1}, ["x"], [[1]], ["1", 2]])
def test_an_answer_that_can_have_been_none_is_left_out(given):
    chosen = Choices()
    read_link(chosen, {"lesson": "6", "chunk": "3"})
    ACTIONS["recalled"](chosen, None, {"blocks": given})
    assert chosen.study.answers == {}


def test_behind_the_end_of_a_lesson_one_goes_on_with_the_next_that_is_not_done():
    chosen = Choices()
    num_texts = len(load_lesson("12").lesson.chunks)
    kept = {"done": done_code({1, 2, 3, 12, 13}), "lesson": "12-freed-not-forgotten"}
    ACTIONS["remembered"](chosen, None, kept | {"chunk": num_texts})
    assert chosen.left_at == ("14-cliff", 0)
    drawn = drawn_syllabus(syllabus(), chosen.done, TEXT, chosen.left_at)
    assert drawn["go"] == "Go on with lesson 14"
    assert [c["number"] for p in drawn["parts"] for c in p["cards"] if c["is_next"]] == [14]
    ACTIONS["resumed"](chosen, None, True)
    assert (chosen.study.loaded.lesson.number, chosen.study.chunk) == (14, 0)


def test_behind_the_last_lesson_one_goes_on_with_the_first_that_was_left_out():
    chosen = Choices(done={1, 2, 3, 23})
    ACTIONS["lesson"](chosen, None, "23")
    for index in range(len(chosen.study.loaded.lesson.chunks)):
        ACTIONS["skipped"](chosen, None, "")
        ACTIONS["turned"](chosen, None, index + 1)
    ACTIONS["left_lesson"](chosen, None, True)
    assert chosen.left_at[0].startswith("04-")


def test_the_way_on_says_which_lesson_it_means():
    assert drawn_syllabus(syllabus(), {1, 3}, TEXT)["go"] == "Go on with lesson 2"
    assert drawn_syllabus(syllabus(), set(), TEXT)["go"] == "Start with lesson 1"


def test_who_leaves_a_lesson_on_its_way_finds_the_way_back_in_the_list():
    chosen = Choices()
    read_link(chosen, {"lesson": "6", "chunk": "3"})
    ACTIONS["left_lesson"](chosen, None, True)
    assert chosen.left_at == ("06-prefill", 2)


def test_what_was_left_out_counts_neither_as_right_nor_as_wrong():
    chosen = Choices()
    ACTIONS["lesson"](chosen, None, "06-prefill")
    for index, given in enumerate(("4", "", "1", "", "", "", "9", "")):
        ACTIONS["answered"](chosen, None, given) if given else ACTIONS["skipped"](chosen, None, "")
        ACTIONS["turned"](chosen, None, index + 1)
    end = lesson_payload(chosen.study, TEXT)["ending"]
    assert end["sum"] == "You predicted 1 of 3 rightly, and left out 1."


def test_a_thread_stands_once_at_the_end():
    for loaded in syllabus():
        study = Study(loaded)
        study.turn(len(loaded.lesson.chunks))
        end = lesson_payload(study, TEXT)["ending"]
        named = [thread for thread, *_ in end["threads"]]
        for question in end["questions"]:
            assert not {thread for thread, _ in question["threads"]} & set(named)
        assert bool(named) == bool(end["threads_title"])


def test_the_end_of_a_lesson_answers_the_questions_that_it_was_about():
    chosen = Choices()
    ACTIONS["lesson"](chosen, None, "12")
    chosen.study.turn(len(chosen.study.loaded.lesson.chunks))
    usage, reset = lesson_payload(chosen.study, TEXT)["ending"]["questions"]
    assert usage["text"] == "The usage falls to zero after my request. Is the cache gone?"
    assert usage["answer"][0]["spans"][0][1].startswith("No.")
    assert reset["threads"] == [["vllm#12284", "https://github.com/vllm-project/vllm/issues/12284"]]
