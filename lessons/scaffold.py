"""The files of a new lesson: small, and whole enough to pass `check`."""

import re
from pathlib import Path

from engine.trace.codec import read_trace, write_trace
from engine.trace.trace import Trace
from lessons.errors import LessonError
from lessons.library import ROOT, LoadedLesson, first_difference, lesson_folders
from lessons.scenario import needs_model, run_script, whole_scenario

LESSON = """\
number = {number}
part = "B"        # A why pages, B a request's life, C the prefix cache, D pressure, E the rest
answers = []      # questions of lessons/questions.toml that this lesson answers
threads = []      # public threads, such as "vllm#12077"

# What runs. A letter of a prompt is a token; tokens = "words" makes words tokens.
[[scenarios]]
name = "main"
config = {{ block_size = 4, num_blocks = 11 }}
requests = [
  {{ id = "r0", prompt = "ABCDEFGHI", output = "jkl" }},
]

# Texts in their order, each with the moment it is about. The text is en.md's "## arrives".
[[chunks]]
id = "arrives"
at = "start"
predict = "table"

[[chunks]]
id = "held"
at = "after first BlocksTaken about r0"
select = {{ request = "r0" }}

# Questions. The answer is a check: it is computed from the run and never typed in.
[predictions.table]
kind = "number"
unit = "blocks"
answer = {{ check = "num_blocks_for_prompt", request = "r0" }}
wrong = [
  {{ text = "rounded_down", when = {{ check = "num_full_prompt_blocks", request = "r0" }} }},
]

# Numbers of the text: {{tokens}} in en.md.
[values]
tokens = {{ check = "num_prompt_tokens", request = "r0" }}
size = {{ check = "setting", name = "block_size" }}
table = {{ check = "block_table", request = "r0", at = "after first BlocksTaken about r0" }}

[[sources]]
file = "v1/core/kv_cache_manager.py"
function = "KVCacheManager.allocate_slots"
"""

WORDS = """\
# {title}

## goal
What a reader can do afterwards, in one sentence.

## arrives
A prompt of {{tokens}} tokens arrives. A block holds {{size}}.

## table.question
How many blocks will it be given?

## table.right
{{answer}}: the last one is not full, but it is a block.

## table.wrong.rounded_down
That is how many it *fills*. The rest of the prompt needs a block as well: {{answer}}.

## table.wrong
The engine gives it {{answer}}.

## held
The blocks are {{table:list}}, and the table keeps them in the order of the tokens.
"""


def create_lesson(name: str, root: Path = ROOT) -> Path:
    """A folder with lesson.toml, en.md and trace.jsonl. LessonError if the name is none or taken."""
    numbers = [int(folder.name[:2]) for folder in lesson_folders(root)]
    if re.fullmatch(r"[a-z][a-z0-9-]*", name):
        number = max(numbers, default=0) + 1
    elif found := re.fullmatch(r"(\d\d)-([a-z0-9-]+)", name):
        number, name = int(found[1]), found[2]
    else:
        raise LessonError(
            f"{name!r} is no name for a lesson: write small letters and dashes, such as my-lesson, or "
            f"its number in two digits before them, such as 24-my-lesson"
        )
    if number in numbers:
        raise LessonError(f"lesson {number:02d} exists: choose another number")
    folder = root / f"{number:02d}-{name}"
    folder.mkdir(parents=True)
    (folder / "lesson.toml").write_text(LESSON.format(number=number), encoding="utf-8")
    title = name.replace("-", " ").capitalize()
    (folder / "en.md").write_text(WORDS.format(title=title), encoding="utf-8")
    record(LoadedLesson(folder))
    return folder


def record(loaded: LoadedLesson) -> list[tuple[Path, bool]]:
    """Run every scripted scenario and write its trace; says for each file whether it changed."""
    written = []
    for scenario in loaded.lesson.scenarios:
        if not needs_model(whole_scenario(loaded.lesson, scenario.name)):
            trace = run_script(loaded.script(scenario.name))
            written.append(keep(loaded, scenario.name, trace))
    return written


def keep(loaded: LoadedLesson, scenario: str, trace: Trace) -> tuple[Path, bool]:
    """A file that holds this very run stays as it is, whichever version of the format it has."""
    path = loaded.trace_path(scenario)
    is_new = not _holds(path, trace)
    if is_new:
        write_trace(path, trace)
    return path, is_new


def _holds(path: Path, trace: Trace) -> bool:
    if not path.exists():
        return False
    loaded = read_trace(path)
    is_whole = loaded.problem is None and loaded.trace is not None
    return is_whole and first_difference(loaded.trace or trace, trace) is None
