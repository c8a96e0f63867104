"""A lesson whose reader changed its scenario: nothing of the recorded run is said as if true of theirs."""

import msgspec
import pytest

from engine.trace.trace import Trace
from lessons.changed import changeable
from lessons.errors import FactError
from lessons.grading import answer_of
from lessons.library import all_lessons, load_lesson
from lessons.recorded_words import names_recorded
from lessons.text import parse_words
from views.choices import Choices
from views.own_words import scene_on_stage
from views.studying import ACTIONS, read_link
from views.text import Text
from views.widgets.lesson import lesson_payload

TEXT = Text("en")
LESSON = load_lesson("6").lesson
LETTERS = {"settings": {}, "prompts": {"r0": "ABCDEFGHIJKLMNOPQRSTU"}, "outputs": {}}


def reading(lesson: str, sent=None) -> Choices:
    chosen = Choices()
    ACTIONS["lesson"](chosen, None, lesson)
    if sent is not None:
        ACTIONS["changed"](chosen, None, sent)
        assert chosen.study.change_complaint == ""
    return chosen


def said(paragraphs) -> str:
    return " ".join("".join(text for _, text in each["spans"]) for each in paragraphs)


def drawn(chosen: Choices) -> dict:
    return lesson_payload(chosen.study, TEXT)


def test_the_letter_that_lesson_6_asks_for_is_the_one_of_the_changed_prompt():
    chosen = reading("6", LETTERS)
    text = said(drawn(chosen)["text"])
    assert "A request arrives: ABCDEFGHIJKLMNOPQRSTU." in text
    assert "the prompt has 21" in text
    ACTIONS["skipped"](chosen, None, "")
    ACTIONS["turned"](chosen, None, 1)
    assert "begins with the letter U" in said(drawn(chosen)["question"]["text"])
    ACTIONS["picked"](chosen, None, 6)
    ACTIONS["answered"](chosen, None, None)
    verdict = drawn(chosen)["verdict"]
    assert (verdict["kind"], verdict["title"]) == ("right", "Right: 6")


def test_over_a_text_that_counts_or_names_letters_stands_what_it_was_written_for():
    assert drawn(reading("10"))["written"] == ""
    changed = reading("10", {"prompts": {"r0": "ABCDEFGHIJKLMN"}})  # "the letters A to O"
    assert drawn(changed)["written"].startswith("Written for the recorded run.")


def test_over_a_text_whose_words_are_all_computed_stands_nothing():
    changed = drawn(reading("6", LETTERS))
    assert "the prompt has 21" in said(changed["text"])
    assert changed["written"] == ""


def test_what_later_versions_do_is_told_of_the_own_run_and_shown_with_it():
    sent = {"settings": {"block_size": 8}, "prompts": {"A": "ABCDEFGHIJKLMNOPQRS"}}
    chosen = reading("13", sent)
    ACTIONS["skipped"](chosen, None, "")
    ACTIONS["turned"](chosen, None, 1)
    (badge,) = drawn(chosen)["badges"]
    assert "reads 3, 4, 5, 6, 7, 8, 2, 1 instead of 4, 5, 6, 7, 8, 3, 2, 1." in said(badge["text"])
    assert "Written for the recorded run. " in said(badge["text"])
    ACTIONS["later"](chosen, None, "partial_tails")
    assert chosen.study.scenario == "five_later"
    later = chosen.study.traces["five_later"]
    assert list(later.at(later.last).requests["A"].added.prompt_token_ids[-1:]) == [ord("S")]
    ACTIONS["recorded"](chosen, None, None)
    assert chosen.study.own == {}
    assert chosen.study.changes == {}


def test_where_nobody_is_preempted_later_versions_count_none_either():
    chosen = reading("15", {"settings": {"num_blocks": "13"}})
    chosen.study.turn([chunk.id for chunk in chosen.study.loaded.lesson.chunks].index("apart"))
    (badge,) = drawn(chosen)["badges"]
    told = "then 0 tokens are asked and 0 hit here, instead of 0 and 0."
    assert told in said(badge["text"])
    ACTIONS["later"](chosen, None, "counted_once")
    assert chosen.study.scenario == "main_later"
    assert drawn(chosen)["badges"][0]["switch"]["is_on"]


def test_a_text_that_holds_however_it_is_changed_says_so_and_is_not_excused():
    loaded = load_lesson("7")
    words = loaded.words("en")
    assert "third block" in words.plain("third_block.question", {})
    assert not names_recorded(loaded.lesson, words, "third_block.question", ())
    assert names_recorded(LESSON, words, "third_block.question", ())


def test_a_moment_that_the_own_run_does_not_have_is_named_as_one():
    chosen = reading("6", {"prompts": {"r0": "AB"}, "outputs": {"r0": "C"}})  # it fills no block
    chosen.study.turn(3)
    assert chosen.study.here.id == "hashed"
    assert "a moment of the recorded run that yours does not have" in drawn(chosen)["written"]


def test_a_mistake_that_was_known_by_a_recorded_value_is_none_in_another_run():
    recorded, own = reading("6"), reading("6", LETTERS)
    for chosen in (recorded, own):
        ACTIONS["answered"](chosen, None, "5")
    assert recorded.study.answers["blocks"].text == "blocks.wrong.article"
    # 21 // 4 is 5: in this run it is the mistake of whoever rounds down
    assert own.study.answers["blocks"].text == "blocks.wrong.rounded_down"


def test_the_letter_of_lesson_2_is_that_of_the_changed_prompt_in_question_and_verdict():
    chosen = reading("2", {"prompts": {"r": "ZYXWVUTSRQPONM"}})
    chosen.study.turn(1)
    assert "the letter Q live" in said(drawn(chosen)["question"]["text"])
    ACTIONS["picked"](chosen, None, 4)
    ACTIONS["answered"](chosen, None, None)
    sentence = said(drawn(chosen)["verdict"]["sentence"])
    assert sentence.startswith("That block comes one place later in the table. Q is at position 9")


def test_a_sentence_about_recorded_letters_gives_way_to_one_that_holds_in_any_run():
    chosen = reading("10", {"prompts": {"r0": "ABCDEFGHIJKLMN"}})
    chosen.study.turn(1)
    ACTIONS["answered"](chosen, None, "10")  # "the block with I and J ends with other letters"
    verdict = drawn(chosen)["verdict"]
    assert said(verdict["sentence"]).startswith("So it was in your run.")


QUESTIONS = {  # what a reader types into the form, and what the question then says
    "5": ({"prompts": {"r0": "ABCDEFGHI"}}, "first", "arrives, with 9 tokens"),
    "9": ({"prompts": {"a": "abcdefghijk", "b": "abcdefghijk"}}, "last_of_b", "the letter i, with"),
}


@pytest.mark.parametrize("lesson", QUESTIONS)
def test_a_question_names_the_letters_and_counts_of_the_changed_run(lesson):
    sent, question, words = QUESTIONS[lesson]
    chosen = reading(lesson)
    chunks = chosen.study.loaded.lesson.chunks
    chosen.study.turn([chunk.predict for chunk in chunks].index(question))
    ACTIONS["changed"](chosen, None, sent)
    assert words in said(drawn(chosen)["question"]["text"])


def test_no_question_names_a_letter_or_a_count_that_a_reader_may_change():
    asked = {
        f"{loaded.name[:2]} {name}"
        for loaded in all_lessons()
        for name in loaded.lesson.predictions
        if names_recorded(loaded.lesson, loaded.words("en"), f"{name}.question", ())
        and changeable(loaded, loaded.lesson.scenario_of_prediction(name))[1]
    }
    assert asked == {"16 which"}  # of the two twins: unless somebody changes one of them


def test_answers_to_questions_before_are_held_against_the_new_run_and_then_the_old():
    chosen = reading("6")
    ACTIONS["answered"](chosen, None, "4")
    ACTIONS["turned"](chosen, None, 1)
    ACTIONS["changed"](chosen, None, LETTERS)
    before = chosen.study.answers["blocks"]
    assert (before.is_right, before.given, before.answer) == (False, 4, 6)
    ACTIONS["recorded"](chosen, None, True)
    assert chosen.study.answers["blocks"].is_right


@pytest.mark.parametrize(
    ("text", "is_recorded"),
    [
        ("Two blocks hit.", True),
        ("It ends with J.", True),
        ("The letters A to O.", True),
        ("`19` tokens", True),
        ("Block `7`", True),
        ("{there} tokens", False),
        ("{gone} tokens", True),
        ("{third} and {A}", False),
        (
            "K and V of `r1` are there. A hash stands for a block; `block 0` is the null block.",
            False,
        ),
    ],
)
def test_words_name_the_recorded_run_where_they_name_its_letters_or_counts(text, is_recorded):
    words = parse_words(f"# Title\n## key\n{text}", "here")
    assert names_recorded(LESSON, words, "key", {"gone"}) is is_recorded


def test_a_run_of_ones_own_is_run_again_where_the_page_is_loaded_anew():
    chosen = reading("6", LETTERS)
    ACTIONS["answered"](chosen, None, "6")
    kept = drawn(chosen)["progress"]
    assert kept["changes"] == {"docs": LETTERS}
    again = Choices()
    read_link(again, {"lesson": "6", "chunk": "1"})
    ACTIONS["repeated"](again, None, kept["changes"])
    ACTIONS["recalled"](again, None, kept["answers"])
    assert again.study.traces["docs"].num_steps == chosen.study.traces["docs"].num_steps
    assert again.study.answers["blocks"].is_right
    assert again.notices["note"].startswith("The page was loaded anew, and your own run was run")
    ACTIONS["recorded"](again, None, True)
    assert drawn(again)["progress"]["changes"] == {}


def test_a_run_on_the_real_model_is_offered_again_and_not_begun():
    loaded = load_lesson("9")
    place = [chunk.scenario for chunk in loaded.lesson.chunks].index("model")
    chosen = Choices()
    read_link(chosen, {"lesson": "9", "chunk": str(place + 1)})
    ACTIONS["repeated"](chosen, None, {"model": {"prompts": {"r0": "Why is the sea blue?"}}})
    assert chosen.study.own == {}
    assert "recorded run again" in chosen.notices["note"]
    assert drawn(chosen)["change"]["requests"][0][1] == "Why is the sea blue?"


@pytest.mark.parametrize(
    "sent", [None, 7, {"nowhere": {}}, {"docs": 3}, {"docs": {"settings": {"block_size": "0"}}}]
)
def test_a_form_that_no_browser_of_ours_kept_does_no_harm(sent):
    chosen = Choices()
    read_link(chosen, {"lesson": "6", "chunk": "1"})
    ACTIONS["repeated"](chosen, None, sent)
    assert chosen.study.own == {}


def test_a_changed_run_that_ends_with_its_scenario_is_said_to_and_the_form_is_the_recorded_one_again():
    chosen = reading("13", {"settings": {"num_blocks": "12"}})
    chosen.study.skip()
    ACTIONS["turned"](chosen, None, 1)
    here = lesson_payload(chosen.study, TEXT)
    assert ["num_blocks", "Blocks in the pool", "12"] in here["change"]["settings"]
    ACTIONS["turned"](chosen, None, 2)
    here = lesson_payload(chosen.study, TEXT)
    assert ["num_blocks", "Blocks in the pool", "9"] in here["change"]["settings"]
    assert here["written"].endswith("“The stranger takes six”, which stands here as recorded.")
    ACTIONS["turned"](chosen, None, 1)
    here = lesson_payload(chosen.study, TEXT)
    assert ["num_blocks", "Blocks in the pool", "12"] in here["change"]["settings"]


def test_a_large_answer_is_written_as_the_text_writes_it():
    chosen = Choices()
    read_link(chosen, {"lesson": "4", "chunk": "8"})
    ACTIONS["answered"](chosen, None, "368640")
    verdict = drawn(chosen)["verdict"]
    assert verdict["title"] == "Right: 368,640"
    assert said(verdict["sentence"]).endswith("and 30 times that is 368,640.")


def test_sizes_of_the_small_model_are_asked_of_that_model_alone():
    loaded = load_lesson("4")
    trace = loaded.traces["model"]
    header = msgspec.structs.replace(trace.header, model="another", dtype="float32")
    other = Trace(header)
    other.extend(trace.events_from(0))
    with pytest.raises(FactError, match=r"and another ran in float32"):
        answer_of(loaded.lesson, "model_block", {**loaded.traces, "model": other})


def test_the_stage_is_headed_by_whose_run_it_shows():
    assert scene_on_stage(reading("6").study, TEXT).endswith("block_size 4")
    assert scene_on_stage(reading("6", LETTERS).study, TEXT).endswith("block_size 4 (your run)")
    alone = reading("5", {"prompts": {"r0": "ABCDEFGHI"}})  # a lesson with one run names none
    assert scene_on_stage(alone.study, TEXT) == "your run"
