"""A lesson's scenario as its reader changed it, run on the engine."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from engine.config import EngineConfig
from engine.errors import ConfigError
from engine.trace.trace import Trace
from engine.workload import Workload
from lessons.errors import LessonError
from lessons.library import LoadedLesson
from lessons.scenario import run_script, script_of, whole_scenario
from lessons.schema import Lesson, Request

SETTINGS = ("block_size", "num_blocks", "max_num_batched_tokens", "max_num_seqs")
MAX_TOKENS, MAX_BLOCKS = 2_000, 10_000  # of all prompts and outputs; nobody reads more than that


class Change(NamedTuple):
    """What stands in the form: whole numbers of the settings, texts of the requests by id."""

    settings: Mapping[str, int] = {}
    prompts: Mapping[str, str] = {}
    outputs: Mapping[str, str] = {}


def changeable(loaded: LoadedLesson, scenario: str) -> tuple[dict[str, int], tuple[Request, ...]]:
    """The settings that the scenario has now, and the requests whose texts may be changed: none
    where they are token ids or stand in a file. The real model writes its answers itself: they are
    empty here."""
    whole = whole_scenario(loaded.lesson, scenario)
    config = (
        loaded.script(scenario).workload.config
        if whole.requests or whole.workload
        else EngineConfig.from_mapping(whole.config)
    )
    requests = tuple(each for each in whole.requests if isinstance(each.prompt, str))
    requests += tuple(
        Request(id=f"r{index}", prompt=each.text, output="")
        for index, each in enumerate(whole.prompts)
    )
    return {name: getattr(config, name) for name in SETTINGS}, requests


def later_of(lesson: Lesson, scenario: str) -> tuple[str, ...]:
    """The scenarios that show what later versions make of this one."""
    return tuple(badge.later[scenario] for badge in lesson.badges if scenario in badge.later)


def run_changed(loaded: LoadedLesson, scenario: str, change: Change) -> dict[str, Trace]:
    """The run of the changed scenario, and what later versions make of the same change, by scenario.
    ConfigError or LessonError says what cannot be."""
    whole = whole_scenario(loaded.lesson, scenario)
    config: dict[str, Any] = {**whole.config, **change.settings}
    if config.get("num_blocks", 0) > MAX_BLOCKS:
        raise ConfigError.of(
            "lesson.num_blocks",
            "num_blocks={given}: a lesson shows at most {most}",
            given=config["num_blocks"],
            most=MAX_BLOCKS,
        )
    EngineConfig.from_mapping(config)  # says by itself which setting cannot be
    requests = tuple(_changed(each, change) for each in whole.requests)
    own = msgspec.structs.replace(whole, config=config, requests=requests)
    others = [each for each in loaded.lesson.scenarios if each.name != scenario]
    lesson = msgspec.structs.replace(loaded.lesson, scenarios=(own, *others))
    names = (scenario, *later_of(lesson, scenario))
    scripts = {name: script_of(lesson, name, loaded.folder) for name in names}
    _check_size(scripts[scenario].workload)
    return {name: run_script(script) for name, script in scripts.items()}


def _changed(request: Request, change: Change) -> Request:
    return msgspec.structs.replace(
        request,
        prompt=change.prompts.get(request.id, request.prompt),
        output=change.outputs.get(request.id, request.output),
    )


def _check_size(workload: Workload) -> None:
    for request in workload.requests:
        if not request.prompt:
            raise LessonError.of(
                "lesson.no_prompt",
                "the prompt of {request} is empty: write at least one letter",
                request=request.id,
            )
        if not request.output:
            raise LessonError.of(
                "lesson.no_answer",
                "the answer of {request} is empty: write at least one letter",
                request=request.id,
            )
    num_tokens = sum(len(each.prompt) + len(each.output) for each in workload.requests)
    if num_tokens > MAX_TOKENS:
        raise ConfigError.of(
            "lesson.too_long",
            "the texts have {n} tokens together, and a lesson shows at most {most}: shorten them",
            n=num_tokens,
            most=MAX_TOKENS,
        )
