"""A scenario of a lesson as a workload, and its run on the engine."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from engine.errors import ConfigError
from engine.trace.codec import without_times
from engine.trace.header import TraceHeader
from engine.trace.trace import Trace
from engine.workload import ScriptedRun, Workload, parse_workload, read_workload
from lessons.errors import LessonError
from lessons.schema import Lesson, Numbers, Request, Scenario
from lessons.vocabulary import Vocabulary


class Script(NamedTuple):
    """What a scripted run is given, and what its token ids stand for."""

    workload: Workload
    vocabulary: Vocabulary


def whole_scenario(lesson: Lesson, name: str) -> Scenario:
    """The scenario with what it takes over from others filled in."""
    scenario = lesson.scenario(name)
    if scenario.same_as is None:
        return scenario
    base = whole_scenario(lesson, scenario.same_as)
    changed = {
        "config": {**base.config, **scenario.config},
        "requests": _replaced(base.requests, scenario.requests),
        "ops": scenario.ops or base.ops,
        "tokens": scenario.tokens or base.tokens,
        "workload": scenario.workload or base.workload,
        "prompts": scenario.prompts or base.prompts,
        "max_steps": scenario.max_steps or base.max_steps,
    }
    return msgspec.structs.replace(scenario, same_as=None, **changed)


def _replaced(base: tuple[Request, ...], own: tuple[Request, ...]) -> tuple[Request, ...]:
    by_id = {request.id: request for request in base}
    by_id.update((request.id, request) for request in own)
    return tuple(by_id.values())


def needs_model(scenario: Scenario) -> bool:
    """Whether only the real model can run it; `scenario` is a whole one."""
    return not scenario.requests and scenario.workload is None


def script_of(lesson: Lesson, name: str, folder: Path) -> Script:
    """LessonError if the scenario is none that a script can run."""
    scenario = whole_scenario(lesson, name)
    vocabulary = Vocabulary(scenario.tokens or "letters")
    place = f"{folder.name}/lesson.toml: scenario {name}"
    try:
        if scenario.workload is not None:
            return Script(_from_file(folder, scenario), vocabulary)
        return Script(parse_workload(_mapping(folder, scenario, vocabulary)), vocabulary)
    except ConfigError as error:
        raise LessonError.of(
            "lesson.scenario", "{place}: {reason}", place=place, reason=error.sentence
        ) from error


def _from_file(folder: Path, scenario: Scenario) -> Workload:
    workload = read_workload(folder / (scenario.workload or ""))
    config = {**workload.config.to_mapping(), **scenario.config}
    return parse_workload({**msgspec.to_builtins(workload), "config": config})


def _mapping(folder: Path, scenario: Scenario, vocabulary: Vocabulary) -> dict[str, Any]:
    """The JSON of SEMANTICS 2."""
    requests = []
    for request in scenario.requests:
        fields = msgspec.to_builtins(request)
        fields["arrival_step"] = request.arrival_step
        fields["prompt"] = _token_ids(request.prompt, vocabulary)
        fields["output"] = _token_ids(request.output, vocabulary)
        requests.append(fields)
    mapping: dict[str, Any] = {
        "name": f"{folder.name}/{scenario.name}",
        "config": scenario.config,
        "requests": requests,
        "ops": [msgspec.to_builtins(op) for op in scenario.ops],
    }
    if scenario.max_steps is not None:
        mapping["max_steps"] = scenario.max_steps
    return mapping


def _token_ids(given: str | Sequence[int] | Numbers, vocabulary: Vocabulary) -> tuple[int, ...]:
    if isinstance(given, Numbers):
        return tuple(range(given.first, given.first + given.count))
    return vocabulary.encode(given)


def run_script(script: Script) -> Trace:
    """From start to end, without times, so that the same script gives the same file.

    A run in which nothing can ever move again ends with that step.
    """
    workload = script.workload
    trace = Trace(TraceHeader(config=workload.config.to_mapping(), title=workload.name))
    emit = script.vocabulary.naming(lambda event: trace.append(without_times(event)))
    run = ScriptedRun(workload, emit=emit)
    while not (run.is_over or _is_stuck(run)):
        run.step()
    return trace


def _is_stuck(run: ScriptedRun) -> bool:
    is_all_in = run.engine.step_index > run.workload.last_input_step
    return is_all_in and run.engine.stuck_reason is not None
