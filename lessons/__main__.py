"""Write, record and check lessons.

python -m lessons check [NAME ...]     every number of every lesson, computed by the engine
python -m lessons record [NAME ...]    run the scenarios anew and write their traces
python -m lessons new NAME             a small lesson that passes check, to be written on
python -m lessons values NAME          every number of a lesson, by name
python -m lessons checks               what a lesson can ask about a run
python -m lessons puzzles              search the puzzles of "Beat the pool" anew, which takes minutes
"""

import argparse
import functools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.config import EngineConfig, SamplingParams
from engine.errors import PagewalkError
from engine.trace.codec import without_times
from engine.trace.trace import Trace
from lessons.checks import list_of_checks
from lessons.conversation import is_due, turns_before
from lessons.library import ROOT, LoadedLesson, lesson_folders, load_lesson
from lessons.misconceptions import list_of_misconceptions
from lessons.puzzle_search import record_best
from lessons.questions import all_questions
from lessons.scaffold import create_lesson, keep, record
from lessons.scenario import needs_model, whole_scenario
from lessons.schema import Prompt
from lessons.verification import Report, values_of, verify

COMMANDS = ("check", "record", "new", "values", "checks", "puzzles")
EXAMPLES = {"new": "24-my-lesson", "values": "6"}
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
    if not problems:
        print("nothing is wrong")
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


@functools.cache
def default_model() -> Any:
    """The default model, loaded once."""
    from engine.sources.live import load_model  # torch, only once it is needed

    return load_model()


def run_on_model(prompts: Sequence[Prompt], config: EngineConfig) -> Trace:
    """The prompts on the default model, greedy, each from its step on; without times."""
    from engine.sources.live import LiveSource

    source, waiting = LiveSource(default_model(), config), list(prompts)
    while waiting or source.has_unfinished_requests:
        step, can_go_on = source.engine.step_index, source.has_unfinished_requests
        while waiting and is_due(waiting[0], source.trace, step, can_go_on=can_go_on):
            prompt = waiting.pop(0)
            source.add_request(
                prompt.text,
                mode=prompt.mode,
                sampling=SamplingParams(max_tokens=prompt.max_tokens),
                before=turns_before(prompts, prompt, source.trace),
            )
            can_go_on = True
        source.step()
    trace = Trace(source.trace.header)
    trace.extend(without_times(event) for event in source.trace.events_from(0))
    return trace


def _of_model(loaded: LoadedLesson) -> list[Path]:
    """The files of those runs that only the model can make."""
    scenarios = (whole_scenario(loaded.lesson, each.name) for each in loaded.lesson.scenarios)
    return [loaded.trace_path(each.name) for each in scenarios if needs_model(each)]


def _record_on_model(loaded: LoadedLesson) -> list[tuple[Path, bool]]:
    written = []
    for scenario in loaded.lesson.scenarios:
        whole = whole_scenario(loaded.lesson, scenario.name)
        if needs_model(whole):
            config = EngineConfig.from_mapping(whole.config)
            written.append(keep(loaded, scenario.name, run_on_model(whole.prompts, config)))
    return written


def record_all(names: Sequence[str], root: Path, *, with_model: bool) -> int:
    """A lesson that is wrong gets its sentence; the others are recorded all the same."""
    num_wrong = 0
    for folder in folders(names, root):
        try:
            loaded = load_lesson(folder.name, root)
            written = record(loaded) + (_record_on_model(loaded) if with_model else [])
            for path, is_new in written:
                print(f"{folder.name}/{path.name}: {'written' if is_new else 'unchanged'}")
            for path in [] if with_model else _of_model(loaded):
                print(
                    f"{folder.name}/{path.name}: a run of the model, left as it is without --model"
                )
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
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a folder's name or number")
    parser.add_argument("--model", action="store_true", help="record: also what needs the model")
    given = sys.argv[1:] if arguments is None else arguments
    if not given:
        parser.print_help()
        return 0
    options = parser.parse_intermixed_args(given)
    if options.command in ("new", "values") and len(options.names) != 1:
        parser.error(f"{options.command} takes one NAME, such as {EXAMPLES[options.command]}")
    try:
        if options.command == "record":
            return record_all(options.names, root, with_model=options.model)
        return _run(options.command, options.names, root)
    except PagewalkError as error:
        print(error, file=sys.stderr)
        return 1


def _run(command: str, names: list[str], root: Path) -> int:
    if command == "check":
        return check(names, root)
    if command == "new":
        name = create_lesson(names[0], root).name
        print(f"{root.name}/{name}: write on in lesson.toml and en.md; after that")
        print(f"python -m lessons record {name} && python -m lessons check {name}")
    elif command == "puzzles":
        for name, found in record_best():
            print(f"{name}: {found.hit_rate:.1%}, preempted: {len(found.preempted)}")
    elif command == "values":
        for name, value in values_of(load_lesson(names[0], root)):
            print(f"{name} = {value}")
    else:
        print(list_of_checks())
        print("**misconceptions**", list_of_misconceptions(), sep="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
