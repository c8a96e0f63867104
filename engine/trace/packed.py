"""Gzip that gives back whatever can be unfolded, says what is wrong, and stops at a size."""

import gzip
import zlib

from engine.errors import Sentence

MAGIC = b"\x1f\x8b"
_GZIP_WBITS = 31
_PIECE_BYTES = 1 << 14  # gzip unfolds a piece to at most about a thousand times its size


def pack(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def unpack(content: bytes, max_bytes: int) -> tuple[bytes, str | None]:
    """The content, unfolded if it is gzip, up to the first damage; and what that damage is."""
    if not content.startswith(MAGIC):
        return content[:max_bytes], _too_long(max_bytes) if len(content) > max_bytes else None
    unfolded, place, member = bytearray(), 0, None
    while place < len(content):
        member = member or zlib.decompressobj(_GZIP_WBITS)
        piece = content[place : place + _PIECE_BYTES]
        before = member.copy()
        try:
            unfolded += member.decompress(piece)
        except zlib.error:
            return bytes(unfolded + _up_to_error(before, piece)), Sentence.of(
                "trace.gzip", "corrupt gzip data near byte {byte}", byte=place
            )
        if len(unfolded) > max_bytes:
            return bytes(unfolded[:max_bytes]), _too_long(max_bytes)
        place += len(piece) - len(member.unused_data)
        member = None if member.eof else member  # another one may follow
    if member is None:
        return bytes(unfolded), None
    return bytes(unfolded), Sentence.of("trace.gzip_ends", "the gzip data ends too early")


def _up_to_error(member: "zlib._Decompress", piece: bytes) -> bytes:
    """What a piece unfolds to before the byte at which it makes no sense."""
    unfolded = bytearray()
    try:
        for place in range(len(piece)):
            unfolded += member.decompress(piece[place : place + 1])
    except zlib.error:
        pass
    return bytes(unfolded)


def _size(num_bytes: int) -> str:
    mib, rest = divmod(num_bytes, 1 << 20)
    return f"{num_bytes:,} B" if rest or not mib else f"{mib:,} MiB"


def _too_long(max_bytes: int) -> str:
    return Sentence.of(
        "trace.too_long",
        "the file unpacks to more than {most}, which is all that is read here",
        most=_size(max_bytes),
    )
