"""What a file is that is no trace: so that whoever took the wrong one learns which one it was."""

import msgspec

from engine.errors import Sentence
from engine.trace.header import UNREADABLE
from engine.trace.reducer import MEANING

# The first bytes of a file, and the name of its format.
FORMATS: dict[bytes, str] = {
    b"\x28\xb5\x2f\xfd": "Zstandard",
    b"PK\x03\x04": "ZIP",
    b"\xfd7zXZ\x00": "XZ",
    b"BZh": "bzip2",
    b"7z\xbc\xaf\x27\x1c": "7-Zip",
    b"PAR1": "Parquet",
    b"SQLite format 3\x00": "SQLite",
    b"GGUF": "GGUF",
    b"%PDF": "PDF",
    b"\x89PNG": "PNG",
    b"\xff\xd8\xff": "JPEG",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
KV_EVENTS = ("BlockStored", "BlockRemoved", "AllBlocksCleared")  # vLLM: distributed/kv_events.py
EVENTS = frozenset(kind.__name__ for kind in MEANING)
MAX_LOOKED_AT = 1 << 20  # bytes
MAX_NAMED = 200  # bytes in which a first batch names the kind of its events


def foreign(content: bytes) -> Sentence | None:
    """What else a file without our header is; None where that is not known."""
    start = content[:MAX_LOOKED_AT]
    for magic, name in FORMATS.items():
        if start.startswith(magic):
            return Sentence.of(
                "foreign.format",
                "this is a file in the format {name}: a trace is JSON in lines of UTF-8, as it is "
                "or packed with gzip",
                name=name,
            )
    if any(kind.encode() in start[:MAX_NAMED] for kind in KV_EVENTS):
        return Sentence.of(
            "foreign.kv_events",
            "these are KV events of vLLM: they tell which blocks were stored and removed, not what "
            "the scheduler did, so there is no run to look at",
        )
    if b"\x00" in start:
        return Sentence.of("foreign.binary", "this is a binary file, not lines of JSON")
    return _other_json(_decoded(start))


def _decoded(start: bytes) -> object:
    """The first line, or the whole if the file is one value over many lines."""
    for text in (start.split(b"\n", 1)[0], start):
        try:
            return msgspec.json.decode(text)
        except UNREADABLE:
            continue
    return None


def _other_json(value: object) -> Sentence | None:
    if not isinstance(value, dict):
        return None
    kind = value.get("type")
    if isinstance(kind, str) and kind in EVENTS:
        return Sentence.of(
            "foreign.no_header",
            "the header is missing: the file begins with the event {kind}, and nobody knows the "
            "settings of the run",
            kind=kind,
        )
    if "traceEvents" in value:
        return Sentence.of(
            "foreign.perfetto",
            "this is a file for Perfetto, to be opened at ui.perfetto.dev: here belongs the trace "
            "file of the same run",
        )
    if "num_hidden_layers" in value or "text_config" in value:
        return Sentence.of(
            "foreign.config", "this is the config.json of a model, which belongs on the page Sizing"
        )
    if "requests" in value and "config" in value:
        return Sentence.of(
            "foreign.workload",
            "this is a workload, which has not run: python -m engine.conformance makes a trace of it",
        )
    return None
