"""Which model the pages run, as whoever starts the server chose it.

Checked when the server starts, as far as that goes without torch: whether the model fits the dtype
is known once it loads, and the page says it then.
"""

import functools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from engine.errors import ConfigError
from views.text import quoted

MODEL, DTYPE, ATTENTION = "PAGEWALK_MODEL", "PAGEWALK_DTYPE", "PAGEWALK_ATTENTION"
DTYPE_CHOICE = "PAGEWALK_DTYPE_CHOICE"
DTYPES = ("auto", "float32", "bfloat16", "float16", "4bit")  # engine/runner/placement.py
ATTENTIONS = ("auto", "triton", "torch")  # engine/runner/attention/backend.py
KNOWN = {DTYPE: DTYPES, ATTENTION: ATTENTIONS, DTYPE_CHOICE: ("on", "off")}


class ModelChoice(NamedTuple):
    """None stands for the packaged model, and for the dtype that its device computes in."""

    model: str | None = None
    dtype: str | None = None
    offers_other: bool = True  # visitors may choose the other dtype, where the model has one


def read_model_choice(environ: Mapping[str, str] = os.environ) -> ModelChoice:
    """ConfigError with a sentence for every variable that is wrong."""
    given = {name: environ.get(name, "").strip() for name in (MODEL, *KNOWN)}
    wrong = [
        f"{name}={quoted(given[name])} is unknown: choose one of {', '.join(known)}."
        for name, known in KNOWN.items()
        if given[name] and given[name] not in known
    ]
    if _names_a_file(given[MODEL]) and not Path(given[MODEL]).expanduser().exists():
        wrong.append(
            f"{MODEL}={quoted(given[MODEL])} does not exist: give a model folder, a .gguf file "
            "or a hub id such as Qwen/Qwen2-0.5B-Instruct."
        )
    if wrong:
        raise ConfigError(" ".join(wrong))
    return ModelChoice(
        given[MODEL] or None, given[DTYPE] or None, offers_other=given[DTYPE_CHOICE] != "off"
    )


def _names_a_file(model: str) -> bool:
    """Rather than a model of a hub."""
    return model.endswith(".gguf") or model.startswith((".", "/", "~")) or model.count("/") > 1


@functools.cache
def server_model() -> ModelChoice:
    """The choice of this process, read when somebody asks for the first time."""
    return read_model_choice()
