"""Prompts that go on from one another: which is due, and what was said before."""

import pytest

from engine.trace.trace import Trace
from lessons.conversation import is_due, turns_before
from lessons.errors import LessonError
from lessons.library import load_lesson
from lessons.scenario import whole_scenario
from lessons.schema import Prompt
from tests.lessons.builders import Draft


def recorded() -> tuple[tuple[Prompt, ...], Trace]:
    loaded = load_lesson("17")
    return whole_scenario(loaded.lesson, "model").prompts, loaded.traces["model"]


def test_the_third_turn_goes_with_what_both_wrote_before() -> None:
    prompts, trace = recorded()
    answers = [trace.at(trace.last).requests[name].output_text for name in ("r0", "r1")]
    assert turns_before(prompts, prompts[2], trace) == [
        ("user", "What is a cache?"),
        ("assistant", answers[0]),
        ("user", "Tell me more."),
        ("assistant", answers[1]),
    ]
    assert turns_before(prompts, prompts[0], trace) == []


def test_a_next_turn_waits_for_the_answer_to_the_one_before() -> None:
    (_, second, _), trace = recorded()
    nothing_yet = Trace(trace.header)
    assert not is_due(second, nothing_yet, 0, can_go_on=False)
    assert is_due(second, trace, 0, can_go_on=True)


def test_a_prompt_that_stands_alone_waits_for_its_step_while_there_is_one() -> None:
    prompt, trace = Prompt(text="Hi", arrival_step=3), recorded()[1]
    assert [is_due(prompt, trace, step, can_go_on=True) for step in (2, 3)] == [False, True]
    assert is_due(prompt, trace, 0, can_go_on=False)


WRONG = {
    "a turn of the future": ('{ text = "Hi", continues = "r1" }', "continues: r1 does not exist"),
    "a raw prompt": (
        '{ text = "Hi", mode = "raw" }, { text = "Yes", continues = "r0" }',
        "prompts[1].continues: both are to be in mode chat",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_go_on_is_said_in_a_sentence(tmp_path, name) -> None:
    prompts, sentence = WRONG[name]
    draft = Draft(tmp_path)
    path = draft.folder / "lesson.toml"
    content = path.read_text(encoding="utf-8")
    start = content.index("requests = [")
    end = content.index("]\n", start) + 1
    path.write_text(f"{content[:start]}prompts = [{prompts}]{content[end:]}", encoding="utf-8")
    with pytest.raises(LessonError) as error:
        draft.load()
    assert sentence in str(error.value)
