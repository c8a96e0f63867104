"""Which attention kernel a device gets."""

import functools
import importlib.util
import os
from typing import NamedTuple

import torch

from engine.errors import ConfigError
from engine.runner.attention.backend import AttentionBackend

WANTED = ("auto", "triton", "torch")
ATTENTION_VARIABLE = "PAGEWALK_ATTENTION"
OLDEST_CAPABILITY = (8, 0)  # tensor cores for bfloat16 and TF32


class BackendChoice(NamedTuple):
    backend: AttentionBackend
    reason: str | None  # one sentence: why a GPU does without the kernels; None: nothing to tell


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
    return BackendChoice(_torch_backend(), f"Attention runs in plain torch: {why_not}.")


@functools.cache
def why_no_kernels(device: torch.device) -> str | None:
    """Why the Triton kernels cannot run there, as a clause; None: they can, and a trial proved it."""
    if device.type == "cuda":
        if torch.version.cuda is None:
            return "this GPU is not one of NVIDIA's"
        major, minor = torch.cuda.get_device_capability(device)
        if (major, minor) < OLDEST_CAPABILITY:
            return f"this GPU is an sm_{major}{minor}, and the Triton kernels need sm_80 or newer"
    if importlib.util.find_spec("triton") is None:
        return "the package triton is not installed"
    try:
        from engine.runner.attention.triton_backend import INTERPRETED, why_kernels_fail
    except (
        ImportError,
        OSError,
        RuntimeError,
        AttributeError,
    ) as error:  # built for another system
        return f"the package triton cannot be imported ({type(error).__name__}: {error})"
    if device.type != "cuda" and not INTERPRETED:
        return "the Triton kernels need an NVIDIA GPU"
    return why_kernels_fail(device)


def _torch_backend() -> AttentionBackend:
    from engine.runner.attention.reference import ReferenceAttention

    return ReferenceAttention()


def _triton_backend() -> AttentionBackend:
    from engine.runner.attention.triton_backend import TritonAttention

    return TritonAttention()
