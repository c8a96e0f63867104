"""A lesson in a second language: a file of texts beside the English one, and nothing else."""

from pathlib import Path

import pytest

from lessons.__main__ import main
from lessons.errors import LessonError
from tests.lessons.builders import Draft
from views.study import Study
from views.text import Text
from views.widgets.lesson import lesson_payload

JA = """\
# ブロックの数

## goal
プロンプトにいくつのブロックが要るかを言える。

## arrives
{tokens} トークンのプロンプトが届く。ブロックには {size} 個入る。

## table.question
ブロックはいくつ渡されるか。

## table.right
{answer} 個。最後のものは満ちていないが、それもブロックだ。

## table.wrong.rounded_down
それは満ちる数だ。残りにもブロックが要る：{answer}。

## table.wrong
エンジンは {answer} 個渡す。

## held
ブロックは {table:list}。
"""


@pytest.fixture
def draft(tmp_path: Path) -> Draft:
    draft = Draft(tmp_path)
    (draft.folder / "ja.md").write_text(JA, encoding="utf-8")
    return draft


def said(paragraphs) -> str:
    return " ".join("".join(text for _, text in each["spans"]) for each in paragraphs)


def test_a_second_file_of_texts_is_a_second_language_and_passes_check(draft, tmp_path, capsys):
    assert draft.load().languages == ("en", "ja")
    assert main(["check"], root=tmp_path) == 0
    assert capsys.readouterr().err == ""


def test_the_page_speaks_it_with_the_same_numbers_and_the_same_grades(draft):
    study = Study(draft.load())
    study.turn(0)
    payload = lesson_payload(study, Text("ja"))
    assert payload["head"]["title"] == "ブロックの数"
    assert said(payload["text"]) == "9 トークンのプロンプトが届く。ブロックには 4 個入る。"
    assert said(payload["question"]["text"]) == "ブロックはいくつ渡されるか。"
    study.answer("2", Text("ja"))
    verdict = lesson_payload(study, Text("ja"))["verdict"]
    assert said(verdict["sentence"]) == "それは満ちる数だ。残りにもブロックが要る：3。"


def test_a_language_without_a_file_reads_english(draft):
    study = Study(draft.load())
    study.turn(0)
    payload = lesson_payload(study, Text("zh"))
    assert payload["head"]["title"] == "Small"
    assert said(payload["text"]) == "A prompt of 9 tokens arrives. A block holds 4."


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("## held\nブロックは {table:list}。\n", "", "07-small/ja.md: the text held is missing"),
        ("{tokens} トークン", "{token} トークン", "07-small/ja.md:6: arrives: the value {token}"),
        (
            "{tokens} トークン",
            "9 トークン",
            "07-small/ja.md:7: the number 9 is typed into the prose",
        ),
        ("{table:list}", "{tokens:list}", "07-small/ja.md: held: a form does not fit its value"),
        ("## held", "## hold", "07-small/ja.md: the text held is missing"),
    ],
)
def test_what_is_wrong_with_a_translation_is_said_of_its_own_file(
    draft, tmp_path, capsys, old, new, sentence
):
    draft.replace("ja.md", old, new)
    assert main(["check"], root=tmp_path) == 1
    assert sentence in capsys.readouterr().err


def test_a_file_whose_name_is_no_language_is_refused(draft):
    (draft.folder / "notes.md").write_text("# Notes\n", encoding="utf-8")
    with pytest.raises(LessonError, match=r"07-small/notes\.md: .* such as ja\.md"):
        draft.load()
