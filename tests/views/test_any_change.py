"""Whatever a reader makes of a lesson's run, every text of it can be drawn and every answer graded."""

import pytest

from lessons.changed import changeable
from lessons.library import all_lessons
from lessons.scenario import needs_model, whole_scenario
from views.choices import Choices
from views.studying import ACTIONS
from views.text import Text
from views.widgets.lesson import lesson_payload

TEXT = Text("en")
LESSONS = {loaded.name: loaded for loaded in all_lessons()}
SMALL = {
    "settings": {"block_size": "16"},
    "text": "AB",
}  # nothing fills a block, and nothing is shared
LARGE = {"settings": {"block_size": "1", "num_blocks": "300"}, "text": "ABABABABABABABABABABABABAB"}
CHANGES = {"small": SMALL, "large": LARGE}


def form_of(loaded, scenario, change):
    """None where the reader can change no text of the scenario, or only the model can run it."""
    _, requests = changeable(loaded, scenario)
    if not requests or needs_model(whole_scenario(loaded.lesson, scenario)):
        return None
    texts = {request.id: change["text"] for request in requests}
    return {"settings": change["settings"], "prompts": texts, "outputs": {}}


@pytest.mark.parametrize("name", LESSONS)
@pytest.mark.parametrize("change", CHANGES)
def test_every_text_of_a_changed_lesson_is_drawn_and_every_answer_is_told_something(name, change):
    loaded, chosen = LESSONS[name], Choices()
    ACTIONS["lesson"](chosen, None, name)
    for place, chunk in enumerate(loaded.lesson.chunks):
        chosen.study.turn(place)
        form = form_of(loaded, chosen.study.scenario, CHANGES[change])
        if form is not None and chosen.study.scenario not in chosen.study.own:
            ACTIONS["changed"](chosen, None, form)
        assert lesson_payload(chosen.study, TEXT)["text"]
        if chunk.predict is None:
            continue
        kind = loaded.lesson.predictions[chunk.predict].kind
        if kind in ("block", "order"):
            chosen.study.pick(1)
        options = list(loaded.lesson.predictions[chunk.predict].options)
        ACTIONS["answered"](chosen, None, options[0] if options else "1")
        shown = lesson_payload(chosen.study, TEXT)
        if shown["question"] is not None:  # this run does not hold the answer
            assert shown["question"]["complaint"].endswith("Skip the question.")
            ACTIONS["skipped"](chosen, None, "")
            shown = lesson_payload(chosen.study, TEXT)
        assert shown["verdict"]["title"]


def test_a_setting_that_cannot_be_is_told_without_the_files_of_the_lesson():
    chosen = Choices()
    ACTIONS["lesson"](chosen, None, "6")
    ACTIONS["changed"](chosen, None, {"settings": {"num_blocks": "1"}})
    assert chosen.study.change_complaint == (
        "num_blocks=1 is out of range: give a whole number from 2 to 4,000,000"
    )
