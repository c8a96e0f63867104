"""What a learner answered, compared with what the engine did."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from engine.trace.trace import Trace
from lessons.checks import Value, parse_check
from lessons.errors import FactError, LessonError
from lessons.formula import ANSWER, names_in, parse_formula, result
from lessons.misconceptions import MISCONCEPTIONS
from lessons.schema import Call, Lesson, Prediction, Wrong

NOTHING = 0  # no token, no block, or the null block: a mistake in any run


class Grade(NamedTuple):
    """`text` is the key of the sentence to show; it may use {answer} and {given}."""

    is_right: bool
    answer: Value  # in the form of `given`: a name for a choice, percent for a share
    given: Value
    text: str


def answer_of(lesson: Lesson, name: str, traces: Mapping[str, Trace]) -> Value:
    """What the engine did, in the form in which a learner answers.

    FactError where the run, changed as it may be, does not hold the answer.
    """
    prediction = lesson.predictions[name]
    found = asked(lesson, name, prediction.answer, traces)
    if prediction.kind == "choice":
        names = [option for option, value in prediction.options.items() if _same(value, found)]
        if not names:
            raise FactError.of(
                "fact.no_option",
                "none of the options fits this run, in which the answer is {answer}",
                answer=str(found),
            )
        return names[0]
    return _in_unit(found, prediction)


def asked(lesson: Lesson, name: str, call: Call, traces: Mapping[str, Trace]) -> Value:
    """What a check that belongs to a prediction finds."""
    scenario = lesson.scenario_of_prediction(name)
    return parse_check(call, scenario, f"predictions.{name}").of(traces)


def choices_of(lesson: Lesson, name: str, traces: Mapping[str, Trace]) -> tuple[Value, ...]:
    """choice: the names of the options. order: the blocks to be arranged, ascending; none where
    they are clicked in the pool."""
    prediction = lesson.predictions[name]
    if prediction.among is None:
        return tuple(prediction.options)
    return tuple(sorted(asked(lesson, name, prediction.among, traces)))


def grade(
    lesson: Lesson,
    name: str,
    given: Value,
    traces: Mapping[str, Trace],
    *,
    is_changed: bool = False,
) -> Grade:
    """`given` is a block id, a sequence of them, a number in the prediction's unit, or the name of
    an option. `is_changed`: the run is not the recorded one, and a mistake that is known by a fixed
    value is not that mistake in it."""
    prediction = lesson.predictions[name]
    answer = answer_of(lesson, name, traces)
    given = tuple(given) if isinstance(given, list) else given
    if _is_right(given, answer, prediction.tolerance):
        return Grade(True, answer, given, f"{name}.right")
    for wrong in prediction.wrong:
        if is_changed and _is_claim(wrong.when.get("value", NOTHING)):
            continue
        if _is_this(lesson, name, wrong, traces, given=given, answer=answer):
            return Grade(False, answer, given, f"{name}.wrong.{wrong.text}")
    return Grade(False, answer, given, f"{name}.wrong")


def _is_claim(value: Value) -> bool:
    """Whether it is a number of the recorded run: neither an option's name nor nothing at all."""
    return not isinstance(value, str) and value != NOTHING


def _is_right(given: Value, answer: Value, tolerance: float) -> bool:
    if isinstance(answer, float) and isinstance(given, int | float):
        return abs(given - answer) <= tolerance + 1e-9
    return _same(given, answer)


def _same(one: Value, two: Value) -> bool:
    """Equal, and neither a truth value beside a number; lists of a file are tuples of a check."""
    one, two = (tuple(v) if isinstance(v, list) else v for v in (one, two))
    return bool(one == two) and isinstance(one, bool) == isinstance(two, bool)


def _in_unit(value: Value, prediction: Prediction) -> Value:
    return value * 100 if prediction.unit == "percent" else value


def _is_this(
    lesson: Lesson,
    name: str,
    wrong: Wrong,
    traces: Mapping[str, Trace],
    *,
    given: Value,
    answer: Value,
) -> bool:
    when: dict[str, Any] = dict(wrong.when)
    prediction = lesson.predictions[name]
    if "misconception" in when:
        return MISCONCEPTIONS[when["misconception"]](given, answer)
    try:
        value = given_by_mistake(lesson, name, when, traces)
    except FactError:
        return False  # a changed run without what the misconception is about
    return _is_right(given, value, prediction.tolerance)


def given_by_mistake(
    lesson: Lesson, name: str, when: Mapping[str, Any], traces: Mapping[str, Trace]
) -> Value:
    """The answer that a `when` waits for; None for a misconception, which may wait for many."""
    if "value" in when:
        value = when["value"]
        return tuple(value) if isinstance(value, list) else value
    if "formula" in when:
        return _of_formula(lesson, name, when["formula"], traces)
    if "check" in when:
        return _in_unit(asked(lesson, name, dict(when), traces), lesson.predictions[name])
    return None


def _of_formula(lesson: Lesson, name: str, text: str, traces: Mapping[str, Trace]) -> Value:
    def value_of(word: str) -> Value:
        if word == ANSWER:
            return answer_of(lesson, name, traces)
        first = lesson.scenarios[0].name
        return parse_check(lesson.values[word], first, f"values.{word}").of(traces)

    return result(parse_formula(text, f"predictions.{name}"), value_of)


def check_wrong(lesson: Lesson, wrong: Wrong, scenario: str, place: str) -> None:
    """LessonError if `when` is none of the four forms."""
    kinds = {"value", "formula", "check", "misconception"} & wrong.when.keys()
    if len(kinds) != 1:
        raise LessonError(
            f"{place}.when: write one of {{formula = ..}}, {{check = .., ..}}, "
            f"{{misconception = ..}}, {{value = ..}}"
        )
    if "check" in kinds:
        parse_check(wrong.when, scenario, f"{place}.when")
    elif set(wrong.when) != kinds:
        raise LessonError(f"{place}.when: nothing else belongs beside {kinds.pop()}")
    elif "formula" in kinds:
        _check_formula(lesson, wrong.when["formula"], f"{place}.when")
    elif "misconception" in kinds and wrong.when["misconception"] not in MISCONCEPTIONS:
        raise LessonError(
            f"{place}.when: there is no misconception {wrong.when['misconception']!r}; there are "
            f"{', '.join(MISCONCEPTIONS)}"
        )


def _check_formula(lesson: Lesson, text: object, place: str) -> None:
    for name in names_in(parse_formula(text, place)):
        if name != ANSWER and name not in lesson.values:
            known = ", ".join(lesson.values) or "none"
            raise LessonError(f"{place}: the value {name} does not exist: there are {known}")
