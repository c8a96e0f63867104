"""On which path a run is computed, in a few words, and all of it for whoever asks."""

from typing import NamedTuple

from engine.trace.header import TraceHeader
from views.text import Text

TORCH = "torch-reference"  # engine/runner/attention/reference.py
# How the runner's names of its ways to decode begin.
DECODES = {"native": "path.words_c", "graph": "path.words_graphs"}
SHORT = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}


class PathWords(NamedTuple):
    words: str
    hint: str


def runs_kernels(header: TraceHeader) -> bool:
    """Whether the Triton kernels computed this run."""
    return (header.kernel or "").split("+")[0] == "triton"


def engine_path(header: TraceHeader, reason: str | None, text: Text) -> PathWords | None:
    """None where no model ran. `reason`: why a GPU does without the kernels (LiveRun.path_reason)."""
    if header.kernel is None:
        return None
    attention, *others = header.kernel.split("+")
    named = {
        "attention": "torch" if attention == TORCH else attention,
        "dtype": header.dtype,
        "device": header.device,
        "others": "+".join(others),
    }
    hint = text("path.kernels" if runs_kernels(header) else "path.torch", **named)
    said = None if reason is None else text.said(reason)
    short = {
        "attention": named["attention"],
        "dtype": SHORT.get(header.dtype or "", header.dtype),
    }
    ways = [DECODES[way] for other in others if (way := other.partition("-")[0]) in DECODES]
    words = text(ways[0] if ways else "path.words", **short)
    return PathWords(words, "\n".join(filter(None, (said, hint))))
