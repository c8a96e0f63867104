"""The checks of the lessons: pure functions of a run, called by the name that a lesson writes.

    {check = "block_table", scenario = "main", request = "r1", at = "after_schedule of step 3"}

`scenario` says which run is asked, `equals` makes a claim of it; everything else goes to the function of this name in `facts/`.
A check knows no answer: it finds one, in the recorded run or in whatever the learner made of it.
"""

import difflib
import inspect
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, NamedTuple

import msgspec

from engine.trace.trace import Trace
from lessons.errors import FactError, LessonError
from lessons.facts import (
    cache,
    growth,
    memory,
    outside,
    preemption,
    queue,
    reading,
    schedule,
    source,
    tables,
)
from lessons.places import why_not_a_place
from lessons.schema import Call

MODULES: dict[str, ModuleType] = {
    "tables": tables,
    "growth": growth,
    "queue": queue,
    "cache": cache,
    "schedule": schedule,
    "preemption": preemption,
    "memory": memory,
    "outside": outside,
    "reading": reading,
    "source": source,
}
Value = Any  # int, float, bool, str, None, or a tuple of these


def facts_of(module: ModuleType) -> dict[str, Callable[..., Value]]:
    """The functions of a module that take a trace and otherwise only named arguments."""
    return {name: function for name, function in vars(module).items() if _is_fact(module, function)}


def _is_fact(module: ModuleType, function: object) -> bool:
    if not inspect.isfunction(function) or function.__module__ != module.__name__:
        return False
    if function.__name__.startswith("_"):
        return False
    first, *rest = inspect.signature(function).parameters.values()
    return first.name == "trace" and all(p.kind is p.KEYWORD_ONLY for p in rest)


CHECKS: dict[str, Callable[..., Value]] = {
    name: function for module in MODULES.values() for name, function in facts_of(module).items()
}


def _arguments_of(function: Callable[..., Value]) -> type[msgspec.Struct]:
    """The arguments of a check as a strict table."""
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        named: tuple[str, Any] = (parameter.name, parameter.annotation)
        has_default = parameter.default is not parameter.empty
        fields.append((*named, parameter.default) if has_default else named)
    name = function.__name__
    return msgspec.defstruct(name, fields, forbid_unknown_fields=True, kw_only=True)


ARGUMENTS = {name: _arguments_of(function) for name, function in CHECKS.items()}


class Check(NamedTuple):
    """A call that is known to make sense: the name exists and the arguments fit."""

    name: str
    scenario: str
    arguments: dict[str, Any]
    equals: tuple[Value, ...] = ()  # one value: is it this? and the answer is yes or no

    def of(self, traces: Mapping[str, Trace]) -> Value:
        """What the check finds; FactError where this run does not hold what it asks about."""
        return self.of_trace(traces[self.scenario])

    def of_trace(self, trace: Trace) -> Value:
        try:
            found = CHECKS[self.name](trace, **self.arguments)
        except FactError as error:
            raise FactError.of(
                "fact.check", "{check}: {reason}", check=self.name, reason=error.sentence
            ) from error
        return found == self.equals[0] if self.equals else found


def parse_check(call: Call, scenario: str, place: str) -> Check:
    """`scenario` is asked where the call names none. LessonError begins with `place`."""
    arguments = dict(call)
    name, scenario = arguments.pop("check", None), arguments.pop("scenario", scenario)
    claimed = arguments.pop("equals", None)
    if name not in CHECKS:
        close = difflib.get_close_matches(str(name), CHECKS, n=1)
        hint = f"did you mean {close[0]}?" if close else "lessons/README.md lists them all"
        raise LessonError(f"{place}: there is no check {name!r}: {hint}")
    try:
        built = msgspec.convert(arguments, ARGUMENTS[name])
    except msgspec.ValidationError as error:
        raise LessonError(f"{place}: check {name}: {error}; {signature_of(name)}") from error
    if "at" in arguments and (problem := why_not_a_place(arguments["at"])):
        raise LessonError(f"{place}: check {name}: {problem}")
    claimed = tuple(claimed) if isinstance(claimed, list) else claimed
    equals = () if claimed is None else (claimed,)
    return Check(name, scenario, msgspec.structs.asdict(built), equals)


def signature_of(name: str) -> str:
    """How an author calls it: `block_of_token(request, token, at)`, options in brackets."""
    words = []
    for parameter in list(inspect.signature(CHECKS[name]).parameters.values())[1:]:
        is_option = parameter.default is not parameter.empty
        words.append(f"[{parameter.name}]" if is_option else parameter.name)
    return f"{name}({', '.join(words)})"


def list_of_checks() -> str:
    """The table of lessons/README.md, in Markdown; a test compares the two."""
    lines = []
    for title, module in MODULES.items():
        lines += [f"**{title}**: {(module.__doc__ or '').splitlines()[0]}", ""]
        for name, function in facts_of(module).items():
            meaning = " ".join((inspect.getdoc(function) or "").split())
            lines.append(f"- `{signature_of(name)}`: {meaning}")
        lines.append("")
    return "\n".join(lines)
