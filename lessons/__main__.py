"""Write, record and check lessons.

python -m lessons check [NAME ...]     every number of every lesson, computed by the engine
python -m lessons record [NAME ...]    run the scenarios anew and write their traces
python -m lessons new NAME             a small lesson that passes check, to be written on
python -m lessons values NAME          every number of a lesson, by name
python -m lessons checks               what a lesson can ask about a run
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from engine.errors import PagewalkError
from lessons.checks import list_of_checks
from lessons.library import ROOT, lesson_folders, load_lesson
from lessons.misconceptions import list_of_misconceptions
from lessons.questions import all_questions
from lessons.scaffold import create_lesson, record
from lessons.verification import Report, values_of, verify

COLUMNS = ("lesson", "scenarios", "steps", "values", "expected", "questions")


def folders(names: Sequence[str], root: Path) -> list[Path]:
    """Those named, or all; a name that does not exist is a LessonError."""
    known = lesson_folders(root)
    if not names:
        return known
    by_name = {folder.name: folder for folder in known}
    by_number = {folder.name[:2]: folder for folder in known}
    found = []
    for name in names:
        number = f"{int(name):02d}" if name.isdecimal() else ""
        folder = by_name.get(name) or by_number.get(number)
        found.append(folder or load_lesson(name, root).folder)
    return found


def check(names: Sequence[str], root: Path) -> int:
    reports = [verify(folder) for folder in folders(names, root)]
    rows = [COLUMNS, *(_row(report) for report in reports)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    for row in rows:
        first, *rest = (
            cell.ljust(width) if not column else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join([first, *rest]))
    problems = [problem for report in reports for problem in report.problems]
    if not names and (root / "questions.toml").exists():
        problems += _questions(root)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def _questions(root: Path) -> list[str]:
    """Prints how many questions are answered; a sentence where their files are wrong."""
    try:
        questions = all_questions(root=root)
    except PagewalkError as error:
        return [str(error)]
    num_answered = sum(bool(question.lessons) for question in questions)
    print(f"{num_answered} of {len(questions)} questions that people ask are answered by a lesson")
    return []


def _row(report: Report) -> tuple[str, ...]:
    return tuple(str(cell) for cell in report[: len(COLUMNS)])


def record_all(names: Sequence[str], root: Path) -> int:
    """A lesson that is wrong gets its sentence; the others are recorded all the same."""
    num_wrong = 0
    for folder in folders(names, root):
        try:
            for path, is_new in record(load_lesson(folder.name, root)):
                print(f"{folder.name}/{path.name}: {'written' if is_new else 'unchanged'}")
        except PagewalkError as error:
            print(error, file=sys.stderr)
            num_wrong += 1
    return 1 if num_wrong else 0


def main(arguments: Sequence[str] | None = None, *, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m lessons",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=("check", "record", "new", "values", "checks"))
    parser.add_argument("names", nargs="*", metavar="NAME", help="a folder's name or number")
    options = parser.parse_args(arguments)
    if options.command in ("new", "values") and len(options.names) != 1:
        parser.error(f"{options.command} takes one NAME")
    try:
        return _run(options.command, options.names, root)
    except PagewalkError as error:
        print(error, file=sys.stderr)
        return 1


def _run(command: str, names: list[str], root: Path) -> int:
    if command == "check":
        return check(names, root)
    if command == "record":
        return record_all(names, root)
    if command == "new":
        print(f"{create_lesson(names[0], root)}: write on in lesson.toml and en.md")
    elif command == "values":
        for name, value in values_of(load_lesson(names[0], root)):
            print(f"{name} = {value}")
    else:
        print(list_of_checks())
        print("**misconceptions**", list_of_misconceptions(), sep="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
