"""What of a lesson later versions of vLLM do otherwise: each such lesson carries a badge."""

from collections.abc import Iterator, Mapping

import msgspec

from engine.errors import PagewalkError
from engine.trace.trace import Trace
from lessons.checks import Value
from lessons.grading import answer_of
from lessons.library import LoadedLesson
from lessons.scenario import needs_model, run_script, whole_scenario

# Setting of the engine that does as later versions do -> the change to vLLM that it follows.
SETTINGS = {"reuse_unhashed_first": "vllm#42656", "count_lookups_once": "vllm#48860"}


def later_traces(loaded: LoadedLesson, setting: str) -> dict[str, Trace]:
    """Every scripted scenario, run as the later version does it; a model's run stays as recorded."""
    traces = dict(loaded.traces)
    for scenario in loaded.lesson.scenarios:
        if needs_model(whole_scenario(loaded.lesson, scenario.name)):
            continue
        script = loaded.script(scenario.name)
        config = msgspec.structs.replace(script.workload.config, **{setting: True})
        workload = msgspec.structs.replace(script.workload, config=config)
        traces[scenario.name] = run_script(script._replace(workload=workload))
    return traces


def changed_numbers(loaded: LoadedLesson, setting: str) -> tuple[str, ...]:
    """The values and answers that are others with the later behaviour."""
    before = _numbers(loaded, loaded.traces)
    after = _numbers(loaded, later_traces(loaded, setting))
    return tuple(name for name, value in before.items() if after[name] != value)


def _numbers(loaded: LoadedLesson, traces: Mapping[str, Trace]) -> dict[str, Value]:
    """None where a run does not hold it."""
    found: dict[str, Value] = {}
    for name in loaded.lesson.values:
        try:
            found[name] = loaded.value(name, traces)
        except PagewalkError:
            found[name] = None
    for name in loaded.lesson.predictions:
        try:
            found[f"the answer of {name}"] = answer_of(loaded.lesson, name, traces)
        except PagewalkError:
            found[f"the answer of {name}"] = None
    return found


def without_badge(loaded: LoadedLesson) -> Iterator[str]:
    """A sentence for each change after 0.17.1 that touches the lesson and has no badge there."""
    badges = {badge.change for badge in loaded.lesson.badges}
    for setting, change in SETTINGS.items():
        changed = () if change in badges else changed_numbers(loaded, setting)
        if changed:
            yield (
                f"{change} ({setting}) changes {', '.join(changed)}: "
                f"write a badge that says so, with change = {change!r}"
            )
