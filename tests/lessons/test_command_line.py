"""`python -m lessons`: new, record, check, values."""

import shutil
from pathlib import Path

import pytest

from lessons.__main__ import main
from lessons.errors import LessonError
from lessons.library import ROOT
from tests.lessons.builders import Draft


def test_a_new_lesson_passes_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "24-my-lesson"], root=tmp_path) == 0
    assert main(["check"], root=tmp_path) == 0
    assert "24-my-lesson" in capsys.readouterr().out


def test_a_lesson_without_a_number_gets_the_next_one(tmp_path: Path) -> None:
    main(["new", "24-my-lesson"], root=tmp_path)
    main(["new", "other"], root=tmp_path)
    assert (tmp_path / "25-other" / "lesson.toml").exists()


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("07-again", "lesson 07 exists"), ("My Lesson", "is no name for a lesson")],
)
def test_a_name_that_cannot_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, sentence: str
) -> None:
    Draft(tmp_path)
    assert main(["new", name], root=tmp_path) == 1
    assert sentence in capsys.readouterr().err


def test_values_are_printed_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Draft(tmp_path)
    assert main(["values", "7"], root=tmp_path) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["tokens = 9", "size = 4", "table = (1, 2, 3)", "answer of table = 3"]


def test_a_lesson_that_does_not_exist_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Draft(tmp_path)
    assert main(["check", "99"], root=tmp_path) == 1
    assert capsys.readouterr().err.strip() == "there is no lesson 99: there are 07-small"
    assert main(["check", "07-smal"], root=tmp_path) == 1
    assert capsys.readouterr().err.strip() == "there is no lesson 07-smal: did you mean 07-small?"


def test_without_a_command_it_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "python -m lessons new NAME" in capsys.readouterr().out


def test_new_says_what_comes_after_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["new", "my-lesson"], root=tmp_path)
    said = capsys.readouterr().out
    assert "python -m lessons record 01-my-lesson && python -m lessons check 01-my-lesson" in said


def test_a_setting_that_changed_is_named_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Draft(tmp_path).replace("lesson.toml", "num_blocks = 11", "num_blocks = 12")
    assert main(["check"], root=tmp_path) == 1
    assert "(num_blocks was 11 and is 12)" in capsys.readouterr().err


def test_a_missing_run_of_the_model_says_how_to_get_one(tmp_path: Path) -> None:
    draft = Draft(tmp_path)
    toml = draft.folder / "lesson.toml"
    content = toml.read_text(encoding="utf-8")
    start, end = content.index("requests = ["), content.index("]\n\n# Texts") + 1
    toml.write_text(
        content[:start] + 'prompts = [{ text = "Hi" }]' + content[end:], encoding="utf-8"
    )
    (draft.folder / "trace.jsonl").unlink()
    with pytest.raises(LessonError, match="run python -m lessons record --model 07-small"):
        _ = draft.load().traces


def test_check_finds_a_run_that_is_not_the_recorded_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Draft(tmp_path).replace("lesson.toml", 'prompt = "ABCDEFGHI"', 'prompt = "ABCDEFGHIJ"')
    assert main(["check"], root=tmp_path) == 1
    assert "trace.jsonl: the engine does something else now" in capsys.readouterr().err
    assert main(["record"], root=tmp_path) == 0
    assert main(["check"], root=tmp_path) == 0


def test_record_leaves_alone_what_did_not_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Draft(tmp_path)
    assert main(["record"], root=tmp_path) == 0
    assert capsys.readouterr().out == "07-small/trace.jsonl: unchanged\n"


def test_record_says_which_runs_it_leaves_to_the_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "09-two-at-once", tmp_path / "09-two-at-once")
    assert main(["record", "9"], root=tmp_path) == 0
    said = capsys.readouterr().out.splitlines()
    left = "09-two-at-once/trace.model.jsonl: a run of the model, left as it is without --model"
    assert said[-1] == left
    assert all(line.endswith(": unchanged") for line in said[:-1])


def test_a_missing_trace_says_how_to_get_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (Draft(tmp_path).folder / "trace.jsonl").unlink()
    assert main(["check"], root=tmp_path) == 1
    assert "run python -m lessons record 07-small" in capsys.readouterr().err


PROBLEMS = {
    "an expected number": ("[[sources]]", "[expected]\ntokens = 8\n[[sources]]", "8 is expected"),
    "a place that the run has not": ('at = "start"', 'at = "start of step 9"', "no step 9"),
    "a request that the run has not": (
        'select = { request = "r0" }',
        'select = { request = "r5" }',
        "no request r5",
    ),
    "a block beyond the pool": (
        'select = { request = "r0" }',
        "select = { block = 40 }",
        "no block 40",
    ),
    "a right answer called wrong": (
        "num_full_prompt_blocks",
        "num_blocks_for_prompt",
        "is the right answer: 3",
    ),
    "an answer of another kind": ('kind = "number"', 'kind = "order"', "the answer 3 is no order"),
    "a value nobody can compute": (
        'request = "r0" }\nsize',
        'request = "r7" }\nsize',
        "no request r7",
    ),
}


@pytest.mark.parametrize(("old", "new", "sentence"), PROBLEMS.values(), ids=PROBLEMS)
def test_check_says_what_does_not_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, sentence: str
) -> None:
    Draft(tmp_path).replace("lesson.toml", old, new)
    assert main(["check"], root=tmp_path) == 1
    problems = capsys.readouterr().err.splitlines()
    assert any(sentence in problem for problem in problems), problems
    assert all(problem.startswith("07-small") for problem in problems)
