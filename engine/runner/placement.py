"""Where a model runs, in which dtype, on how many threads: what a user may choose."""

import torch

from engine.errors import ConfigError
from engine.runner.four_bit import FOUR_BIT, kernel_works

DTYPES = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    FOUR_BIT: torch.bfloat16,  # of everything but the stored weights
}


def choose_device(device: str | None) -> torch.device:
    if device is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
    except RuntimeError as error:
        raise ConfigError(f"device={device!r} is unknown: choose cpu or cuda") from error
    if chosen.type not in ("cpu", "cuda"):
        raise ConfigError(f"device={device!r} is not supported: choose cpu or cuda")
    if chosen.index and chosen.type == "cuda":
        raise ConfigError(
            f"device={device!r} is not the first GPU, and the kernels run on the first alone: "
            f"set CUDA_VISIBLE_DEVICES={chosen.index} and choose cuda"
        )
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError(f"device={device!r}, but torch finds no CUDA device here: choose cpu")
    return chosen


def choose_dtype(dtype: str | None, device: torch.device) -> torch.dtype:
    if dtype is None or dtype == "auto":
        return torch.bfloat16 if _computes_bfloat16(device) else torch.float32
    if dtype not in DTYPES:
        raise ConfigError(f"dtype={dtype!r} is unknown: choose one of {', '.join(DTYPES)} or auto")
    if dtype == FOUR_BIT and not (device.type == "cpu" and kernel_works()):
        raise ConfigError(
            f"dtype={dtype!r} needs torch's packed 4-bit kernel, which does not run on this "
            f"{'processor' if device.type == 'cpu' else 'device'}: choose another dtype"
        )
    return DTYPES[dtype]


def set_threads(num_threads: int) -> None:
    if isinstance(num_threads, bool) or not isinstance(num_threads, int) or num_threads < 1:
        raise ConfigError(f"num_threads={num_threads!r} is no whole number from 1 up")
    torch.set_num_threads(num_threads)


def _computes_bfloat16(device: torch.device) -> bool:
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    return True
