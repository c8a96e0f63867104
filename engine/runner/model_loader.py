"""A stock transformers model with its attention replaced by ours, and its tokenizer.

python -m engine.runner.model_loader [MODEL]     convert (at set-up) and load once, with progress
"""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging as transformers_logging

from engine.errors import ConfigError, PagewalkError, Sentence, SourceError
from engine.runner import default_model
from engine.runner.architecture import ask_stock, check_config, try_attention
from engine.runner.four_bit import FOUR_BIT, four_bit_of, keep_stored_weights
from engine.runner.fused_layers import fuse_layers
from engine.runner.fused_trial import attention_name
from engine.runner.gguf_file import READ_ERRORS, converted_folder, file_identity
from engine.runner.huge_pages import huge_pages_for_new_memory
from engine.runner.known_prefixes import share_steps
from engine.runner.loaded_model import LoadedModel
from engine.runner.model_folder import Progress, say_nothing
from engine.runner.native.trial import native_form
from engine.runner.one_row import one_row_model
from engine.runner.packed_linear import TORCH, kernel_for, pack_linears
from engine.runner.placement import choose_device, choose_dtype, set_threads
from engine.runner.tokenizer import Tokenizer

LOADING = Sentence.of("loading.loading", "loading the model")
FOUR_BIT_WEIGHTS = Sentence.of("loading.four_bit", "reading the 4-bit weights")
CHECKING = Sentence.of("loading.checking", "checking the model")
READY = Sentence.of("loading.ready", "ready")


def load_model(
    model: str | None = None,
    *,
    dtype: str | None = None,
    device: str | None = None,
    num_threads: int | None = None,
    prompt_threads: int = 1,
    known_steps_bytes: int = 0,
    progress: Progress = say_nothing,
) -> LoadedModel:
    """Load `model`: None (the packaged default), a folder, a .gguf file or a hub id.

    `dtype` None is bfloat16 where the device computes in it, else float32; "4bit" keeps weights that a
    GGUF stores in 4 bits; `device` None is CUDA where there is one. `num_threads` are torch's, for the
    whole process, `prompt_threads` those of compiled steps for prompts; in `known_steps_bytes` its
    runners share what they computed (known_steps.py). Raises SourceError if the model is not to be
    had, ConfigError if it or an option does not fit.
    """
    chosen_device = choose_device(device)
    chosen_dtype = choose_dtype(dtype, chosen_device)
    if num_threads is not None:
        set_threads(num_threads)
    with huge_pages_for_new_memory() if chosen_device.type == "cpu" else nullcontext():
        with _quiet_transformers():
            place, name = _find(model, progress)
            progress(LOADING, 0.0)
            try:
                config, stock, pretrained = _read(place, chosen_dtype, progress)
                stock = stock.to(chosen_device)
                if dtype == FOUR_BIT:
                    _keep_four_bit(stock, model, name, progress)
            except READ_ERRORS as error:
                if isinstance(error, PagewalkError):
                    raise
                raise SourceError(_why_not(place, name, error)) from error
        progress(CHECKING, 0.8)
        loaded = assemble(stock, pretrained, name=name, config=config)
    progress(READY, 1.0)
    if loaded.native.model is not None:
        loaded.native.model.prompt_threads = prompt_threads
    return share_steps(loaded, known_steps_bytes) if known_steps_bytes else loaded


def assemble(
    stock: Any, pretrained_tokenizer: Any, *, name: str, config: Any = None
) -> LoadedModel:
    """Take a transformers model over: its attention and its linear layers are replaced in place.

    The only way to a LoadedModel; `load_model` and tests with tiny random models end here.
    """
    config = stock.config if config is None else config
    check_config(config)
    stock.eval()
    parameter = next(stock.parameters())
    device, dtype = parameter.device, parameter.dtype
    vocab_size = int(stock.get_output_embeddings().weight.shape[0])
    answer = ask_stock(stock, vocab_size)
    is_four_bit = any(four_bit_of(layer) for layer in stock.modules())
    native = native_form(stock)
    linear_path = _replace_linears(stock)
    shape = try_attention(stock, answer)
    return LoadedModel(
        model=stock,
        tokenizer=Tokenizer(pretrained_tokenizer, vocab_size=vocab_size),
        name=name,
        dtype=dtype,
        dtype_name=FOUR_BIT if is_four_bit else str(dtype).removeprefix("torch."),
        device=device,
        num_layers=len(shape.windows),
        num_kv_heads=shape.num_kv_heads,
        head_size=shape.head_size,
        windows=shape.windows,
        vocab_size=vocab_size,
        max_model_len=_max_positions(config),
        eos_token_ids=_eos_token_ids(stock, config),
        attention_backend=attention_name(stock, answer, shape),
        linear_path=linear_path,
        one_row=one_row_model(stock, answer, shape),
        native=native.tried(answer, shape),
    )


def _replace_linears(stock: Any) -> str:
    """Pack, and where it is known how, fuse the linear layers; says how they are computed now."""
    kernel = kernel_for(stock)
    is_four_bit = any(four_bit_of(layer) for layer in stock.modules())
    if kernel is TORCH and not is_four_bit:
        return kernel.name
    fused = fuse_layers(stock, kernel)
    pack_linears(stock, kernel)
    if kernel.widens:
        stock.float()  # what is not packed: embeddings, norms; their values stay those of the dtype
    name = f"int4pack+{kernel.name}" if is_four_bit else kernel.name
    return f"{name}-fused" if fused else name


def _keep_four_bit(stock: Any, model: str | None, name: str, progress: Progress) -> None:
    """ConfigError if the model comes from no GGUF, or from one without 4-bit weights."""
    progress(FOUR_BIT_WEIGHTS, 0.5)
    num_kept = 0
    if model is None:
        num_kept = keep_stored_weights(stock, default_model.checked_gguf(say_nothing))
    elif model.endswith(".gguf"):
        num_kept = keep_stored_weights(stock, Path(model).expanduser())
    if num_kept == 0:
        raise ConfigError(
            f"dtype={FOUR_BIT!r} keeps weights that a GGUF file stores in 4 bits (Q4_0 or Q4_1), "
            f"and {name} has none: choose another dtype, or a .gguf file that has them"
        )


def _find(model: str | None, progress: Progress) -> tuple[str, str]:
    """Where the weights are (a folder or a hub id), and what to call the model."""
    if model is None:
        return _find_default(progress), default_model.NAME
    if not model.strip():
        raise ConfigError("the model's name is empty: leave it out for the default model")
    path = Path(model).expanduser()
    if path.suffix == ".gguf":
        if not path.is_file():
            raise SourceError(f"{model} is not a file: check the path of the GGUF file")
        identity = file_identity(path)
        folder = converted_folder(f"{path.stem}-{identity}", identity, path.resolve, progress)
        return str(folder), path.stem
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise SourceError(
                f"{model} is not a model folder: it has no config.json; "
                "give a folder made by save_pretrained, a .gguf file or a hub id"
            )
        return str(path), path.resolve().name
    if path.exists() or path.is_absolute() or model.startswith(".") or model.count("/") > 1:
        raise SourceError(
            f"{model} is neither a model folder nor a .gguf file: check the path, "
            "or give a hub id such as Qwen/Qwen2-0.5B-Instruct"
        )
    return model, model


def _find_default(progress: Progress) -> str:
    sha256 = default_model.recorded_sha256()
    folder = converted_folder(
        default_model.NAME, sha256, lambda: default_model.checked_gguf(progress), progress
    )
    return str(folder)


def _read(place: str, dtype: torch.dtype, progress: Progress) -> tuple[Any, Any, Any]:
    """Config, model and tokenizer as transformers reads them."""
    config = AutoConfig.from_pretrained(place)
    check_config(config)
    pretrained = AutoTokenizer.from_pretrained(place)
    progress(LOADING, 0.2)
    return config, AutoModelForCausalLM.from_pretrained(place, dtype=dtype), pretrained


def _why_not(place: str, name: str, error: Exception) -> str:
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
    if Path(place).is_dir():
        return Sentence.of(
            "model.not_loaded",
            "the model in {folder} cannot be loaded ({reason}): is the folder complete?",
            folder=place,
            reason=reason,
        )
    return (
        f"the model {name} cannot be had from the hub ({reason}): "
        "check its name and the network, or give a local folder or a .gguf file"
    )


def _max_positions(config: Any) -> int:
    for name in ("max_position_embeddings", "n_positions"):
        if getattr(config, name, None):
            return int(getattr(config, name))
    raise ConfigError("this model's config does not say how many positions it has")


def _eos_token_ids(stock: Any, config: Any) -> tuple[int, ...]:
    """The generation config's, else the config's: one, several or none."""
    generation = getattr(stock, "generation_config", None)
    for source in (generation, config):
        eos = getattr(source, "eos_token_id", None)
        if eos is not None:
            return tuple(eos) if isinstance(eos, list | tuple) else (int(eos),)
    return ()


@contextmanager
def _quiet_transformers() -> Iterator[None]:
    """Its progress bars and warnings off: our own progress and errors say what matters."""
    verbosity = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers_logging.enable_progress_bar()
        transformers_logging.set_verbosity(verbosity)


def _print_progress(stage: str, fraction: float) -> None:
    """A line that is written over on a terminal; elsewhere a line when a stage is done or begun."""
    if sys.stderr.isatty():
        print(f"\r{stage:<40} {fraction:4.0%}", end="", file=sys.stderr, flush=True)
    elif fraction in (0.0, 1.0):
        print(f"{stage} {fraction:.0%}", file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Convert and load a model once.")
    parser.add_argument("model", nargs="?", help="folder, .gguf file or hub id; default: packaged")
    try:
        loaded = load_model(parser.parse_args().model, progress=_print_progress)
    except PagewalkError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    print(f"\n{loaded.name}: {loaded.num_layers} layers, {loaded.dtype_name} on {loaded.device}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
