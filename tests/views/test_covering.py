"""What a lesson keeps from its reader: parts that come later, and what would answer a question."""

import msgspec
import pytest

from lessons.library import load_lesson
from views.choices import LENSES
from views.components.piece import gathering, piece, withholding
from views.covering import KEYS, keeps_next, withheld
from views.study import Study
from views.studying import syllabus
from views.text import Text
from views.widgets.lesson import lesson_payload

TEXT = Text("en")
COVERED = "Covered until the question is answered or skipped."


def reading(name: str, chunk: str) -> Study:
    study = Study(load_lesson(name))
    study.turn([each.id for each in study.loaded.lesson.chunks].index(chunk))
    return study


def test_the_cards_are_covered_where_they_cut_a_waiting_prompt_into_the_blocks_asked_for():
    study = reading("6", "arrives")
    kept = withheld(study, TEXT)
    assert kept["requests"] == {"withheld": COVERED, "title": "Requests"}
    assert kept["card"] == {"withheld": ""}
    assert "pool" not in kept
    study.skip()
    assert withheld(study, TEXT) == {}


def test_no_block_of_j_stands_on_the_stage_while_it_is_asked_for():
    study = reading("2", "read")
    state = study.visible.at(study.visible.last)
    assert state.requests["r"].block_tables == ((),) or not any(state.requests["r"].block_tables)
    assert {"requests", "queue", "tables"} <= withheld(study, TEXT).keys()


@pytest.mark.parametrize("name", [loaded.name for loaded in syllabus()])
def test_an_open_question_leaves_no_lens_but_the_one_its_text_opened(name):
    study = Study(load_lesson(name))
    for index, chunk in enumerate(study.loaded.lesson.chunks):
        study.turn(index)
        if chunk.predict is None:
            continue
        kept = withheld(study, TEXT)
        assert {each for each in LENSES if each not in kept} <= {chunk.lens}
        assert kept["card"] == {"withheld": ""}


def test_parts_come_in_one_after_the_other_in_the_first_lesson():
    kept = [
        {
            part
            for part, keys in KEYS.items()
            if withheld(study, TEXT).get(keys[0]) == {"withheld": ""}
        }
        for study in (reading("1", each) for each in ("why_reserve", "tails", "woven", "external"))
    ]
    assert kept[0] == set(KEYS)
    assert kept[1] == {"lens", "queue", "tables", "story"}
    assert kept[2] == {"lens", "story"}
    assert kept[3] == {"lens"}
    assert lesson_payload(reading("1", "why_reserve"), TEXT)["is_alone"]
    assert not lesson_payload(reading("1", "tails"), TEXT)["is_alone"]


def test_a_lesson_that_is_over_keeps_nothing_back():
    study = reading("1", "external")
    study.turn(len(study.loaded.lesson.chunks))
    assert withheld(study, TEXT) == {}


def test_a_text_that_hides_the_lens_does_not_cover_it_while_it_asks():
    assert withheld(reading("1", "rows"), TEXT)["lenses"] == {"withheld": ""}


def test_what_is_kept_back_never_leaves_the_server():
    with (
        gathering(sends=False) as drawn,
        withholding({"tables": {"withheld": "later", "title": "T"}}),
    ):
        piece("tables", {"rows": [7, 2, 19, 4]})
        piece("pool", {"cells": []})
    assert msgspec.json.decode(drawn.parts["tables"]) == {"withheld": "later", "title": "T"}
    assert msgspec.json.decode(drawn.parts["pool"]) == {"cells": []}


def test_the_next_block_is_not_told_while_a_question_about_blocks_is_still_to_come():
    study = reading("5", "null_block")  # a number is asked for, and the block in the next text
    assert keeps_next(study)
    study = reading("5", "tensors")
    study.answers = dict.fromkeys(("usable", "slots"), "skipped")
    assert keeps_next(study)
    study.pick(1)
    study.answer(None, TEXT)
    assert not keeps_next(study)
    assert not keeps_next(None)


def test_the_three_rows_are_drawn_to_one_scale():
    a, b, c = lesson_payload(reading("1", "rows"), TEXT)["bars"]
    assert (a["part"], b["part"], c["part"]) == (320 / 2048, 96 / 2048, 1180 / 2048)
    assert (a["whole"], c["words"]) == (1, "1,180 of 2,048 tokens")


def test_a_block_is_asked_for_in_the_pool_and_a_number_is_not():
    assert lesson_payload(reading("2", "read"), TEXT)["asks_in_pool"]
    assert not lesson_payload(reading("2", "slot"), TEXT)["asks_in_pool"]
    assert lesson_payload(reading("10", "walk"), TEXT)["asks_in_pool"]
