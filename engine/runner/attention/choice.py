"""Which attention kernel a device gets."""

import functools
import importlib.util
import os
from typing import NamedTuple

import torch

from engine.errors import ConfigError, Sentence
from engine.runner.attention.backend import AttentionBackend

WANTED = ("auto", "triton", "torch")
ATTENTION_VARIABLE = "PAGEWALK_ATTENTION"
BUILT_FOR_ANOTHER = (ImportError, OSError, RuntimeError, AttributeError)  # system than this
OLDEST_CAPABILITY = (8, 0)  # tensor cores for bfloat16 and TF32


class BackendChoice(NamedTuple):
    backend: AttentionBackend
    reason: Sentence | None  # why a GPU does without the kernels; None: nothing to tell


def choose_backend(device: torch.device, wanted: str | None = None) -> AttentionBackend:
    """See explain_backend."""
    return explain_backend(device, wanted).backend


def explain_backend(device: torch.device, wanted: str | None = None) -> BackendChoice:
    """The Triton kernels on an NVIDIA GPU that can run them, plain torch everywhere else.

    `wanted` is one of WANTED; None: what the environment variable PAGEWALK_ATTENTION says, else
    "auto". ConfigError for another word, and for "triton" where the kernels cannot run.
    """
    wanted = wanted or os.environ.get(ATTENTION_VARIABLE) or "auto"
    if wanted not in WANTED:
        raise ConfigError(f"attention={wanted!r} is unknown: choose one of {', '.join(WANTED)}")
    assert device.type in ("cpu", "cuda", "mps", "meta"), device
    if wanted == "torch" or (wanted == "auto" and device.type != "cuda"):
        return BackendChoice(_torch_backend(), None)
    why_not = why_no_kernels(device)
    if why_not is None:
        return BackendChoice(_triton_backend(), None)
    if wanted == "triton":
        raise ConfigError(f"attention='triton' cannot run on {device}: {why_not}; choose torch")
    reason = Sentence.of("path.torch", "Attention runs in plain torch: {why}.", why=why_not)
    return BackendChoice(_torch_backend(), reason)


@functools.cache
def why_no_kernels(device: torch.device) -> Sentence | None:
    """Why the Triton kernels cannot run there, as a clause; None: they can, and a trial proved it."""
    if device.type == "cuda":
        if torch.version.cuda is None:
            return Sentence.of("kernels.other_maker", "this GPU is not one of NVIDIA's")
        major, minor = torch.cuda.get_device_capability(device)
        if (major, minor) < OLDEST_CAPABILITY:
            return Sentence.of(
                "kernels.old_gpu",
                "this GPU is an sm_{number}, and the Triton kernels need sm_80 or newer",
                number=f"{major}{minor}",
            )
    if importlib.util.find_spec("triton") is None:
        return Sentence.of("kernels.not_installed", "the package triton is not installed")
    try:
        from engine.runner.attention.triton_backend import INTERPRETED, why_kernels_fail
    except BUILT_FOR_ANOTHER as error:
        return Sentence.of(
            "kernels.not_imported",
            "the package triton cannot be imported ({error})",
            error=f"{type(error).__name__}: {error}",
        )
    if device.type != "cuda" and not INTERPRETED:
        return Sentence.of("kernels.no_gpu", "the Triton kernels need an NVIDIA GPU")
    return why_kernels_fail(device)


def _torch_backend() -> AttentionBackend:
    from engine.runner.attention.reference import ReferenceAttention

    return ReferenceAttention()


def _triton_backend() -> AttentionBackend:
    from engine.runner.attention.triton_backend import TritonAttention

    return TritonAttention()
