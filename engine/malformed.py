"""What is wrong with data that msgspec refused, as sentences that every language can say.

msgspec says it in English alone. Its types (`int`) and places (`$.kv_groups[0]`) stay as they are;
only where an object is expected, as at the start of each line of a trace, is what stands there told
in words.
"""

import re
from collections.abc import Callable, Mapping

from engine.errors import PagewalkError, Sentence

Found = Mapping[str, str]
AT = re.compile(r" - at (?:`key` in )?(?P<at>`[^`]*`)$")

NO_JSON = Sentence.of("data.not_json", "it is not JSON")
KINDS = {  # what JSON knows beside objects, in msgspec's words
    "array": Sentence.of("data.list", "a list"),
    "str": Sentence.of("data.text", "a text"),
    "int": Sentence.of("data.whole_number", "a whole number"),
    "float": Sentence.of("data.number", "a number"),
    "bool": Sentence.of("data.yes_or_no", "true or false"),
    "null": Sentence.of("data.null", "null"),
}


def reason_of(error: Exception) -> Sentence | str:
    """For the end of a sentence: our own words where a check of ours refused the data on the way
    through msgspec, which knows the place in it besides."""
    if isinstance(error, PagewalkError):
        return error.sentence
    cause, told = error.__cause__, str(error)
    place = AT.search(told)
    reason = cause.sentence if isinstance(cause, PagewalkError) else _said(told[: _end(place)])
    if place is None or place["at"] == "`$`":
        return reason
    return Sentence.of("data.place", "{reason} - at {at}", reason=reason, at=place["at"])


def _end(place: re.Match[str] | None) -> int | None:
    return None if place is None else place.start()


def _said(told: str) -> Sentence:
    for pattern, sentence in WORDS.items():
        found = re.fullmatch(pattern, told, re.DOTALL)
        if found is not None:
            return sentence(found.groupdict())
    return Sentence.of("data.other", "it does not have the form that is expected there")


def _of_a_kind(found: Found) -> Sentence:
    return Sentence.of(
        "data.kind", "Expected {wanted}, got {given}", wanted=found["wanted"], given=found["given"]
    )


def _no_object(found: Found) -> Sentence:
    return Sentence.of(
        "data.no_object",
        "{given} stands where a JSON object is expected",
        given=KINDS[found["given"]],
    )


def _wanted(found: Found) -> Sentence:
    return Sentence.of("data.wanted", "Expected {wanted}", wanted=found["wanted"])


def _of_a_length(found: Found) -> Sentence:
    return Sentence.of(
        "data.length",
        "it has {given} entries where {wanted} are expected",
        wanted=found["wanted"],
        given=found["given"],
    )


def _beyond(found: Found) -> Sentence:
    return Sentence.of("data.beyond", "a number {limit} is expected", limit=found["limit"])


def _unknown_field(found: Found) -> Sentence:
    return Sentence.of("data.unknown", "unknown field {name}", name=found["name"])


def _missing_field(found: Found) -> Sentence:
    return Sentence.of("data.missing", "missing required field {name}", name=found["name"])


def _wrong_value(found: Found) -> Sentence:
    return Sentence.of("data.value", "{given} is no value that is known here", given=found["given"])


def _no_json(found: Found) -> Sentence:
    return Sentence.of("data.no_json", "JSON is malformed at byte {byte}", byte=found["byte"])


WORDS: dict[str, Callable[[Found], Sentence]] = {
    rf"Expected `object`, got `(?P<given>{'|'.join(KINDS)})`": _no_object,
    r"Expected (?P<wanted>`[^`]+`), got (?P<given>`[^`]+`)": _of_a_kind,
    r"Expected (?P<wanted>`[^`]+`)": _wanted,
    r"Expected `array` of length (?P<wanted>\d+), got (?P<given>\d+)": _of_a_length,
    r"Expected `(?:int|float)` (?P<limit>[<>]=? .+)": _beyond,
    r"Object contains unknown field (?P<name>`.*`)": _unknown_field,
    r"Object missing required field (?P<name>`.*`)": _missing_field,
    r"Invalid (?:enum )?value (?P<given>.*)": _wrong_value,
    r"JSON is malformed: .* \(byte 0\)": lambda _: NO_JSON,
    r"JSON is malformed: .* \(byte (?P<byte>\d+)\)": _no_json,
    r"Input data was truncated": lambda _: Sentence.of("data.truncated", "JSON ends too early"),
    r"Invalid base64 encoded string": lambda _: Sentence.of("data.base64", "this is not base64"),
    r"(?:Integer|Number)(?: value)? out of range": lambda _: Sentence.of(
        "data.range", "the number is out of range"
    ),
    r"Invalid UTF-8 encoded string|'utf-8' codec .*": lambda _: Sentence.of(
        "data.utf8", "this is not UTF-8"
    ),
    r"maximum recursion depth exceeded.*": lambda _: Sentence.of(
        "data.deep", "it is nested too deep"
    ),
}
