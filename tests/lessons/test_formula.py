"""What a wrong idea gives, as arithmetic with the values of a lesson: read, refused, computed."""

import pytest

from lessons.errors import FactError, LessonError
from lessons.formula import parse_formula, result
from lessons.grading import grade
from tests.lessons.builders import Draft

VALUES = {"tokens": 9, "size": 4, "queue": (5, 6, 7, 8), "nothing": 0, "text": "A"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("tokens - 1", 8),
        ("size * (tokens // size)", 8),
        ("2 * 3", 6),
        ("-tokens + 1", -8),
        ("queue[1:] + queue[:1]", (6, 7, 8, 5)),
        ("queue[::-1]", (8, 7, 6, 5)),
        ("queue[-1]", 8),
    ],
)
def test_numbers_and_lists(text, found):
    assert result(parse_formula(text, "here"), VALUES.__getitem__) == found


@pytest.mark.parametrize("text", ["tokens // nothing", "queue[7]", "queue + tokens", "text - 1"])
def test_what_this_run_has_no_value_for_is_no_mistake_in_it(text):
    with pytest.raises(FactError, match="has no value in this run"):
        result(parse_formula(text, "here"), VALUES.__getitem__)


@pytest.mark.parametrize(
    "text", ["", "tokens -", "tokens ** 9", "open('x')", "queue.x", "1.5", "'a' * 9", "[1, 2]", 7.5]
)
def test_what_is_no_formula_is_refused_with_its_place(text):
    with pytest.raises(LessonError, match=r"^here: "):
        parse_formula(text, "here")


def test_a_formula_finds_a_mistake_in_any_run_and_names_a_value_that_is_not_there(tmp_path):
    draft = Draft(tmp_path)
    was = 'when = { check = "num_full_prompt_blocks", request = "r0" }'
    draft.replace("lesson.toml", was, 'when = { formula = "tokens // size" }')
    loaded = draft.load()
    found = grade(loaded.lesson, "table", 2, loaded.traces, is_changed=True)
    assert found.text == "table.wrong.rounded_down"
    draft.replace("lesson.toml", "tokens // size", "tokns // size")
    with pytest.raises(LessonError, match="the value tokns does not exist: there are tokens, size"):
        draft.load()
