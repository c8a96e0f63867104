"""What can go wrong, each with a sentence meant for the person who caused it.

A sentence stands in English where it is needed, under a code that no other has. A page in another
language finds its own words for it under that code; the engine knows none of them.
"""

from collections.abc import Mapping
from typing import Self


class Sentence(str):
    """An English sentence that knows what it was made of, so that it can be said in other words.

    `values` fill the gaps of `template`; a value may be a sentence itself.
    """

    code: str
    template: str
    values: Mapping[str, object]

    @classmethod
    def of(cls, code: str, template: str, /, **values: object) -> "Sentence":
        sentence = cls(template.format(**values))
        sentence.code, sentence.template, sentence.values = code, template, values
        return sentence


class PagewalkError(Exception):
    """Base of all errors whose message is written for the user and can be shown as it stands."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence

    @classmethod
    def of(cls, code: str, template: str, /, **values: object) -> Self:
        """The error with this `Sentence`. One that only a command line shows needs no code."""
        return cls(Sentence.of(code, template, **values))

    @property
    def code(self) -> str | None:
        """Of its sentence: a page knows a way out of some."""
        return self.sentence.code if isinstance(self.sentence, Sentence) else None


class ConfigError(PagewalkError, ValueError):
    """A setting or an input is wrong: the message says what, how much, and what to do.

    Its code is "oversized" where vLLM would admit the request and let it wait for ever.
    """


class TraceError(PagewalkError, ValueError):
    """A trace file cannot be read further: the message names the line and the reason."""


class SourceError(PagewalkError, RuntimeError):
    """A source of traces (a model, a saved run) is not to be had."""
