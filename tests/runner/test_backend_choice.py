"""Which attention a device gets, and what it says where a GPU does without the kernels."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch

from engine.errors import ConfigError
from engine.runner.attention import choice
from engine.runner.attention.choice import ATTENTION_VARIABLE, explain_backend, why_no_kernels
from tests.source_tree import ROOT

CPU, CUDA = torch.device("cpu"), torch.device("cuda", 0)


@pytest.fixture(autouse=True)
def _nothing_remembered(monkeypatch) -> Iterator[None]:
    monkeypatch.delenv(ATTENTION_VARIABLE, raising=False)
    why_no_kernels.cache_clear()
    yield
    why_no_kernels.cache_clear()


@pytest.fixture
def gpu(monkeypatch):
    """A GPU of any age that nothing can run on."""

    def pretend(capability: tuple[int, int], cuda: str | None = "13.0") -> None:
        monkeypatch.setattr(torch.version, "cuda", cuda)
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)

    return pretend


def test_a_cpu_gets_plain_torch_and_has_nothing_to_explain():
    chosen, reason = explain_backend(CPU)
    assert (chosen.name, reason) == ("torch-reference", None)


def test_a_gpu_older_than_sm_80_falls_back_with_one_sentence(gpu):
    gpu((7, 5))
    chosen, reason = explain_backend(CUDA)
    assert chosen.name == "torch-reference"
    assert reason == (
        "Attention runs in plain torch: this GPU is an sm_75, "
        "and the Triton kernels need sm_80 or newer."
    )


def test_a_gpu_of_another_maker_falls_back(gpu):
    gpu((9, 4), cuda=None)
    assert "not one of NVIDIA's" in str(explain_backend(CUDA).reason)


def test_without_the_package_it_falls_back(gpu, monkeypatch):
    gpu((9, 0))
    monkeypatch.setattr(choice.importlib.util, "find_spec", lambda name: None)
    assert "triton is not installed" in str(explain_backend(CUDA).reason)


def test_a_package_that_cannot_be_imported_is_as_good_as_none(gpu, monkeypatch):
    gpu((9, 0))
    monkeypatch.setattr(choice.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setitem(sys.modules, "engine.runner.attention.triton_backend", None)
    chosen, reason = explain_backend(CUDA)
    assert chosen.name == "torch-reference"
    assert str(reason).startswith(
        "Attention runs in plain torch: the package triton cannot be imported (ModuleNotFoundError"
    )


def test_plain_torch_can_be_asked_for_and_says_nothing(gpu):
    gpu((7, 5))
    chosen, reason = explain_backend(CUDA, "torch")
    assert (chosen.name, reason) == ("torch-reference", None)


@pytest.mark.parametrize("word", ["triton", "flash"])
def test_what_cannot_be_had_is_refused(word, monkeypatch):
    monkeypatch.setattr(choice.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=f"attention='{word}'"):
        explain_backend(CPU, word)


def test_the_environment_may_choose_and_an_argument_is_stronger(monkeypatch):
    monkeypatch.setenv(ATTENTION_VARIABLE, "flash")
    with pytest.raises(ConfigError, match="choose one of auto, triton, torch"):
        explain_backend(CPU)
    assert explain_backend(CPU, "torch").backend.name == "torch-reference"


def test_a_runner_on_a_cpu_imports_none_of_the_gpu_files():
    """So that an engine without triton is whole."""
    code = (
        "import sys, torch\n"
        "import engine.runner.model_runner\n"
        "from engine.runner.attention.choice import choose_backend\n"
        "choose_backend(torch.device('cpu'))\n"
        "gpu = [n for n in sys.modules if n.startswith('engine.') and ('triton' in n or 'decode_' in n)]\n"
        "assert not gpu, gpu\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
