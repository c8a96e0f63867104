"""Traces as files: a header line, then one event a line, all JSON; gzip where the name says so.

Reading believes nothing. Whatever is wrong with a file is told in one sentence with the number of
the line, and everything before that line can still be opened; what stands behind it as well, where
it still follows.
"""

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import msgspec

from engine.errors import Sentence, TraceError
from engine.trace.events import TIME_FIELDS, Event
from engine.trace.foreign import foreign
from engine.trace.header import FORMAT, TraceHeader, parse_header
from engine.trace.packed import GzipWriter, pack, unpack
from engine.trace.salvage import at_line, decode_body, is_midway, show
from engine.trace.trace import Trace

__all__ = [
    "MAX_BYTES",
    "Loaded",
    "TraceHeader",
    "TraceWriter",
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


def encode_lines(events: Sequence[Event], header: TraceHeader | None = None) -> bytes:
    """Whole lines to append to a file; with `header` those that a file begins with."""
    return _encoder.encode_lines([*([] if header is None else [header]), *events])


def encode_trace(trace: Trace, *, compress: bool = False) -> bytes:
    """The whole file as bytes; the same trace gives the same bytes."""
    text = encode_lines(trace.events_before(trace.last), trace.header)
    return pack(text) if compress else text


def write_trace(path: str | Path, trace: Trace) -> None:
    """Write the whole trace at once; a file that was there is replaced when all is written."""
    path = Path(path)
    unfinished = path.with_name(f"{path.name}.part")
    unfinished.write_bytes(encode_trace(trace, compress=path.suffix == ".gz"))
    unfinished.replace(path)


class TraceWriter:
    """Appends a run to a file while it goes on. What `write` was given survives a crash."""

    def __init__(self, path: str | Path, header: TraceHeader) -> None:
        self.path = Path(path)
        self.num_written = 0  # events
        self._file = GzipWriter(self.path) if self.path.suffix == ".gz" else self.path.open("wb")
        self._file.write(_encoder.encode_lines([header]))
        self._file.flush()

    def write(self, events: Sequence[Event]) -> None:
        self._file.write(_encoder.encode_lines(events))
        self._file.flush()
        self.num_written += len(events)

    def catch_up(self, trace: Trace) -> None:
        """Write the events that the trace has gained; to be called after each step."""
        if self.num_written < trace.num_events:
            self.write(trace.events_from(self.num_written))

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> "TraceWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


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
    except (OSError, TraceError) as error:
        return Loaded(None, f"the file cannot be read: {error}")
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
        body = decode_body(memoryview(text)[len(header_line) + 1 :], damage)
        return Loaded(*show(header, body))


def _file_content(path: Path, max_bytes: int) -> bytes:
    if path.stat().st_size > max_bytes:
        raise TraceError(f"it has {path.stat().st_size} bytes, and {max_bytes} are allowed")
    return path.read_bytes()


def _known_better(text: bytes) -> str | None:
    """Another kind of file is named; what began as a trace of ours has the header's own reason."""
    return None if FORMAT.encode() in text[:MAX_SIGNATURE_BYTES] else foreign(text)


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
