"""Reads a GGUF file into a stock transformers folder: dequantised weights, corrected tokenizer.

The weights are stored in float32, although most runs use bfloat16. A quantised weight (Q4_1) is
`scale * q + minimum` with float16 scale and minimum: that needs more bits than bfloat16 or float16
have. From float32 both dtypes load exactly as transformers would load them from the GGUF itself;
from a bfloat16 folder a float32 run would compute with rounded weights.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

from engine.errors import Sentence, SourceError
from engine.runner.model_folder import Progress, build_once, models_root

CONVERSION = "1"  # raise it when converted folders of before are no longer right
READ_ERRORS = (OSError, ValueError, KeyError, IndexError, TypeError, ImportError, RuntimeError)
READING = Sentence.of("loading.gguf", "reading the GGUF file")
DEQUANTISING = Sentence.of("loading.dequantising", "dequantising the weights")
TOKENIZER = Sentence.of("loading.tokenizer", "reading the tokenizer")
WRITING = Sentence.of("loading.writing", "writing the converted model")


def converted_folder(
    name: str, identity: str, find_gguf: Callable[[], Path], progress: Progress
) -> Path:
    """The transformers folder of a GGUF; the first call finds it and converts, half a minute.

    `identity` tells this file from others that may have been called `name`.
    """
    stamp = {"conversion": CONVERSION, "file": identity}
    folder = models_root() / name
    return build_once(folder, stamp, lambda place: _convert(find_gguf(), place, progress))


def file_identity(gguf: Path) -> str:
    """Cheap identity of a user's file: its size and time of change."""
    status = gguf.stat()
    return f"{status.st_size}-{status.st_mtime_ns}"


def _convert(gguf: Path, folder: Path, progress: Progress) -> None:
    try:
        model = _read_model(gguf, progress)
        progress(TOKENIZER, 0.6)
        tokenizer = AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name)
    except READ_ERRORS as error:
        raise SourceError.of(
            "model.gguf",
            "{path} cannot be read as a GGUF model ({reason}): give a complete GGUF file of an "
            "architecture that transformers knows",
            path=gguf,
            reason=f"{type(error).__name__}: {error}",
        ) from error
    progress(WRITING, 0.8)
    tokenizer.save_pretrained(folder)
    _correct_pre_tokenizer(gguf, folder)
    model.save_pretrained(folder)
    progress(WRITING, 1.0)


def _read_model(gguf: Path, progress: Progress) -> Any:
    """The model in float32. Tensor by tensor, because `from_pretrained` wants accelerate here."""
    progress(READING, 0.0)
    config = AutoConfig.from_pretrained(str(gguf.parent), gguf_file=gguf.name)
    config._name_or_path = ""
    with torch.device("meta"):
        names = AutoModelForCausalLM.from_config(config)
    progress(DEQUANTISING, 0.2)
    checkpoint = load_gguf_checkpoint(str(gguf), return_tensors=True, model_to_load=names)
    progress(DEQUANTISING, 0.5)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    loaded = model.load_state_dict(checkpoint["tensors"], strict=False)
    model.tie_weights()
    tied = set(model._tied_weights_keys or ()) if config.tie_word_embeddings else set()
    missing = set(loaded.missing_keys) - tied
    if missing or loaded.unexpected_keys:
        raise ValueError(f"tensors missing: {sorted(missing)}, unknown: {loaded.unexpected_keys}")
    return model


def _correct_pre_tokenizer(gguf: Path, folder: Path) -> None:
    """transformers forgets SmolLM's first step, every digit a piece of its own: put it back."""
    if _pre_tokenizer_name(gguf) != "smollm":
        return
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    digits = {"type": "Digits", "individual_digits": True}
    steps = [digits, content["pre_tokenizer"]]
    content["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": steps}
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def _pre_tokenizer_name(gguf: Path) -> str:
    from gguf import GGUFReader  # slow to import, and needed only to convert

    field = GGUFReader(str(gguf)).get_field("tokenizer.ggml.pre")
    return "" if field is None else str(field.contents())
