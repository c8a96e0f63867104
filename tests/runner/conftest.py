"""One thread, and the default model once per dtype; in bfloat16 for all rooms: tests/conftest.py."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

from engine.runner.loaded_model import LoadedModel
from engine.runner.model_folder import models_root
from engine.runner.model_loader import load_model


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def float32() -> LoadedModel:
    return load_model(dtype="float32")


@pytest.fixture(scope="session")
def stock_float32(float32: LoadedModel) -> Any:
    """transformers' own model with nothing replaced."""
    folder = models_root() / float32.name
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
