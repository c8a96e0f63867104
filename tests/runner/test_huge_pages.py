"""Huge pages are asked for where memory is new, and nowhere is it an error that there are none."""

import ctypes
import subprocess
import sys
import threading

import pytest
import torch

from engine.runner import huge_pages
from engine.runner.huge_pages import (
    HUGE_PAGE_BYTES,
    Range,
    anonymous_ranges,
    huge_pages_for_new_memory,
    without,
)
from tests.source_tree import ROOT

MAPS = """\
1000-3000 rw-p 00000000 00:00 0\x20
3000-4000 r--p 00000000 00:00 0\x20
5000-6000 rw-p 00000000 00:00 0                          [heap]
6000-7000 rw-p 00001000 08:01 4711                       /usr/lib/libc.so.6
7000-8000 rw-p 00000000 00:00 0                          [stack]
8000-9000 rw-s 00000000 00:01 12                         /dev/shm/a file (deleted)
no line of the kind
a000-b000 rw-p 00000000 00:00 0
"""

LARGE = 48 << 20  # glibc takes up to 32 MB from what it kept of earlier allocations

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="Linux lists a process's memory")


@pytest.mark.parametrize(
    ("ranges", "others", "left"),
    [
        ([], [], []),
        ([], [(1, 5)], []),
        ([(1, 5)], [], [(1, 5)]),
        ([(1, 5)], [(1, 5)], []),
        ([(1, 5)], [(0, 9)], []),
        ([(1, 5)], [(5, 9)], [(1, 5)]),  # they touch
        ([(5, 9)], [(1, 5)], [(5, 9)]),
        ([(1, 9)], [(1, 5)], [(5, 9)]),  # grown upwards
        ([(1, 9)], [(5, 9)], [(1, 5)]),  # and downwards
        ([(1, 9)], [(3, 5)], [(1, 3), (5, 9)]),
        ([(1, 9)], [(2, 3), (3, 4), (6, 7)], [(1, 2), (4, 6), (7, 9)]),
        ([(1, 3), (5, 9)], [(2, 6)], [(1, 2), (6, 9)]),  # what was between them is gone
        ([(1, 3), (5, 9)], [(0, 1), (3, 5), (9, 10)], [(1, 3), (5, 9)]),
    ],
)
def test_what_is_left_of_ranges_without_others(ranges, others, left):
    assert without(ranges, others) == left


@on_linux
def test_only_writable_private_memory_of_no_file_counts(tmp_path, monkeypatch):
    maps = tmp_path / "maps"
    maps.write_text(MAPS)
    monkeypatch.setattr(huge_pages, "MAPS", maps)
    assert anonymous_ranges() == [(0x1000, 0x3000), (0x5000, 0x6000), (0xA000, 0xB000)]


@pytest.fixture
def advised(monkeypatch) -> list[Range]:
    """The ranges that are found new, noted and then advised as ever."""
    found: list[Range] = []
    advise = huge_pages._advise

    def note(libc: ctypes.CDLL, start: int, end: int) -> None:
        found.append((start, end))
        advise(libc, start, end)

    monkeypatch.setattr(huge_pages, "_advise", note)
    return found


# A process of its own: in one that ran other tests first, memory that they gave back keeps its
# known place and may become the new tensor's.
ADVISED_IN_A_NEW_PROCESS = f"""
import torch
from engine.runner import huge_pages

advised, advise = [], huge_pages._advise


def note(libc, start, end):
    advised.append((start, end))
    advise(libc, start, end)


def lists(ranges, tensor):
    middle = tensor.data_ptr() + tensor.numel() // 2
    return any(start <= middle < end for start, end in ranges)


huge_pages._advise = note
earlier = torch.ones({LARGE}, dtype=torch.uint8)
assert lists(huge_pages.anonymous_ranges(), earlier)
with huge_pages.huge_pages_for_new_memory():
    tensor = torch.full(({LARGE},), 7, dtype=torch.uint8)
assert lists(advised, tensor)
assert not lists(advised, earlier)
assert bool((tensor == 7).all())
assert bool((earlier == 1).all())
"""


@on_linux
def test_a_new_large_tensor_is_found_and_keeps_its_numbers():
    ended = subprocess.run(
        [sys.executable, "-c", ADVISED_IN_A_NEW_PROCESS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr


@on_linux
def test_other_threads_may_allocate_and_release_meanwhile():
    stop = threading.Event()
    wrong: list[int] = []

    def churn(number: int) -> None:
        while not stop.is_set():
            tensor = torch.full((3 * HUGE_PAGE_BYTES,), number, dtype=torch.uint8)
            if not bool((tensor == number).all()):
                wrong.append(number)

    threads = [threading.Thread(target=churn, args=(number,)) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        with huge_pages_for_new_memory():
            kept = torch.ones(4 * HUGE_PAGE_BYTES, dtype=torch.uint8)
        assert bool((kept == 1).all())
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_another_system_is_left_alone(monkeypatch, platform, advised):
    monkeypatch.setattr(huge_pages.sys, "platform", platform)
    monkeypatch.setattr(huge_pages.ctypes, "CDLL", refuse)
    with huge_pages_for_new_memory():
        pass
    assert advised == []


def refuse(name: None) -> ctypes.CDLL:
    raise OSError(f"no library {name}")


@pytest.mark.parametrize("library", [lambda name: object(), refuse])
def test_a_c_library_without_the_calls_is_no_error(monkeypatch, library):
    monkeypatch.setattr(huge_pages.ctypes, "CDLL", library)
    with huge_pages_for_new_memory():
        kept = torch.ones(4 * HUGE_PAGE_BYTES, dtype=torch.uint8)
    assert bool((kept == 1).all())


def test_without_a_list_of_memory_nothing_is_advised(monkeypatch, tmp_path, advised):
    monkeypatch.setattr(huge_pages, "MAPS", tmp_path / "missing")
    with huge_pages_for_new_memory():
        pass
    assert advised == []


def test_an_error_in_the_block_is_the_callers():
    with pytest.raises(ZeroDivisionError), huge_pages_for_new_memory():
        raise ZeroDivisionError
