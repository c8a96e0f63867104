"""A lesson's run as its reader changed it: run, taken back, run once more after a reload."""

from typing import Any

from engine.errors import PagewalkError
from lessons.changed import run_changed
from lessons.scenario import needs_model, whole_scenario
from views import actions, ordering
from views.changing import read_change
from views.choices import Choices
from views.runs import Run
from views.study import Study
from views.text import Text


def _change(chosen: Choices, _: Run | None, sent: Any) -> bool:
    """Run what stands in the form, and stand at the same moment of the new run."""
    study = chosen.study
    if study is not None:
        study.change(sent, Text(chosen.language))
        chosen.cursor = study.place(study.here.at)
        if study.ordered is not None:
            ordering.order(chosen)
            return True
    return False


def _forget(chosen: Choices, _: Run | None, __: Any) -> bool:
    if chosen.study is not None:
        chosen.study.forget_own()
        chosen.cursor = chosen.study.place(chosen.study.here.at)
    return False


def _repeat(chosen: Choices, _: Run | None, sent: Any) -> bool:
    """What the browser kept of the forms of own runs, where the page was loaded again. A notice
    says what became of them."""
    study, text = chosen.study, Text(chosen.language)
    if study is None or not study.recalls or study.own or not isinstance(sent, dict):
        return False
    names = [each.name for each in study.loaded.lesson.scenarios]
    kept = {name: form for name, form in sent.items() if name in names and isinstance(form, dict)}
    said = dict.fromkeys(_again(study, name, form, text) for name, form in kept.items())
    for sentence in said:
        chosen.say_also(sentence)
    if study.own:
        chosen.cursor = study.place(study.here.at)
    return bool(kept)


def _again(study: Study, scenario: str, form: dict[str, Any], text: Text) -> str:
    """What is said about it. The real model is not started for whoever only came back."""
    if scenario == study.scenario:
        study.typed_change = form
    if needs_model(whole_scenario(study.loaded.lesson, scenario)):
        return text("learn.own_left")
    try:
        runs = run_changed(study.loaded, scenario, read_change(form, text))
    except PagewalkError as error:
        return text("learn.own_failed", reason=text.error(error))
    study.put_own(runs, form)
    return text("learn.own_again")


ACTIONS: dict[str, actions.Action] = {
    "changed": _change,
    "recorded": _forget,
    "repeated": _repeat,
}
