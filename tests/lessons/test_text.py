"""From en.md to plain pieces."""

import pytest

from lessons.errors import LessonError
from lessons.text import Paragraph, Span, parse_words, shown

WORDS = """\
# A *title*

## one
Two lines
are one *paragraph* of **several** `kinds` and {n} tokens.

### A heading
- first
- second, `f({n})`
that goes on

Then <b>no markup</b>.
"""


def test_lines_become_paragraphs_items_and_headings() -> None:
    paragraphs = parse_words(WORDS, "en.md").texts["one"]
    kinds = [paragraph.kind for paragraph in paragraphs]
    assert kinds == ["paragraph", "heading", "item", "item", "paragraph"]


def test_spans_keep_their_kind_and_get_their_numbers() -> None:
    first, _, _, item, last = parse_words(WORDS, "en.md").filled("one", {"n": 12})
    assert first == Paragraph(
        "paragraph",
        (
            Span("plain", "Two lines are one "),
            Span("emphasis", "paragraph"),
            Span("plain", " of "),
            Span("strong", "several"),
            Span("plain", " "),
            Span("code", "kinds"),
            Span("plain", " and 12 tokens."),
        ),
    )
    assert item.spans[1] == Span("code", "f(12)")
    assert item.spans[2].text == " that goes on"
    assert last.spans == (Span("plain", "Then <b>no markup</b>."),)


@pytest.mark.parametrize(
    ("lines", "paragraph"),
    [
        ("two\nlines", "two lines"),
        ("ブロックは\n満ちる。", "ブロックは満ちる。"),
        ("これは\nblock table です。", "これは block table です。"),
        ("块已满。\n下一块", "块已满。下一块"),
    ],
)
def test_lines_meet_without_a_space_where_the_script_has_none(lines: str, paragraph: str) -> None:
    assert parse_words(f"# T\n## a\n{lines}", "ja.md").plain("a", {}) == paragraph


def test_a_label_is_one_line() -> None:
    assert parse_words(WORDS, "en.md").plain("title", {}) == "A title"


def test_what_a_value_says_is_no_markup() -> None:
    (paragraph,) = parse_words("# T\n## a\nSay {x}.", "en.md").filled("a", {"x": "*{n}*"})
    assert paragraph.spans == (Span("plain", "Say *{n}*."),)


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        (8, "", "8"),
        (1080754176, "", "1,080,754,176"),
        (7612796825101418261, "bare", "7612796825101418261"),
        ((1, 2, 6), "", "[1, 2, 6]"),
        ((1, 2, 6), "list", "1, 2, 6"),
        ((1, 2, 6), "count", "3"),
        (0.7, "percent", "70%"),
        (0.740234375, "percent1", "74.0%"),
        (0.0025, "percent2", "0.25%"),
        (64.41796875, "decimal1", "64.4"),
        (25938100224, "gib", "24.157 GiB"),
        ("1973e23848344dc4", "hash", "#344dc4"),
        (False, "", "False"),
    ],
)
def test_forms(value: object, form: str, text: str) -> None:
    assert shown(value, form) == text


@pytest.mark.parametrize("text", ["SHA-256", "`block 0`", "`0.17.1`", "{n}", "r0"])
def test_digits_that_are_part_of_a_name_or_of_code(text: str) -> None:
    assert parse_words(f"# T\n## a\n{text}", "en.md").texts["a"]


@pytest.mark.parametrize("text", ["満杯は3個", "第2步", "{n}個と9個", "4 blocks"])
def test_digits_typed_into_prose_are_refused_in_every_script(text: str) -> None:
    with pytest.raises(LessonError, match="is typed into the prose"):
        parse_words(f"# T\n## a\n{text}", "ja.md")
