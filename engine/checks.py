"""Checks of single values: a number, a choice, token ids. ConfigError says what to give instead."""

import math

from engine.errors import ConfigError, Sentence

MAX_DIGITS = 40  # of a number that is said again in a sentence


def whole_number(name: str, value: object, low: int, high: int | None = None) -> int:
    """`value` if it is an integer (not a bool, not 1.5) from `low` to `high`, else ConfigError."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigError.of(
            "setting.not_whole",
            "{name}={given} is not a whole number: give one from {low} up",
            name=name,
            given=repr(value),
            low=low,
        )
    if value < low or (high is not None and value > high):
        raise ConfigError.of(
            "setting.out_of_range",
            "{name}={given} is out of range: give a whole number {span}",
            name=name,
            given=_said_again(value),
            span=_span(low, high),
        )
    return value


def _span(low: int, high: int | None) -> Sentence:
    if high is None:
        return Sentence.of("span.up", "from {low:,} up", low=low)
    return Sentence.of("span.to", "from {low:,} to {high:,}", low=low, high=high)


def _said_again(value: int) -> str:
    if abs(value) < 10**MAX_DIGITS:
        return str(value)
    return Sentence.of("setting.digits", "a number of over {most} digits", most=MAX_DIGITS)


def finite_number(name: str, value: object) -> float:
    """`value` as a float if it is a finite number (not a bool, NaN or infinity)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConfigError.of(
            "setting.not_number", "{name}={given} is not a number", name=name, given=repr(value)
        )
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ConfigError.of(
            "setting.not_finite",
            "{name}={given} is not a finite number",
            name=name,
            given=repr(value),
        )
    return number


def one_of(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ConfigError.of(
            "setting.unknown",
            "{name}={given} is unknown: choose one of {choices}",
            name=name,
            given=repr(value),
            choices=", ".join(choices),
        )


def boolean(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise ConfigError.of(
            "setting.not_boolean",
            "{name}={given} is neither true nor false",
            name=name,
            given=repr(value),
        )


def check_token_ids(token_ids: object, vocab_size: int) -> tuple[int, ...]:
    """`token_ids` as a tuple if it is a list of whole numbers below `vocab_size`, not empty."""
    if not isinstance(token_ids, list | tuple):
        raise ConfigError.of(
            "tokens.no_list",
            "token ids must be a list of whole numbers, not {given}",
            given=f"{token_ids!r:.80}",
        )
    if not token_ids:
        raise ConfigError.of(
            "tokens.none", "the prompt cannot be empty: give at least one token id"
        )
    for index, token_id in enumerate(token_ids):
        if isinstance(token_id, bool) or not isinstance(token_id, int):
            raise ConfigError.of(
                "tokens.not_whole",
                "token id {given} at index {index} is not a whole number: give ids from 0 to {last}",
                given=f"{token_id!r:.80}",
                index=index,
                last=vocab_size - 1,
            )
        if not 0 <= token_id < vocab_size:
            raise ConfigError.of(
                "tokens.outside",
                "token id {given} at index {index} is outside the vocabulary: "
                "give ids from 0 to {last}",
                given=token_id,
                index=index,
                last=vocab_size - 1,
            )
    return tuple(token_ids)
