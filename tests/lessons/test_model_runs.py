"""A scenario on the real model: its recorded run opens without a model, and a new one is the same."""

from pathlib import Path

import pytest

from engine.config import EngineConfig
from engine.trace.events import PrefixLookedUp, TokensSampled
from engine.trace.trace import Trace
from lessons.__main__ import default_model, run_on_model
from lessons.library import all_lessons, load_lesson
from lessons.scenario import needs_model, whole_scenario
from lessons.verification import verify
from tests.lessons.builders import Draft


def hits(trace: Trace) -> list[tuple[str, int, int]]:
    return [
        (event.request_id, event.num_tokens, event.num_hit_tokens)
        for event in trace.events_from(0)
        if isinstance(event, PrefixLookedUp)
    ]


def test_a_recorded_run_of_the_model_needs_no_model() -> None:
    loaded = load_lesson("9")
    trace = loaded.traces["model"]
    assert trace.header.model is not None
    assert hits(trace)[0][2] == 0
    assert all(hit == 16 for _, _, hit in hits(trace)[1:])


def test_a_prompt_that_changed_asks_for_another_recording(tmp_path: Path) -> None:
    draft = Draft(tmp_path)
    loaded = load_lesson("9")
    toml = draft.folder / "lesson.toml"
    whole = whole_scenario(loaded.lesson, "model")
    asked = ", ".join(f'{{ text = "{p.text}", max_tokens = 8 }}' for p in whole.prompts)
    scenario = (
        '[[scenarios]]\nname = "model"\nconfig = { block_size = 16, num_blocks = 64, '
        "max_num_batched_tokens = 256, max_model_len = 2048 }\n"
        f"prompts = [{asked}]\n\n[[chunks]]"
    )
    draft.replace("lesson.toml", "[[chunks]]", scenario)
    draft.replace(
        "en.md", "## arrives", "## scenario.main\nA\n\n## scenario.model\nB\n\n## arrives"
    )
    recorded = loaded.trace_path("model").read_bytes()
    (draft.folder / "trace.model.jsonl").write_bytes(recorded)
    assert verify(draft.folder).problems == ()
    toml.write_text(toml.read_text(encoding="utf-8").replace("sky", "sea"), encoding="utf-8")
    (problem,) = verify(draft.folder).problems
    assert "the prompts changed since it was recorded" in problem
    assert "record --model 07-small" in problem


ON_MODEL = [
    (loaded.name, scenario.name)
    for loaded in all_lessons()
    for scenario in loaded.lesson.scenarios
    if needs_model(whole_scenario(loaded.lesson, scenario.name))
]


def test_five_lessons_are_about_a_model() -> None:
    assert sorted({name[:2] for name, _ in ON_MODEL}) == ["02", "04", "09", "11", "17"]


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.parametrize(("name", "scenario"), ON_MODEL)
def test_the_model_hits_again_what_the_recorded_run_hit(name: str, scenario: str) -> None:
    loaded = load_lesson(name)
    whole = whole_scenario(loaded.lesson, scenario)
    fresh = run_on_model(whole.prompts, EngineConfig.from_mapping(whole.config))
    assert hits(fresh) == hits(loaded.traces[scenario])
    assert any(isinstance(event, TokensSampled) for event in fresh.events_from(0))


@pytest.mark.model
@pytest.mark.slow
def test_the_bytes_of_lesson_4_are_those_of_the_tensors_that_the_engine_allocates() -> None:
    from engine.sources.live import LiveSource

    loaded = load_lesson("4")
    whole = whole_scenario(loaded.lesson, "model")
    source = LiveSource(default_model(), EngineConfig.from_mapping(whole.config))
    found = sum(tensor.numel() * tensor.element_size() for tensor in source.runner.tensors)
    assert found == loaded.value("model_pool") == 64 * loaded.value("model_block")
