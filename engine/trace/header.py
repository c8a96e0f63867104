"""The first line of a trace file: which run this is, and everything that decided it."""

from typing import Any

import msgspec

from engine.errors import Sentence, TraceError
from engine.malformed import NO_JSON, reason_of
from engine.trace.seal import CHANGED, unsealed

FORMAT = "pagewalk-trace"
FORMAT_VERSION = 2
PLAIN_VERSION = 1  # of the files before lines were sealed; they are read like the others
MAX_NUM_BLOCKS = 4_000_000

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_WHOLE_NUMBERS = {"block_size": 1, "num_blocks": 2, "max_num_batched_tokens": 1}  # name -> least


class TraceHeader(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a run was: device, dtype and kernel are fixed for the whole of it."""

    config: dict[str, Any]  # EngineConfig.to_mapping()
    format: str = FORMAT
    version: int = FORMAT_VERSION
    engine_version: str | None = None
    model: str | None = None  # None: scripted tokens, no model ran
    dtype: str | None = None
    device: str | None = None
    kernel: str | None = None
    tokenizer_id: str | None = None
    eos_token_ids: tuple[int, ...] = ()
    none_hash: str | None = None  # parent of every first block, hex
    departs_from_vllm: tuple[str, ...] = ()  # settings and paths that vLLM 0.17.1 does not have
    created: str | None = None  # date and time; left out of every comparison
    title: str | None = None
    num_events: int | None = None  # in a file that was written whole; None in one that grows

    def __post_init__(self) -> None:
        """The settings as they come back from a file: lists where there were tuples."""
        config = msgspec.json.decode(msgspec.json.encode(self.config))
        msgspec.structs.force_setattr(self, "config", config)


class _Signature(msgspec.Struct):
    """What is read before anything else is believed."""

    format: Any = None
    version: Any = None
    type: Any = None


def parse_header(line: bytes) -> TraceHeader:
    """The header in the first line of a file; TraceError says why there is none."""
    try:
        signature = msgspec.json.decode(line, type=_Signature)
    except UNREADABLE as error:
        is_text = not isinstance(error, msgspec.ValidationError) and not line.startswith(b"{")
        raise TraceError.of(
            "header.no_json",
            "this is not a Pagewalk trace ({reason})",
            reason=NO_JSON if is_text else reason_of(error),
        ) from error
    if signature.format != FORMAT:
        raise TraceError(_foreign(signature))
    if signature.version not in (PLAIN_VERSION, FORMAT_VERSION):
        raise TraceError(_other_version(signature.version))
    if signature.version == FORMAT_VERSION:
        plain = unsealed(line, 1)
        if plain is None:
            raise TraceError(CHANGED)
        line = plain
    try:
        header = msgspec.json.decode(line, type=TraceHeader)
    except UNREADABLE as error:
        raise TraceError.of(
            "header.refused", "the header is not understood: {reason}", reason=reason_of(error)
        ) from error
    check_config(header.config)
    return header


def check_config(config: dict[str, Any]) -> None:
    """Whether a State can be built from these settings; the engine's own checks go further."""
    for name, least in _WHOLE_NUMBERS.items():
        _check_whole_number(name, config.get(name), least)
    if config["num_blocks"] > MAX_NUM_BLOCKS:
        raise TraceError.of(
            "header.num_blocks",
            "num_blocks={given:,} is more than can be opened: at most {most:,}",
            given=config["num_blocks"],
            most=MAX_NUM_BLOCKS,
        )
    groups = config.get("kv_groups")
    if groups is None:
        return
    if not isinstance(groups, list | tuple) or not groups:
        raise TraceError.of(
            "header.groups", "kv_groups={given} is not a list of groups", given=repr(groups)
        )
    for group in groups:
        if not isinstance(group, dict) or not isinstance(group.get("type"), str):
            raise TraceError.of(
                "header.group", "kv_groups holds {given}, which is not a group", given=repr(group)
            )
        if group.get("block_size") is not None:
            _check_whole_number("kv_groups.block_size", group["block_size"], 1)


def _check_whole_number(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise TraceError.of(
            "header.not_whole",
            "{name}={given} is not a whole number from {least} up",
            name=name,
            given=repr(value),
            least=least,
        )


def _foreign(signature: _Signature) -> Sentence:
    if signature.type == "header":
        return Sentence.of(
            "header.snapshots",
            "this is a recorded run of snapshots, which can be compared with but not opened: "
            "python -m engine.conformance WORKLOAD.json --trace DIR writes one that can",
        )
    if signature.format is None:
        return Sentence.of(
            "header.unmarked",
            'this is not a Pagewalk trace: its first line has no field "format"',
        )
    return Sentence.of(
        "header.foreign",
        'this is not a Pagewalk trace: its field "format" is {given}',
        given=repr(signature.format),
    )


def _other_version(version: object) -> Sentence:
    if isinstance(version, int) and version > FORMAT_VERSION:
        return Sentence.of(
            "header.newer",
            "a newer Pagewalk wrote this trace (format version {given}, this one reads {known}): "
            "update Pagewalk",
            given=version,
            known=FORMAT_VERSION,
        )
    return Sentence.of(
        "header.version",
        "format version {given} is unknown: this Pagewalk reads {known}",
        given=repr(version),
        known=FORMAT_VERSION,
    )
