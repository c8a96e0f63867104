"""What stands behind a broken line is shown where it still follows; another file is named."""

import gzip

import pytest

from engine.trace.codec import read_trace
from engine.trace.events import BlockHashed, PrefixLookedUp
from tests.trace.stories import LONE
from tests.trace.test_damaged_files import kept, line_number, lines_of, lone_text


def without_line(number: int, *, left: bytes = b"{broken\n") -> bytes:
    lines = lines_of(lone_text())
    return b"".join([*lines[: number - 1], left, *lines[number:]])


@pytest.mark.parametrize("kind", [PrefixLookedUp, BlockHashed])
def test_what_stands_behind_a_broken_line_is_shown_where_it_still_follows(kind: type) -> None:
    place = next(place for place, event in enumerate(LONE) if isinstance(event, kind))
    loaded = read_trace(without_line(place + 2))
    assert kept(loaded) == [*LONE[:place], *LONE[place + 1 :]]
    assert line_number(loaded.problem) == place + 2
    assert "left out" in (loaded.problem or "")


def test_a_broken_line_that_something_hangs_on_ends_what_is_shown_and_says_why() -> None:
    hangs_on_nothing = {PrefixLookedUp, BlockHashed}
    for place, event in enumerate(LONE[:-1]):
        if type(event) in hangs_on_nothing:
            continue
        loaded = read_trace(without_line(place + 2))
        assert kept(loaded) == LONE[:place], event
        assert line_number(loaded.problem) == place + 2
        assert "does not follow without it (line " in (loaded.problem or "")


def test_a_line_that_stands_twice_is_left_out_once() -> None:
    lines = lines_of(lone_text())
    loaded = read_trace(b"".join([*lines[:10], lines[9], *lines[10:]]))
    assert kept(loaded) == LONE
    assert line_number(loaded.problem) == 11


def test_lines_in_a_wrong_order_end_what_is_shown() -> None:
    lines = lines_of(lone_text())
    lines[5], lines[6] = lines[6], lines[5]
    loaded = read_trace(b"".join(lines))
    assert kept(loaded) == LONE[:4]
    assert line_number(loaded.problem) == 6


def test_several_broken_lines_are_named() -> None:
    lines = lines_of(lone_text())
    lines[4] = lines[18] = b"{broken\n"
    loaded = read_trace(b"".join(lines))
    assert "line 5: JSON is malformed at byte 1. This line and lines 19 are left out" in str(
        loaded.problem
    )
    assert len(kept(loaded)) == len(LONE) - 2


def test_a_broken_line_and_an_early_end_are_both_told() -> None:
    loaded = read_trace(without_line(5)[:-20])
    assert "line 5: " in (loaded.problem or "")
    assert "the line is cut off" in (loaded.problem or "")


OTHER_FILES = {
    b"\x28\xb5\x2f\xfd\x04\x00": "in the format Zstandard",
    b"PK\x03\x04aaaa": "in the format ZIP",
    b"\xfd7zXZ\x00\x00": "in the format XZ",
    b"BZh91AY": "in the format bzip2",
    b"\xff\xfe{\x00": "in the format UTF-16",
    b"\x00\x01\x02": "binary file",
    b'{"ts": 1.5, "events": [{"type": "BlockStored", "block_hashes": [1]}]}\n': "KV events of vLLM",
    b'[1.5, [["BlockStored", [1], null, [1, 2], 2, null]], 0]\n': "KV events of vLLM",
    b"\x93\xcb\x41\xda\x91\x96\xabBlockStored\x91\x01": "KV events of vLLM",
    b'{"traceEvents": []}': "file for Perfetto",
    b'{\n "model_type": "llama",\n "num_hidden_layers": 30\n}\n': "config.json of a model",
    b'{"name": "x", "config": {}, "requests": []}': "this is a workload",
    b'{"type": "StepBegan", "step": 0, "token_budget": 8}\n': "header is missing",
}


@pytest.mark.parametrize(("content", "says"), OTHER_FILES.items(), ids=OTHER_FILES.values())
def test_another_kind_of_file_is_called_by_its_name(content: bytes, says: str) -> None:
    for packed in (content, gzip.compress(content)):
        trace, problem = read_trace(packed)
        assert trace is None
        assert says in (problem or "")
