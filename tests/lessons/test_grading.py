"""Answers are graded by the run, and so by any run of the scenario."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from engine.trace.trace import Trace
from lessons.errors import FactError
from lessons.grading import answer_of, choices_of, grade
from lessons.library import LoadedLesson, load_lesson
from lessons.misconceptions import MISCONCEPTIONS
from lessons.scenario import Script, run_script


@pytest.fixture(scope="module")
def docs() -> LoadedLesson:
    return load_lesson("10")


def sentence(loaded: LoadedLesson, name: str, given: Any) -> str:
    return grade(loaded.lesson, name, given, loaded.traces).text


def changed(loaded: LoadedLesson, scenario: str, **config: int) -> Mapping[str, Trace]:
    """The recorded runs, with one of them run anew under other settings."""
    workload, vocabulary = loaded.script(scenario)
    config_then = msgspec.structs.replace(workload.config, **config)
    again = Script(msgspec.structs.replace(workload, config=config_then), vocabulary)
    return {**loaded.traces, scenario: run_script(again)}


def test_a_number_is_right_or_gets_the_sentence_of_its_mistake(docs: LoadedLesson) -> None:
    assert sentence(docs, "r1_cached", 8) == "r1_cached.right"
    assert sentence(docs, "r1_cached", 10) == "r1_cached.wrong.token_level"
    assert sentence(docs, "r1_cached", 0) == "r1_cached.wrong.nothing"
    assert sentence(docs, "r1_cached", 5) == "r1_cached.wrong"


def test_the_only_block_that_forgets_is_not_the_first_to_be_taken(docs: LoadedLesson) -> None:
    assert sentence(docs, "next_block", 8) == "next_block.right"
    assert sentence(docs, "next_block", 4) == "next_block.wrong.evicted"
    assert sentence(docs, "next_block", 1) == "next_block.wrong.hit"


def test_who_keeps_a_token_to_compute_is_told_that_others_are_left_already() -> None:
    agent = load_lesson("11")
    assert sentence(agent, "tail", 36) == "tail.right"
    assert sentence(agent, "tail", 35) == "tail.wrong.held_back"
    assert sentence(agent, "tail", 32) == "tail.wrong.held_back"
    assert sentence(agent, "tail", 20) == "tail.wrong.too_few"


def test_an_order_may_come_as_a_list_and_its_mistake_is_known(docs: LoadedLesson) -> None:
    assert sentence(docs, "r1_table", [1, 2, 6, 7]) == "r1_table.right"
    assert sentence(docs, "r1_table", [0, 1, 5, 6]) == "r1_table.wrong.from_zero"
    assert sentence(docs, "freed", [3, 4, 5]) == "freed.wrong.forward"
    assert sentence(docs, "freed", [5, 4, 3, 2, 1]) == "freed.wrong.shared_too"
    assert sentence(docs, "freed", []) == "freed.wrong"


def test_a_choice_is_answered_by_its_name() -> None:
    loaded = load_lesson("15")
    assert choices_of(loaded.lesson, "victim", loaded.traces) == ("a", "b", "nobody")
    assert sentence(loaded, "victim", "b") == "victim.right"
    assert sentence(loaded, "victim", "a") == "victim.wrong.itself"


def test_a_share_is_answered_in_per_cent_and_nearly_is_enough() -> None:
    loaded = load_lesson("1")
    assert answer_of(loaded.lesson, "waste", loaded.traces) == pytest.approx(74.02, abs=0.01)
    assert sentence(loaded, "waste", 74) == "waste.right"
    assert sentence(loaded, "waste", 75) == "waste.right"
    assert sentence(loaded, "waste", 26) == "waste.wrong.used"


def test_blocks_to_be_arranged_are_offered_sorted_and_others_are_clicked() -> None:
    loaded = load_lesson("13")
    assert choices_of(loaded.lesson, "queue", loaded.traces) == (1, 2, 3, 4, 5, 6, 7, 8)
    assert choices_of(load_lesson("10").lesson, "r1_table", load_lesson("10").traces) == ()


def test_a_changed_scenario_is_graded_by_what_it_does(docs: LoadedLesson) -> None:
    """With blocks of 2, request r1 hits 10 tokens: what was a mistake is now the answer."""
    traces = changed(docs, "docs", block_size=2, num_blocks=21)
    assert grade(docs.lesson, "r1_cached", 10, traces).is_right
    assert not grade(docs.lesson, "r1_cached", 8, traces).is_right
    assert docs.values(traces)["r1_cached"] == 10
    assert docs.values()["r1_cached"] == 8


def test_what_a_changed_run_does_not_hold_cannot_be_graded(docs: LoadedLesson) -> None:
    """With a large pool nobody is preempted in lesson 15."""
    loaded = load_lesson("15")
    traces = changed(loaded, "main", num_blocks=33)
    with pytest.raises(FactError, match="0 requests are preempted"):
        grade(loaded.lesson, "victim", "b", traces)
    assert loaded.values(traces)["victim"] == "b"  # the text goes on about the recorded run


CASES = [
    ("off_by_one", 4, 5, True),
    ("off_by_one", 5, 5, False),
    ("off_by_one", True, 2, False),
    ("one_too_few", 4, 5, True),
    ("one_too_few", 6, 5, False),
    ("one_too_many", 6, 5, True),
    ("one_too_many", 4, 5, False),
    ("numbered_from_zero", (0, 1), (1, 2), True),
    ("numbered_from_zero", (1, 2), (1, 2), False),
    ("numbered_from_zero", 3, 4, True),
    ("forward_order", (1, 2, 3), (3, 2, 1), True),
    ("forward_order", (1, 1), (1, 1), False),
    ("ascending_order", (1, 2, 3), (2, 3, 1), True),
    ("ascending_order", (1, 2), (1, 2), False),
    ("same_blocks", (1, 3, 2), (1, 2, 3), True),
    ("same_blocks", (1, 2), (1, 2, 3), False),
    ("too_few", 3, 4, True),
    ("too_few", 4, 4, False),
    ("too_many", 5, 4, True),
    ("too_many", 4, 4, False),
    ("as_a_share", 0.74, 74.02, True),
    ("as_a_share", 74, 74.02, False),
    ("as_a_share", 0, 0.5, False),
]


@pytest.mark.parametrize(("name", "given", "answer", "expected"), CASES)
def test_misconceptions(name: str, given: Any, answer: Any, expected: bool) -> None:
    assert MISCONCEPTIONS[name](given, answer) is expected


def test_every_misconception_has_a_case() -> None:
    assert {case[0] for case in CASES} == set(MISCONCEPTIONS)


@pytest.mark.parametrize(
    ("lesson", "question", "given", "mistake"),
    [
        ("12", "usage", 33, "partial"),
        ("13", "eight_hit", 4, "as_before"),
        ("19", "lora_hit", 13, "whole"),
        ("19", "skip_hit", 9, "whole"),
        ("21", "hole_step", 3, "prefill"),
    ],
)
def test_a_number_that_people_get_to_by_a_known_way_is_answered_by_that_way(
    lesson, question, given, mistake
):
    loaded = load_lesson(lesson)
    found = grade(loaded.lesson, question, given, loaded.traces)
    assert found.text == f"{question}.wrong.{mistake}"
