"""What a live run is asked, before a model has seen it."""

from typing import NamedTuple

from engine.config import SamplingParams
from engine.runner.tokenizer import Tokenized

__all__ = ["Prompt", "Tokenized", "request_name"]


class Prompt(NamedTuple):
    """A text and how it is to be answered."""

    text: str
    mode: str = "chat"
    sampling: SamplingParams | None = None
    allow_special: bool = False


def request_name(number: int) -> str:
    """The id of the n-th request, from 0, that a live run or its branch is given."""
    return f"r{number}"
