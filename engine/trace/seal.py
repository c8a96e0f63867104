"""The checksum at the end of each line of a trace file, as the line's last field.

    {"type":"StepEnded","step":3,"crc":"5d41402a"}

It is CRC-32 (zlib) of the line without that field, begun with the number of the line: so it finds a
byte that was changed and a line that was moved, and no line needs another one to be believed. A
killed server leaves whole lines and perhaps a piece of one more.
"""

from collections.abc import Iterable
from zlib import crc32

from engine.errors import Sentence

BEGINNING, END = b',"crc":"', b'"}'
NUM_BYTES = len(BEGINNING) + 8 + len(END)
CHANGED = Sentence.of(
    "trace.changed",
    "this line is not as it was written, or not in its place (its checksum does not match)",
)


def seal(lines: Iterable[bytes], first: int) -> bytes:
    """JSON objects as sealed lines; `first` is the number of the first one, counted from 1."""
    sealed = [line[:-1] + _seal(line, number) for number, line in enumerate(lines, first)]
    return b"\n".join([*sealed, b""])


def unsealed(line: bytes, number: int) -> bytes | None:
    """The JSON object of a line; None if it is not as it was written.

    Windows may have put its own end of line.
    """
    line = line.removesuffix(b"\r")
    plain = line[:-NUM_BYTES] + b"}"
    return plain if line[-NUM_BYTES:] == _seal(plain, number) else None


def holds_seal(line: bytes) -> bool:
    """Whether a whole line is in it: if its last byte is not the end of a line, that was changed."""
    place = line.rfind(BEGINNING)
    return 0 <= place <= len(line) - NUM_BYTES


def _seal(plain: bytes, number: int) -> bytes:
    return b'%b%08x"}' % (BEGINNING, crc32(plain, number))
