"""Whatever is wrong with a lesson is said in one sentence that names the file and the place."""

from pathlib import Path

import pytest

from lessons.errors import LessonError
from tests.lessons.builders import Draft

TOML = "07-small/lesson.toml: "

WRONG_TOML = {
    "not TOML": ("number = 7", "number 7", "this is not TOML"),
    "an unknown field": ("number = 7", "number = 7\ncolour = 1", "unknown field `colour`"),
    "a wrong type": ("answers = []", 'answers = "3"', "answers: Expected `array`, got `str`"),
    "a missing field": ('part = "B"', "#", "missing required field `part`"),
    "another number": ("number = 7", "number = 8", "the folder's name is 08-"),
    "a setting that does not exist": ("block_size = 4,", "page_size = 4,", "scenario main: "),
    "a setting out of range": ("num_blocks = 11", "num_blocks = 1", "num_blocks=1"),
    "no place": ('at = "start"', 'at = "later"', '"later" is not a place'),
    "no event": ("first BlocksTaken", "first BlocksEaten", "there is no event BlocksEaten"),
    "no question": ('predict = "table"', 'predict = "tabel"', "did you mean table?"),
    "a question that nobody asks": ('predict = "table"', "", "no chunk asks it"),
    "no check": ("num_blocks_for_prompt", "num_blocks_of_prompt", "did you mean num_blocks_for"),
    "a check without an argument": (
        'num_prompt_tokens", request = "r0"',
        'num_prompt_tokens"',
        "missing required field `request`; num_prompt_tokens(request)",
    ),
    "a check with another argument": (
        'name = "block_size"',
        'name = "block_size", at = "end"',
        "unknown field `at`; setting(name)",
    ),
    "a check at no place": (
        'at = "after first BlocksTaken about r0" }\n',
        'at = "soon" }\n',
        '"soon" is not a place',
    ),
    "a reason that is none": (
        'when = { check = "num_full',
        'when = { was = "num_full',
        "write one",
    ),
    "a thread that is none": ("threads = []", 'threads = ["12"]', "write such as vllm#12077"),
    "an unknown repository": (
        "threads = []",
        'threads = ["vlm#12"]',
        "the repositories are vllm, ",
    ),
    "options beside a number": ('unit = "blocks"', "options = { a = 1 }", "kind choice"),
    "two chunks of one name": ('id = "held"', 'id = "arrives"', "arrives stands there twice"),
    "a selection that is none": (
        'select = { request = "r0" }',
        "select = { row = 3 }",
        "write {block",
    ),
}


@pytest.mark.parametrize(("old", "new", "sentence"), WRONG_TOML.values(), ids=WRONG_TOML)
def test_a_wrong_lesson_toml(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    draft = Draft(tmp_path).replace("lesson.toml", old, new)
    with pytest.raises(LessonError) as error:
        draft.load()
    assert str(error.value).startswith(TOML)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


WRONG_WORDS = {
    "a typed number": ("A block holds {size}", "A block holds 4", "en.md:7: the number 4 is typed"),
    "an unknown value": (
        "holds {size}",
        "holds {sice}",
        "{sice} does not exist: did you mean size?",
    ),
    "an unknown form": ("{size}", "{size:roman}", "{size:roman}: the forms are"),
    "a missing text": ("## table.right", "## table.rigth", "text table.right is missing"),
    "an empty text": ("What a reader can do afterwards, in one sentence.", "", "goal is empty"),
    "a text that nobody shows": (
        "## goal",
        "## about\nThis.\n\n## goal",
        "nobody shows the text about",
    ),
    "a key twice": ("## held", "## goal", "the key goal stands in line 3 already"),
    "no title": ("# Small", "Small", 'the file begins with its title: "# Title"'),
    "half a mark": ("in one sentence", "in *one sentence", "a * or ` without its partner"),
    "half a brace": ("in one sentence", "in {one sentence", "a brace without its partner"),
    "an answer before it is given": (
        "arrives. A",
        "arrives {answer}. A",
        "{answer} does not exist",
    ),
}


@pytest.mark.parametrize(("old", "new", "sentence"), WRONG_WORDS.values(), ids=WRONG_WORDS)
def test_wrong_words(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    draft = Draft(tmp_path).replace("en.md", old, new)
    with pytest.raises(LessonError) as error:
        draft.load()
    assert str(error.value).startswith("07-small/en.md")
    assert sentence in str(error.value)


def test_a_second_language_needs_the_same_texts(tmp_path: Path) -> None:
    draft = Draft(tmp_path)
    (draft.folder / "ja.md").write_text("# 小さい\n\n## goal\n目標\n", encoding="utf-8")
    with pytest.raises(LessonError, match=r"07-small/ja\.md: the text arrives is missing"):
        draft.load()


def test_a_language_that_is_not_written_yet_is_english(tmp_path: Path) -> None:
    loaded = Draft(tmp_path).load()
    assert loaded.words("zh") == loaded.words("en")
    assert loaded.words("zh").plain("title", {}) == "Small"
