"""What is typed into the calculator, kept as typed: fields, their limits, and their place in a link."""

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from engine.errors import ConfigError
from views.figures.sizing.known_models import MODELS
from views.figures.sizing.model_config import MAX_CHARACTERS, MAX_NUMBER
from views.figures.sizing.model_weights import WEIGHT_DTYPES
from views.text import Text

GIB = 2**30
OWN = "own"  # the model whose config.json was pasted or uploaded
KV_DTYPES = ("auto", "bfloat16", "fp8", "float32")
MAX_GIB = 100_000
MAX_TYPED = 40  # characters in a field for a number
MAX_LINK = 4_000  # characters of a config.json in a link
DECIMAL = re.compile(r"\d{1,15}(\.\d{0,12})?|\.\d{1,12}")
WHOLE = re.compile(r"\d{1,15}|\d{1,3}([,_  \u202f]\d{3}){1,4}")


class Inputs(NamedTuple):
    """Texts as they stand in the form. An empty one asks for what the model's file says."""

    model: str = "meta-llama/Llama-3.1-8B-Instruct"
    config: str = ""  # a config.json, read where `model` is OWN
    gpu: str = "80"  # GiB
    util: str = "0.9"
    weights: str = ""  # GiB
    rest: str = "2"  # GiB
    kv: str = ""  # bytes
    dtype: str = "auto"
    kv_dtype: str = "auto"
    block_size: str = "16"
    max_len: str = ""
    batched: str = "8192"

    @classmethod
    def from_browser(cls, sent: Any) -> "Inputs":
        """Whatever comes from a form or a link: unknown names are left out, long texts cut."""
        given = sent if isinstance(sent, Mapping) else {}
        return cls(
            **{
                name: str(given[name])[: MAX_CHARACTERS + 1 if name == "config" else MAX_TYPED + 1]
                for name in cls._fields
                if given.get(name) is not None
            }
        )

    def address(self) -> dict[str, str]:
        """What differs from a fresh form. A config.json is written without its white space; one
        that is too long or broken is left out."""
        differing = {
            name: value
            for name, value in self._asdict().items()
            if value != getattr(Inputs(), name) and (name != "config" or self.model == OWN)
        }
        if "config" in differing:
            try:
                short = json.dumps(json.loads(self.config), separators=(",", ":"))
            except (ValueError, RecursionError):
                short = ""
            differing["config"] = short
            if not 0 < len(short) <= MAX_LINK:
                del differing["config"]
        return differing


# What an empty field lacks, where nothing else says it.
EMPTY = {
    "gpu": "sizing_error.empty_gib",
    "rest": "sizing_error.empty_gib",
    "util": "sizing_error.empty_number",
    "block_size": "sizing_error.empty_number",
    "batched": "sizing_error.empty_number",
}

# SEMANTICS 15: 24 layers, 2 KV heads of 64, a page of 8,192 B, 25,938,100,224 B for the KV cache.
KNOWN_EXAMPLE = Inputs(model="Qwen/Qwen2-0.5B-Instruct", gpu="32", kv="25938100224")


class Question(NamedTuple):
    """The form, read: numbers in bytes and tokens. None: the model's file, or a default, says it."""

    total_bytes: int
    utilization: float
    weight_bytes: int | None
    rest_bytes: int
    kv_bytes: int | None
    dtype: str
    kv_dtype: str
    block_size: int
    max_model_len: int | None
    max_num_batched_tokens: int


def read_inputs(inputs: Inputs, text: Text) -> tuple[Question | None, dict[str, str]]:
    """The question, or what is wrong with which field."""
    errors: dict[str, str] = {}
    typed = {name: value.strip() for name, value in inputs._asdict().items()}

    def read(name: str, reader: Any, *limits: Any) -> Any:
        try:
            if not typed[name] and name in EMPTY:
                raise ConfigError(_empty(name, text))
            return reader(typed[name], *limits, text)
        except ConfigError as error:
            errors[name] = text.error(error)
            return None

    optional = {name: not typed[name] for name in ("weights", "kv", "max_len")}
    question = Question(
        total_bytes=read("gpu", gib_in_bytes, Fraction(1, 1000)),
        utilization=read("util", _share),
        weight_bytes=None if optional["weights"] else read("weights", gib_in_bytes, Fraction(0)),
        rest_bytes=read("rest", gib_in_bytes, Fraction(0)),
        kv_bytes=None if optional["kv"] else read("kv", _whole, MAX_GIB * GIB),
        dtype=read("dtype", _choice, WEIGHT_DTYPES),
        kv_dtype=read("kv_dtype", _choice, KV_DTYPES),
        block_size=read("block_size", _whole, 65_536),
        max_model_len=None if optional["max_len"] else read("max_len", _whole, MAX_NUMBER),
        max_num_batched_tokens=read("batched", _whole, MAX_NUMBER),
    )
    if typed["model"] != OWN and typed["model"] not in MODELS:
        errors["model"] = text("sizing_error.model", given=typed["model"])
    return (None if errors else question), errors


def _empty(name: str, text: Text) -> str:
    such = Inputs._field_defaults[name]
    return text(EMPTY[name], field=text.named("sizing_field", name), such=such)


def gib_in_bytes(given: str, least: Fraction, text: Text) -> int:
    """Whole bytes, rounded down."""
    gib = _decimal(given)
    if gib is None or not least <= gib <= MAX_GIB:
        raise ConfigError(text("sizing_error.gib", given=_quoted(given), most=f"{MAX_GIB:,}"))
    return int(gib * GIB)


def _share(given: str, text: Text) -> float:
    share = _decimal(given)
    if share is None or not 0 < share <= 1:
        raise ConfigError(text("sizing_error.share", given=_quoted(given)))
    return float(share)


def _whole(given: str, most: int, text: Text) -> int:
    """A whole number from 1; groups of three may be set apart."""
    number = int(re.sub(r"\D", "", given)) if WHOLE.fullmatch(given) else 0
    if not 1 <= number <= most:
        raise ConfigError(text("sizing_error.whole", given=_quoted(given), most=f"{most:,}"))
    return number


def _choice(given: str, choices: tuple[str, ...], text: Text) -> str:
    if given not in choices:
        listed = ", ".join(choices)
        raise ConfigError(text("sizing_error.choice", given=_quoted(given), choices=listed))
    return given


def _decimal(given: str) -> Fraction | None:
    return Fraction(Decimal(given)) if DECIMAL.fullmatch(given) else None


def _quoted(given: str) -> str:
    return given if len(given) <= MAX_TYPED else given[:MAX_TYPED] + "…"
