"""A lesson about a model is run live on the model: ordered, waited for, graded by what came out."""

import pytest

from engine.trace.events import PrefixLookedUp
from views.choices import Choices
from views.ordering import can_run, run_ordered, waits
from views.share import Share
from views.studying import ACTIONS, show
from views.text import Text
from views.widgets.lesson import change_form

TEXT = Text("en")


class NoModel:
    """A loader that was asked, and is not there yet or never will be."""

    def __init__(self, failure: str | None = None) -> None:
        self.num_asked, self.is_ready, self.failure = 0, False, failure

    def start(self) -> None:
        self.num_asked += 1

    def retry(self) -> None:
        self.num_asked += 1


def at_the_model(loader, lesson="9") -> Choices:
    """At the first text of the lesson's run on the model."""
    chosen = Choices(share=Share(loader=loader))
    ACTIONS["lesson"](chosen, None, lesson)
    scenarios = [chunk.scenario for chunk in chosen.study.loaded.lesson.chunks]
    chosen.study.turn(scenarios.index("model"))
    show(chosen)
    return chosen


def test_the_form_of_a_model_has_prompts_and_no_answers():
    form = change_form(at_the_model(NoModel()).study, TEXT)
    assert [(id_, answer) for id_, _, answer in form["requests"]] == [
        ("r0", None),
        ("r1", None),
        ("r2", None),
    ]
    assert "the real model runs it" in form["hint"].lower()
    assert form["waits"] == ""


def test_an_order_starts_the_model_and_says_that_it_waits():
    loader = NoModel()
    chosen = at_the_model(loader)
    assert ACTIONS["changed"](chosen, None, {"prompts": {"r1": "Why is the sea blue?"}})
    assert loader.num_asked > 0
    assert waits(chosen)
    assert not can_run(chosen)
    assert "begins by itself" in change_form(chosen.study, TEXT)["waits"]
    chosen.study.turn(0)  # whoever reads on does not wait any more
    assert not waits(chosen)


def test_a_model_that_never_comes_is_a_sentence_and_the_recorded_run_stays():
    chosen = at_the_model(NoModel("no such folder"))
    ACTIONS["changed"](chosen, None, {})
    assert can_run(chosen)
    run_ordered(chosen)
    form = change_form(chosen.study, TEXT)
    assert form["complaint"] == "The model could not be loaded: no such folder"
    assert (form["is_own"], form["waits"]) == (False, "")


def test_a_setting_that_is_no_number_is_told_before_anything_is_loaded():
    loader = NoModel()
    chosen = at_the_model(loader)
    ACTIONS["changed"](chosen, None, {"settings": {"block_size": "many"}})
    assert "block_size" in chosen.study.change_complaint
    assert (loader.num_asked, waits(chosen)) == (0, False)


@pytest.fixture(scope="module")
def ready():
    from engine.sources.live import load_model

    class Ready(NoModel):
        lock = None
        model = load_model()

    loader = Ready()
    loader.is_ready = True
    return loader


def hits(chosen) -> list[int]:
    events = chosen.study.traces["model"].events_from(0)
    return [event.num_hit_tokens for event in events if isinstance(event, PrefixLookedUp)]


@pytest.mark.model
@pytest.mark.slow
def test_the_default_model_runs_the_changed_prompts(ready):
    chosen = at_the_model(ready)
    ACTIONS["changed"](chosen, None, {"prompts": {"r1": "What is the capital of France?"}})
    run_ordered(chosen)
    assert chosen.study.change_complaint == ""
    assert hits(chosen) == [0, 32, 16]  # r1 asks what r0 asked
    ACTIONS["changed"](chosen, None, {"settings": {"num_blocks": "20000"}})
    run_ordered(chosen)
    assert "at most 10000" in chosen.study.change_complaint


@pytest.mark.model
@pytest.mark.slow
def test_a_changed_chat_goes_on_from_what_the_model_answered(ready):
    chosen = at_the_model(ready, "17")
    ACTIONS["changed"](chosen, None, {"prompts": {"r0": "Name one planet."}})
    run_ordered(chosen)
    assert chosen.study.change_complaint == ""
    trace = chosen.study.traces["model"]
    first, second, _ = trace.at(trace.last).requests.values()
    said = b"".join(second.added.prompt_token_bytes).decode()
    assert "user\nName one planet.<|im_end|>" in said
    assert f"assistant\n{first.output_text}<|im_end|>" in said
    assert said.endswith("user\nTell me more.<|im_end|>\n<|im_start|>assistant\n")
    ACTIONS["answered"](chosen, None, str((first.num_tokens - 1) // 16 * 16))
    assert chosen.study.answers["chat_hit"].is_right
