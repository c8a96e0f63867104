"""The line about the file that is open: its name, what is in it, and what could not be read."""

from typing import Any, NamedTuple

from engine.trace.trace import Trace
from views.figures.moment import num_finished_steps
from views.text import Text, quoted, visible

MAX_NAME = 80  # characters of a file's name
MAX_QUOTED_PROBLEM = 400
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


class File(NamedTuple):
    """What is known about a file besides its trace."""

    name: str
    problem: str | None = None  # what could not be read, one sentence
    remark: str = ""  # what was made of it, where it was no trace


class Limits(NamedTuple):
    """In bytes: of what travels, and of what it unfolds to."""

    most: int
    most_unfolded: int


def opened(trace: Trace | None, file: File | None, limits: Limits, text: Text) -> dict[str, Any]:
    """`trace` and `file` are None while nothing is open."""
    payload: dict[str, Any] = {
        "open": text("inspect.open" if file is None else "inspect.open_another"),
        "drop": text(
            "inspect.drop", most=in_units(limits.most), unfolded=in_units(limits.most_unfolded)
        ),
        "example": text("inspect.example"),
        "invitation": text("inspect.invitation"),
        "reading": text("inspect.reading"),
        "unreadable": text("inspect.unreadable"),
        "limits": limits._asdict(),
        "file": None,
    }
    if trace is not None and file is not None:
        payload["file"] = {
            "name": "".join(map(visible, file.name[:MAX_NAME])),
            "facts": facts(trace, text),
            "problem": file.problem and shortened(text.sentence(text.said(file.problem))),
            "problem_title": text("inspect.problem"),
            "remark": file.remark,
        }
    return payload


def in_units(num_bytes: int) -> str:
    """`2 KiB`, `1.5 MiB`: of a limit, so never rounded up."""
    unit = max((unit for unit in UNITS if UNITS[unit] <= num_bytes), key=UNITS.__getitem__)
    hundredths = num_bytes * 100 // UNITS[unit]
    return f"{hundredths / 100:,.2f}".rstrip("0").rstrip(".") + f" {unit}"


def shortened(problem: str) -> str:
    """What stands in a file may stand in the sentence about it, but not at any length."""
    if len(problem) <= MAX_QUOTED_PROBLEM:
        return problem
    half = MAX_QUOTED_PROBLEM // 2
    return f"{problem[:half]} … {problem[-half:]}"


def facts(trace: Trace, text: Text) -> list[str]:
    """What the run was, each with its unit."""
    header, state = trace.header, trace.at(trace.last)
    made = [
        text.count("count.steps", num_finished_steps(trace)),
        text.count("count.requests", len(state.requests)),
        text.count("inspect.events", trace.num_events),
        text("inspect.pool", block_size=state.block_size, num_blocks=state.num_blocks),
    ]
    if header.title:
        made.insert(0, quoted(header.title))
    if header.model is None:
        return [*made, text("inspect.scripted")]
    ran = [name for name in (header.dtype, header.device) if name is not None]
    return [*made, " ".join([quoted(header.model), *map(quoted, ran)])]
