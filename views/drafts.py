"""A prompt and settings as they stand in a form: texts, until somebody applies them."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from engine.config import SamplingParams
from engine.errors import ConfigError, Sentence
from engine.sources.branch import DTYPE
from engine.sources.prompt import Prompt
from views.examples import DEFAULT_MAX_TOKENS
from views.text import Text, quoted

NUMBERS = ("max_tokens", "temperature", "seed")
MAX_DIGITS = 20  # whoever types more of them means no number that a setting can be


class Draft(NamedTuple):
    """A prompt as it stands in the form: numbers are still what somebody typed."""

    text: str = ""
    mode: str = "chat"
    allow_special: bool = False
    max_tokens: str = str(DEFAULT_MAX_TOKENS)
    temperature: str = "0"
    seed: str = "0"

    @classmethod
    def from_browser(cls, sent: Any) -> "Draft":
        """Whatever a browser sent, as the types that a draft has."""
        fields = dict(sent) if isinstance(sent, dict) else {}
        return cls(
            text=str(fields.get("text", "")),
            mode="raw" if fields.get("mode") == "raw" else "chat",
            allow_special=fields.get("allow_special") is True,
            max_tokens=str(fields.get("max_tokens", DEFAULT_MAX_TOKENS)),
            temperature=str(fields.get("temperature", "0")),
            seed=str(fields.get("seed", "0")),
        )

    def sampling(self, text: Text) -> SamplingParams:
        """ConfigError with a sentence for each field that is no number or out of range."""
        wrong = list(self.problems(text).values())
        if wrong:
            stop = text("list.stop") if len(wrong) > 1 else ""
            raise ConfigError(text.told(f"{sentence}{stop}" for sentence in wrong))
        return SamplingParams(**{name: self._number(name, text) for name in NUMBERS})

    def problems(self, text: Text) -> dict[str, str]:
        """Field -> what is wrong with its number; nothing for those that are right."""
        wrong = {}
        for name in NUMBERS:
            try:
                SamplingParams(**{name: self._number(name, text)})
            except ConfigError as error:
                wrong[name] = text.error(error)
        return wrong

    def _number(self, name: str, text: Text) -> Any:
        read = any_number if name == "temperature" else whole_number
        return read(name, getattr(self, name), text)

    def prompt(self, text: Text) -> Prompt:
        return Prompt(self.text, self.mode, self.sampling(text), self.allow_special)


def whole_number(name: str, given: str, text: Text) -> int:
    """Only digits are one: Python's `int` would take 1_0 as well, and no more than 4,300 digits."""
    digits = given.strip()
    if not re.fullmatch(r"[+-]?\d+", digits):
        key = "notice.not_whole" if digits else "notice.blank_whole"
        raise ConfigError(text(key, name=name, given=quoted(digits)))
    if len(digits) > MAX_DIGITS:
        raise ConfigError(text("notice.too_many_digits", name=name, n=len(digits), most=MAX_DIGITS))
    return int(digits)


def any_number(name: str, given: str, text: Text) -> float:
    try:
        return float(given)
    except ValueError as error:
        key = "notice.not_number" if given.strip() else "notice.blank_number"
        raise ConfigError(text(key, name=name, given=quoted(given))) from error


def numbers_of(settings: Mapping[str, Any], text: Text) -> dict[str, Any]:
    """Settings as the engine wants them: what was typed becomes a number, or a ConfigError."""
    return {
        name: given
        if name == DTYPE or not isinstance(given, str)
        else whole_number(name, given, text)
        for name, given in settings.items()
    }


def told_longer(draft: Draft, error: ConfigError, text: Text) -> ConfigError:
    """Where a prompt is longer than the model takes, with what can be done about it here."""
    if error.code != "prompt.too_many_tokens" or not isinstance(error.sentence, Sentence):
        return error
    values = {name: int(str(value)) for name, value in error.sentence.values.items()}
    fits = len(draft.text) * values["most"] // values["tokens"] // 100 * 100
    return ConfigError(
        text("prompt.too_long", most=max(fits, 1), **{k: values[k] for k in ("tokens", "limit")})
    )


def remarks(draft: Draft, sampling: SamplingParams, num_tokens: int, text: Text) -> list[str]:
    """What was taken otherwise than somebody may think who typed this."""
    said = []
    if not draft.text.strip():
        blank = "prompt.blank_raw" if draft.mode == "raw" else "prompt.blank_chat"
        said.append(text.count(blank if draft.text else "prompt.nothing_chat", num_tokens))
    if sampling.temperature != float(draft.temperature):
        given, used = draft.temperature, sampling.temperature
        said.append(text("prompt.temperature_raised", given=given, used=used))
    return said


class Restart(NamedTuple):
    """What a run begins again with: changed settings, and prompts (None: those it has)."""

    settings: dict[str, Any]
    drafts: list[Draft] | None = None


class Branch(NamedTuple):
    """What a branch goes on with: settings as typed, perhaps a prompt."""

    settings: dict[str, Any]
    draft: Draft | None = None
    keep_later: bool = False  # also what the run was given after the moment of branching
