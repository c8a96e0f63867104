"""Whoever starts the server chooses the model; what cannot be is said before a page opens."""

import subprocess
import sys

import pytest

from engine.errors import ConfigError
from engine.runner.attention.choice import ATTENTION_VARIABLE, WANTED
from engine.runner.placement import DTYPES as RUNNER_DTYPES
from tests.source_tree import ROOT
from tests.views import fake_live
from views.limits import server_limits
from views.loading import load_default_model, other_form
from views.model_choice import ATTENTION, ATTENTIONS, DTYPES, ModelChoice, read_model_choice


def test_without_a_word_it_is_the_packaged_model():
    assert read_model_choice({}) == (None, None, True)
    assert read_model_choice({"PAGEWALK_MODEL": " ", "PAGEWALK_DTYPE": ""}) == (None, None, True)


def test_the_words_are_the_runners_own():
    assert set(DTYPES) == {"auto", *RUNNER_DTYPES}
    assert (ATTENTION, ATTENTIONS) == (ATTENTION_VARIABLE, WANTED)


def test_a_hub_id_a_folder_and_4bit_are_taken(tmp_path):
    given = {"PAGEWALK_MODEL": "Qwen/Qwen2-0.5B-Instruct", "PAGEWALK_DTYPE": "4bit"}
    assert read_model_choice(given)[:2] == ("Qwen/Qwen2-0.5B-Instruct", "4bit")
    assert read_model_choice({"PAGEWALK_MODEL": str(tmp_path)}).model == str(tmp_path)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"PAGEWALK_DTYPE": "int4"},
            "PAGEWALK_DTYPE=int4 is unknown: choose one of auto, float32, bfloat16, float16, 4bit.",
        ),
        (
            {"PAGEWALK_ATTENTION": "flash"},
            "PAGEWALK_ATTENTION=flash is unknown: choose one of auto, triton, torch.",
        ),
        (
            {"PAGEWALK_DTYPE_CHOICE": "no"},
            "PAGEWALK_DTYPE_CHOICE=no is unknown: choose one of on, off.",
        ),
        (
            {"PAGEWALK_MODEL": "/nowhere/model.gguf"},
            "PAGEWALK_MODEL=/nowhere/model.gguf does not exist: give a model folder",
        ),
    ],
)
def test_what_is_wrong_gets_a_sentence(given, said):
    with pytest.raises(ConfigError) as refused:
        read_model_choice(given)
    assert said in str(refused.value)


def test_the_server_does_not_start_with_a_wrong_one():
    done = subprocess.run(
        [sys.executable, "-m", "views"],
        cwd=ROOT,
        env={"PATH": "", "PAGEWALK_DTYPE": "8bit"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr.strip().startswith("PAGEWALK_DTYPE=8bit is unknown")


def test_the_loader_gets_what_was_chosen(monkeypatch):
    asked = {}
    monkeypatch.setitem(sys.modules, "engine.sources.live", fake_live)
    monkeypatch.setattr(fake_live, "load_model", lambda **options: asked.update(options))
    monkeypatch.setattr("views.loading.server_model", lambda: ModelChoice("folder", "4bit"))
    load_default_model(lambda stage, share: None)
    assert (asked["model"], asked["dtype"]) == ("folder", "4bit")
    assert (asked["num_threads"], 1 <= asked["prompt_threads"] <= 4) == (1, True)


@pytest.mark.parametrize(
    ("given", "offered"), [("on", ("bfloat16", "4bit")), ("", ("bfloat16", "4bit")), ("off", None)]
)
def test_whoever_starts_the_server_decides_whether_visitors_may_choose(monkeypatch, given, offered):
    choice = read_model_choice({"PAGEWALK_MODEL": "folder", "PAGEWALK_DTYPE_CHOICE": given})
    monkeypatch.setitem(sys.modules, "engine.sources.live", fake_live)
    monkeypatch.setattr(fake_live, "dtypes_on_offer", lambda model, path: ("bfloat16", "4bit"))
    monkeypatch.setattr("views.loading.server_model", lambda: choice)
    found = other_form("fake:bfloat16")
    assert (found and found.dtypes) == offered


def test_the_other_form_is_of_the_same_file_under_the_same_limits(monkeypatch):
    asked = {}
    monkeypatch.setitem(sys.modules, "engine.sources.live", fake_live)
    monkeypatch.setattr(fake_live, "dtypes_on_offer", lambda model, path: ("4bit", "bfloat16"))
    monkeypatch.setattr(
        fake_live, "load_beside", lambda model, path, **options: asked.update(options, path=path)
    )
    monkeypatch.setattr("views.loading.server_model", lambda: ModelChoice("a.gguf", "4bit"))
    other_form("fake:4bit").load(lambda stage, share: None)
    assert (asked["path"], asked["dtype"], asked["num_threads"]) == ("a.gguf", "bfloat16", 1)
    assert asked["known_steps_bytes"] == server_limits().max_known_steps_bytes


@pytest.mark.parametrize(("given", "num_bytes"), [("", 64 << 20), ("0", 0), ("8MiB", 8 << 20)])
def test_the_loader_gets_the_room_for_known_steps(monkeypatch, given, num_bytes):
    asked = {}
    monkeypatch.setitem(sys.modules, "engine.sources.live", fake_live)
    monkeypatch.setattr(fake_live, "load_model", lambda **options: asked.update(options))
    monkeypatch.setenv("PAGEWALK_MAX_KNOWN_STEPS_BYTES", given)
    server_limits.cache_clear()
    load_default_model(lambda stage, share: None)
    server_limits.cache_clear()
    assert asked["known_steps_bytes"] == num_bytes
