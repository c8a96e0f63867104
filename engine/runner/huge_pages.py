"""Fewer address look-ups for memory that is streamed through: Linux's huge pages.

A decode step walks once through all weights. In pages of 4 kB that is a look-up per page, and in
a virtual machine each of them is several reads of memory; in pages of 2 MB there are 512 times
fewer. Kernels commonly hand out huge pages on request only (`madvise`), and torch does not ask.

All of it is advice: nothing here changes what memory holds, and whatever is refused, or missing on
another system or C library, leaves the pages as they were.
"""

import ctypes
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

MADV_HUGEPAGE, MADV_COLLAPSE = 14, 25  # Linux: from now on; and at once, since 6.1
HUGE_PAGE_BYTES = 2 << 20
MAPS = Path("/proc/self/maps")
# Writable private memory of no file, as torch's large allocations and the heap are.
ANONYMOUS = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw-p \S+ \S+ 0\s*(?:\[heap\])?$")

Range = tuple[int, int]  # first address, and the one after the last


@contextmanager
def huge_pages_for_new_memory() -> Iterator[None]:
    """Ask for huge pages for what the block allocates and keeps. Does nothing where it cannot.

    New is what was mapped since, by whichever thread: what others allocate meanwhile is advised
    too, and what they release between our look and our advice is refused or taken by their next
    allocation. Neither does harm.
    """
    before = anonymous_ranges()
    yield
    libc = _libc()
    if libc is None:
        return
    _give_back_freed_memory(libc)
    for start, end in without(anonymous_ranges(), before):
        _advise(libc, start, end)


def without(ranges: Sequence[Range], others: Sequence[Range]) -> list[Range]:
    """The parts of sorted `ranges` that lie in none of the sorted `others`."""
    left: list[Range] = []
    for start, end in ranges:
        for other_start, other_end in others:
            if other_end <= start:
                continue
            if other_start >= end:
                break
            if other_start > start:
                left.append((start, other_start))
            start = other_end
        if start < end:
            left.append((start, end))
    return left


def anonymous_ranges() -> list[Range]:
    """Heap and large allocations of this process, sorted; nothing where nobody lists them."""
    if sys.platform != "linux":
        return []
    try:
        lines = MAPS.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []
    matches = filter(None, map(ANONYMOUS.match, lines))
    return [(int(match[1], 16), int(match[2], 16)) for match in matches]


def _libc() -> ctypes.CDLL | None:
    if sys.platform != "linux":
        return None
    try:
        return ctypes.CDLL(None)
    except OSError:
        return None


def _give_back_freed_memory(libc: ctypes.CDLL) -> None:
    """glibc keeps what is freed inside its heap; whoever packs weights frees as much as he keeps."""
    trim = getattr(libc, "malloc_trim", None)  # glibc's own
    if trim is not None:
        trim(ctypes.c_size_t(0))


def _advise(libc: ctypes.CDLL, start: int, end: int) -> None:
    """For the whole huge pages between `start` and `end`; an error code is an answer like any."""
    start = -(-start // HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES
    end = end // HUGE_PAGE_BYTES * HUGE_PAGE_BYTES
    madvise = getattr(libc, "madvise", None)
    if start >= end or madvise is None:
        return
    for advice in (MADV_HUGEPAGE, MADV_COLLAPSE):
        madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), ctypes.c_int(advice))
