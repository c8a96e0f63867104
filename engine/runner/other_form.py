"""The same model with its weights in another dtype, beside the one that is loaded.

    bfloat16     the dequantised weights of a GGUF file, and everything that was packed of them
    4bit         the bits of that file (four_bit.py)

Both have one tokenizer. Weights, cache tensors and known steps are each one's own: a step of the one
is never taken for a step of the other.
"""

import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from torch import nn

from engine.errors import ConfigError, SourceError
from engine.runner import default_model
from engine.runner.four_bit import FOUR_BIT, kernel_works
from engine.runner.loaded_model import LoadedModel
from engine.runner.memory import free_bytes
from engine.runner.model_folder import Progress
from engine.runner.model_loader import load_model
from engine.runner.packed_linear import PackedLinear

DEQUANTISED = "bfloat16"
BYTES_WHILE_LOADING = {FOUR_BIT: 9, DEQUANTISED: 11}  # of each weight; bench.other_form: 7.6, 9.5
FOUR_BIT_KINDS = (2, 3)  # Q4_0 and Q4_1 among ggml's types
MAGIC, STRING, ARRAY = b"GGUF", 8, 9
VALUE_BYTES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # by type


def dtypes_on_offer(loaded: LoadedModel, model: str | None) -> tuple[str, ...]:
    """The dtype of `loaded`, and the other one in which its weights can be had; nothing where there
    is none. `model`: what `load_model` got."""
    if loaded.device.type != "cpu":
        return ()
    if loaded.dtype_name == FOUR_BIT:
        return FOUR_BIT, DEQUANTISED
    gguf = _gguf_of(model)
    if gguf is None or not stores_four_bits(gguf) or not kernel_works():
        return ()
    return loaded.dtype_name, FOUR_BIT


def load_beside(
    loaded: LoadedModel, model: str | None, *, dtype: str, progress: Progress, **options: Any
) -> LoadedModel:
    """The same weights in another dtype. ConfigError where there is no memory for them as well."""
    _check_memory(loaded, dtype)
    found = load_model(model, dtype=dtype, progress=progress, **options)
    return replace(found, tokenizer=loaded.tokenizer)


def _check_memory(loaded: LoadedModel, dtype: str) -> None:
    """Before the system ends the process, and the runs of all visitors with it."""
    layers = [
        layer for layer in loaded.model.modules() if isinstance(layer, nn.Linear | PackedLinear)
    ]
    num_weights = sum(layer.in_features * layer.out_features for layer in layers)
    needed, free = BYTES_WHILE_LOADING[dtype] * num_weights, free_bytes(loaded.device)
    if needed > free:
        raise ConfigError.of(
            "loading.no_memory",
            "{needed} MiB of memory are needed to load them, and {free} MiB are free here",
            needed=needed >> 20,
            free=free >> 20,
        )


def _gguf_of(model: str | None) -> Path | None:
    """The file that the weights come from; None where they come from no GGUF."""
    if model is not None:
        return Path(model).expanduser() if model.endswith(".gguf") else None
    try:
        return Path(str(default_model.find_packaged_model().locate()))
    except SourceError:
        return None


def stores_four_bits(gguf: Path) -> bool:
    """Whether a tensor of the file is in Q4_0 or Q4_1; False for what is no GGUF file.

    gguf's own reader takes three seconds of Python to come there: it keeps every word of the
    vocabulary, and whoever draws a page would wait.
    """
    try:
        with gguf.open("rb") as file:
            return any(kind in FOUR_BIT_KINDS for kind in _tensor_kinds(file))
    except (OSError, ValueError, KeyError, OverflowError, struct.error):
        return False


def _tensor_kinds(file: BinaryIO) -> Iterator[int]:
    """ggml's type of each tensor: magic, version, counts, key-value pairs, then the tensors."""
    if file.read(4) != MAGIC:
        raise ValueError("this is no GGUF file")
    _, num_tensors, num_pairs = _numbers(file, "<IQQ")
    for _ in range(num_pairs):
        _skip_string(file)
        _skip_value(file, *_numbers(file, "<I"))
    for _ in range(num_tensors):
        _skip_string(file)
        (num_dimensions,) = _numbers(file, "<I")
        file.seek(8 * num_dimensions, 1)
        kind, _ = _numbers(file, "<IQ")
        yield kind


def _skip_value(file: BinaryIO, type_: int) -> None:
    if type_ == STRING:
        _skip_string(file)
    elif type_ == ARRAY:
        inner, count = _numbers(file, "<IQ")
        if inner in VALUE_BYTES:
            file.seek(count * VALUE_BYTES[inner], 1)
        else:
            for _ in range(count):
                _skip_value(file, inner)
    else:
        file.seek(VALUE_BYTES[type_], 1)


def _skip_string(file: BinaryIO) -> None:
    file.seek(_numbers(file, "<Q")[0], 1)


def _numbers(file: BinaryIO, layout: str) -> tuple[int, ...]:
    """struct.error where the file ends before."""
    return struct.unpack(layout, file.read(struct.calcsize(layout)))
