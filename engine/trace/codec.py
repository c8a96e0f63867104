"""Traces as files: a header line, then one event a line, all JSON; gzip where the name says so.

Each line ends with its own checksum (`seal.py`), and the header of a file that was written whole
has the number of its events: so a byte that was changed is found, and an end that is missing. In
version 1 there was neither; such files are read as well.

Reading believes nothing. Whatever is wrong with a file is told in one sentence with the number of
the line, and everything before that line can still be opened; what stands behind it as well, where
it still follows.
"""

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from engine.errors import Sentence, TraceError
from engine.system import refusal_of
from engine.trace.events import TIME_FIELDS, Event
from engine.trace.foreign import foreign
from engine.trace.header import FORMAT, FORMAT_VERSION, TraceHeader, parse_header
from engine.trace.packed import pack, unpack
from engine.trace.salvage import at_line, decode_body, is_midway, show
from engine.trace.seal import seal
from engine.trace.trace import Trace

__all__ = [
    "MAX_BYTES",
    "Loaded",
    "TraceHeader",
    "encode_lines",
    "encode_trace",
    "is_midway",
    "read_trace",
    "without_times",
    "write_trace",
]

MAX_BYTES = 1 << 30  # of a file, and of what its gzip data unfolds to

_encoder = msgspec.json.Encoder()


class Loaded(NamedTuple):
    """What a file holds, as far as it can be read."""

    trace: Trace | None  # None: not even the header is understood
    problem: str | None  # one sentence with line number and reason; None: all is well


def without_times(event: Event) -> Event:
    """The event as it takes part in comparisons."""
    known = [name for name in TIME_FIELDS if name in event.__struct_fields__]
    if not known:
        return event
    timeless: Event = msgspec.structs.replace(event, **dict.fromkeys(known))
    return timeless


# Writing --------------------------------------------------------------------------------------


def encode_header(header: TraceHeader) -> bytes:
    """The first line of a file that grows."""
    return seal([_encoder.encode(header)], 1)


def encode_lines(events: Sequence[Event], place: int) -> bytes:
    """Lines to append to a file that holds `place` events already."""
    return seal(map(_encoder.encode, events), place + 2)


def encode_trace(trace: Trace, *, compress: bool = False) -> bytes:
    """The whole file as bytes; the same trace gives the same bytes."""
    events = trace.events_before(trace.last)
    header = msgspec.structs.replace(trace.header, num_events=len(events))
    text = encode_header(header) + encode_lines(events, 0)
    return pack(text) if compress else text


def write_trace(path: str | Path, trace: Trace) -> None:
    """Write the whole trace at once; a file that was there is replaced when all is written."""
    path = Path(path)
    unfinished = path.with_name(f"{path.name}.part")
    unfinished.write_bytes(encode_trace(trace, compress=path.suffix == ".gz"))
    unfinished.replace(path)


MAX_SIGNATURE_BYTES = 1_000  # in which a header names its format
BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # some editors put it in front
# No event is as short. Whoever packs millions of empty lines into a small file does not get our time.
MIN_LINE_BYTES, MIN_LINES = 16, 1_000
SHORT_LINES = Sentence.of("trace.short_lines", "most lines from here on are too short to be events")

# Reading --------------------------------------------------------------------------------------


def read_trace(source: str | Path | bytes, *, max_bytes: int = MAX_BYTES) -> Loaded:
    """Read a file, or its bytes. Never raises for what the file holds, nor for a missing file."""
    try:
        content = source if isinstance(source, bytes) else _file_content(Path(source), max_bytes)
    except OSError as error:
        return Loaded(None, _not_to_be_had(refusal_of(error)))
    except TraceError as error:
        return Loaded(None, _not_to_be_had(error.sentence))
    with _no_full_collections():
        text, damage = unpack(content, max_bytes)
        text = text.removeprefix(BYTE_ORDER_MARK)
        header_end = text.find(b"\n")
        if damage is not None and header_end < 0:
            return Loaded(None, _in_line_1(damage))
        header_line = text if header_end < 0 else text[:header_end]
        if not header_line.strip() and not text.strip():
            return Loaded(None, _in_line_1(Sentence.of("trace.empty", "the file is empty")))
        try:
            header = parse_header(header_line)
        except TraceError as error:
            return Loaded(None, _known_better(text) or _in_line_1(error.sentence))
        if text.count(b"\n") > MIN_LINES + len(text) // MIN_LINE_BYTES:
            return Loaded(Trace(header), at_line(2, SHORT_LINES))
        is_sealed = header.version == FORMAT_VERSION
        body = decode_body(text[len(header_line) + 1 :], damage, is_sealed=is_sealed)
        now = msgspec.structs.replace(header, version=FORMAT_VERSION, num_events=None)
        return Loaded(*show(now, body._replace(num_written=header.num_events)))


def _file_content(path: Path, max_bytes: int) -> bytes:
    if path.stat().st_size > max_bytes:
        raise TraceError.of(
            "trace.too_large",
            "it has {size:,} bytes, and {most:,} are allowed",
            size=path.stat().st_size,
            most=max_bytes,
        )
    return path.read_bytes()


def _known_better(text: bytes) -> str | None:
    """Another kind of file is named; what began as a trace of ours has the header's own reason."""
    return None if FORMAT.encode() in text[:MAX_SIGNATURE_BYTES] else foreign(text)


def _not_to_be_had(reason: str) -> Sentence:
    return Sentence.of("trace.not_to_be_had", "the file cannot be read: {reason}", reason=reason)


def _in_line_1(reason: str) -> Sentence:
    return Sentence.of("trace.line_1", "line 1: {reason}", reason=reason)


@contextmanager
def _no_full_collections() -> Iterator[None]:
    """Events hold no cycles, but full collections would walk over all of them again and again.

    The young ones go on: they find that tuples of numbers need no watching, once for all.
    """
    before = gc.get_threshold()
    gc.set_threshold(before[0], before[1], 1 << 30)
    try:
        yield
    finally:
        gc.set_threshold(*before)
