"""Reading a lesson: what is asked, what an answer is worth, and how far the run may be seen."""

import pytest

from engine.trace.state import Cursor
from lessons.grading import Grade
from lessons.library import load_lesson
from views.choices import Choices
from views.study import SKIPPED, Study
from views.studying import ACTIONS, done_code, find, reach, read_done, read_link, show, syllabus
from views.text import Text
from views.widgets.lesson import lesson_payload

TEXT = Text("en")


@pytest.fixture
def study() -> Study:
    """Lesson 6: how many blocks does a prompt of 15 letters get?"""
    return Study(load_lesson("6"))


def test_while_a_question_is_open_the_run_ends_at_its_moment(study):
    study.turn(0)
    assert study.is_open
    assert study.visible.num_positions - 1 == study.visible.position(study.place(study.here.at))
    state = study.visible.at(study.visible.last)
    assert not any(block.ref_cnt for id_, block in state.blocks.items() if id_)


def test_a_right_answer_is_graded_by_the_engine_and_the_run_goes_on(study):
    study.turn(0)
    study.answer(" 4 ", TEXT)
    found = study.answers["blocks"]
    assert isinstance(found, Grade)
    assert (found.is_right, found.answer) == (True, 4)
    assert study.motion is not None
    assert study.visible.position(study.motion.to) > study.visible.position(Cursor(0, 1))


def test_a_wrong_answer_gets_the_sentence_of_its_own_mistake(study):
    study.turn(0)
    study.answer("3", TEXT)
    found = study.answers["blocks"]
    assert isinstance(found, Grade)
    assert (found.is_right, found.text) == (False, "blocks.wrong.rounded_down")


@pytest.mark.parametrize("given", ["", "four", "nan", "1e999", "4 blocks", "٤٤x"])
def test_what_is_no_number_gets_a_sentence_and_the_question_stays_open(study, given):
    study.turn(0)
    study.answer(given, TEXT)
    assert study.is_open
    assert study.complaint
    assert study.typed == given


def test_a_block_is_clicked_and_a_second_click_takes_it_back(study):
    study.turn(1)
    study.pick(7)
    study.pick(4)
    assert study.picks == [4]
    study.pick(4)
    assert study.picks == []
    study.answer(None, TEXT)
    assert study.is_open, "nothing was clicked"
    study.pick(4)
    study.answer(None, TEXT)
    assert study.answers["last_block"].is_right


def read_to_the_end(name: str) -> Study:
    """All questions skipped, at the last text."""
    study = Study(load_lesson(name))
    for index, _ in enumerate(study.loaded.lesson.chunks):
        study.turn(index)
        study.skip()
    return study


def test_what_came_later_is_told_where_no_question_is_left():
    study = Study(load_lesson("14"))
    study.turn(0)
    (badge,) = lesson_payload(study, TEXT)["badges"]
    assert (badge["text"], badge["switch"]) == ([], None)
    read = read_to_the_end("14")
    (badge,) = lesson_payload(read, TEXT)["badges"]
    assert badge["text"]
    assert not badge["switch"]["is_on"]
    read.turn(2)  # it asks, and its answer is about 0.17.1
    assert lesson_payload(read, TEXT)["badges"][0]["switch"] is None


def test_a_badge_switches_to_the_later_run_and_back():
    chosen = Choices(study=read_to_the_end("14"))
    assert chosen.study.scenario == "seven"
    ACTIONS["later"](chosen, None, "partial_tails")
    assert chosen.study.scenario == "seven_later"
    later = show(chosen).trace
    assert list(later.at(chosen.cursor).free_queue()) == [3, 4, 5, 6, 7, 2, 1]
    chosen.study.turn(3)
    assert chosen.study.scenario == "three"
    ACTIONS["later"](chosen, None, "partial_tails")
    assert chosen.study.scenario == "three_later"
    ACTIONS["later"](chosen, None, "partial_tails")
    assert chosen.study.scenario == "three"


def test_blocks_are_put_in_order():
    study = Study(load_lesson("10"))
    index = next(
        i for i, chunk in enumerate(study.loaded.lesson.chunks) if chunk.predict == "freed"
    )
    study.turn(index)
    for block_id in (3, 4, 5):
        study.pick(block_id)
    assert study.picks == [3, 4, 5]
    study.answer(None, TEXT)
    found = study.answers["freed"]
    assert (found.is_right, found.answer, found.text) == (False, (5, 4, 3), "freed.wrong.forward")


def test_a_skipped_question_shows_what_the_engine_does(study):
    study.turn(0)
    study.skip()
    assert study.answers == {"blocks": SKIPPED}
    assert not study.is_open
    assert study.motion is not None


def test_nobody_turns_past_a_question_that_is_open(study):
    chosen = Choices(study=study)
    study.turn(0)
    assert reach(study) == 0
    ACTIONS["turned"](chosen, None, 1)
    assert study.chunk == 0
    ACTIONS["skipped"](chosen, None, "blocks")
    ACTIONS["turned"](chosen, None, 1)
    assert study.chunk == 1


def test_every_lesson_can_be_read_to_its_end_by_skipping():
    for loaded in syllabus():
        chosen = Choices()
        ACTIONS["lesson"](chosen, None, loaded.name)
        study = chosen.study
        assert study is not None
        for index in range(len(loaded.lesson.chunks)):
            assert study.chunk == index
            begun = show(chosen)
            assert begun is not None
            assert begun.trace.clamp(chosen.cursor) == chosen.cursor
            if study.is_open:
                ACTIONS["skipped"](chosen, None, "")
            ACTIONS["turned"](chosen, None, index + 1)
        assert study.is_over
        assert chosen.done == {loaded.lesson.number}


def test_the_engines_own_answers_are_right_in_every_lesson():
    from lessons.grading import answer_of

    for loaded in syllabus():
        study = Study(loaded)
        for index, chunk in enumerate(loaded.lesson.chunks):
            study.turn(index)
            if chunk.predict is None:
                continue
            prediction = loaded.lesson.predictions[chunk.predict]
            answer = answer_of(loaded.lesson, chunk.predict, study.traces)
            if prediction.kind == "block":
                study.pick(answer)
            elif prediction.kind == "order":
                for block_id in answer:
                    study.pick(block_id)
            study.answer(str(answer), TEXT)
            found = study.answers.get(chunk.predict)
            assert isinstance(found, Grade), (loaded.name, chunk.predict, study.complaint)
            assert found.is_right, (loaded.name, chunk.predict)


# A run of one's own -----------------------------------------------------------------------------


def test_a_changed_run_is_graded_as_rightly_as_the_original(study):
    study.turn(0)
    study.change({"settings": {"block_size": "8"}, "prompts": {"r0": "ABCDEFGHIJ"}}, TEXT)
    assert study.change_complaint == ""
    study.answer("4", TEXT)
    assert (study.answers["blocks"].is_right, study.answers["blocks"].answer) == (False, 2)
    study.forget_own()
    study.answer("4", TEXT)
    assert study.answers["blocks"].is_right


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"settings": {"block_size": "0"}}, "block_size"),
        ({"settings": {"num_blocks": "9999999"}}, "at most 10000"),
        ({"settings": {"num_blocks": "many"}}, "many"),
        ({"prompts": {"r0": ""}}, "empty"),
        ({"outputs": {"r0": ""}}, "the answer of r0"),
        ({"prompts": {"r0": "x" * 3000}}, "at most 2000"),
    ],
)
def test_a_change_that_cannot_be_gets_a_sentence_and_loses_nothing(study, sent, said):
    study.turn(0)
    study.change(sent, TEXT)
    assert said in study.change_complaint
    assert study.own == {}
    assert study.typed_change == sent


def test_where_a_changed_run_has_no_such_moment_the_question_can_be_skipped():
    study = Study(load_lesson("10"))
    study.turn(1)
    study.change({"prompts": {"r1": "other words here"}}, TEXT)
    study.answer("8", TEXT)
    assert (study.answers["r1_cached"].is_right, study.answers["r1_cached"].answer) == (False, 0)


# The link -----------------------------------------------------------------------------------------


def test_a_link_brings_a_reader_back_to_a_text_and_to_what_is_done():
    chosen = Choices()
    read_link(chosen, {"lesson": "06-prefill", "chunk": "3", "done": done_code({6, 10})})
    assert chosen.study is not None
    assert chosen.study.here.id == "taken"
    assert chosen.done == {6, 10}
    assert show(chosen).link["chunk"] == "3"


@pytest.mark.parametrize("given", ["0", "-1", "99", "1000000000000", "x", "", "٣"])
def test_a_text_that_is_not_there_gets_a_sentence(given):
    chosen = Choices()
    read_link(chosen, {"lesson": "6", "chunk": given})
    assert chosen.study.chunk == 0
    assert "which has 8" in chosen.notices["note"]


def test_a_lesson_that_is_not_there_gets_a_sentence():
    chosen = Choices()
    read_link(chosen, {"lesson": "<b>99</b>"})
    assert chosen.study is None
    assert "<b>99</b>" in chosen.notices["note"]


@pytest.mark.parametrize("code", ["", "xyz", "-1", "0", "__", "ffffffffffffffffffff"])
def test_a_progress_that_is_none_does_no_harm(code):
    assert read_done(code) <= {each.lesson.number for each in syllabus()}


def test_a_lesson_is_found_by_its_number_or_its_name():
    assert find("6") is find("06-prefill")
    assert find("06") is None


def test_nothing_says_which_block_is_next_while_that_is_asked(study):
    from views.figures.cache.pool import pool
    from views.figures.cache.queue import queue
    from views.figures.moment import moment_at

    moment = moment_at(study.loaded.traces["docs"], Cursor(0, 0))
    assert queue(moment, TEXT)["victim"]
    assert (
        queue(moment, TEXT, tells_next=False)["victim"],
        queue(moment, TEXT, tells_next=False)["victim_block"],
    ) == ("", None)
    assert pool(moment, TEXT)["summary"]
    assert pool(moment, TEXT, counts=False)["summary"] == ""
    study.turn(0)
    assert not study.asks_for_blocks, "a number is asked for"
    study.turn(1)
    assert study.asks_for_blocks
    study.pick(4)
    study.answer(None, TEXT)
    assert not study.asks_for_blocks


def test_the_next_text_speaks_of_0_17_1_again():
    chosen = Choices()
    ACTIONS["lesson"](chosen, None, "14")
    study = chosen.study
    for _ in study.loaded.lesson.chunks:
        if study.is_open:
            ACTIONS["skipped"](chosen, None, "")
        ACTIONS["later"](chosen, None, study.loaded.lesson.badges[0].id)
        assert study.variants
        ACTIONS["turned"](chosen, None, study.chunk + 1)
        assert study.variants == set()
