"""What is wrong with a file is told in one sentence, and what stands before it is kept.

The files are of version 1, without checksums: what is wrong there is found by what it says.
"""

import gzip
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from engine.trace.codec import Loaded, read_trace
from engine.trace.events import (
    BlocksTaken,
    Event,
    StepBegan,
    StepEnded,
    TokensSampled,
)
from engine.trace.header import FORMAT_VERSION
from engine.trace.trace import Trace
from tests.trace.stories import LONE, LONE_PROMPT, build_header, build_trace, old_file


def lone_text() -> bytes:
    return old_file(build_trace(LONE))


def lines_of(text: bytes) -> list[bytes]:
    return text.splitlines(keepends=True)


def kept(loaded: Loaded) -> list[Event]:
    """The events that were read; every one of them must be there to look at."""
    assert loaded.trace is not None
    loaded.trace.at(loaded.trace.last)
    return loaded.trace.events_from(0)


def line_number(problem: str | None) -> int:
    found = re.match(r"line (\d+): [^\n]+$", problem or "")
    assert found, f"not one sentence with a line number: {problem!r}"
    return int(found[1])


def changed(line_index: int, **fields: Any) -> bytes:
    lines = lines_of(lone_text())
    lines[line_index] = json.dumps({**json.loads(lines[line_index]), **fields}).encode() + b"\n"
    return b"".join(lines)


NO_TRACE = {
    "empty": (b"", "the file is empty"),
    "blank": (b"\n \n", "the file is empty"),
    "text": (b"hello\n", "not a Pagewalk trace"),
    "foreign JSON": (b'{"name": "x"}\n', 'no field "format"'),
    "array": (b"[1, 2]\n", "not a Pagewalk trace"),
    "recorded run": (b'{"type": "header", "vllm_version": "0.17.1"}\n', "run of snapshots"),
    "newer": (changed(0, version=FORMAT_VERSION + 1), "newer Pagewalk"),
    "no version": (changed(0, version=None), "format version None is unknown"),
    "unknown header field": (changed(0, colour="red"), "unknown field `colour`"),
    "no block size": (changed(0, config={"num_blocks": 8}), "block_size=None"),
    "true as a number": (changed(0, config={"block_size": True}), "block_size=True"),
    "absurd pool": (
        changed(0, config={**build_header().config, "num_blocks": 10**12}),
        "num_blocks=1,000,000,000,000 is more than can be opened: at most 4,000,000",
    ),
    "no groups": (changed(0, config={**build_header().config, "kv_groups": []}), "kv_groups=[]"),
    "deep": (b"[" * 100_000, "not a Pagewalk trace"),
    "deep field": (b'{"format": "pagewalk-trace", "config": ' + b"[" * 100_000, "not a Pagewalk"),
    "deep config": (
        changed(0, config=0).replace(
            b'"config": 0', b'"config": {"x": ' + b"[" * 500 + b"]" * 500 + b"}"
        ),
        "block_size=None",
    ),
    "broken gzip": (b"\x1f\x8b" + b"x" * 40, "corrupt gzip data"),
    "short gzip": (gzip.compress(b"x" * 40)[:12], "gzip data ends too early"),
}


@pytest.mark.parametrize(("content", "reason"), NO_TRACE.values(), ids=NO_TRACE.keys())
def test_a_file_without_a_header_gives_a_sentence_and_no_trace(content: bytes, reason: str) -> None:
    trace, problem = read_trace(content)
    assert trace is None
    assert line_number(problem) == 1
    assert reason in (problem or "")


def test_a_missing_file_gives_a_sentence(tmp_path: Path) -> None:
    assert "cannot be read" in (read_trace(tmp_path / "no.jsonl").problem or "")
    assert "cannot be read" in (read_trace(tmp_path).problem or "")


# The event of line 5 (counted from 1) is the lookup, of line 6 BlocksTaken.
WRONG_LINES = {
    "unknown event": (changed(5, type="BlocksStolen"), 6, "BlocksStolen"),
    "no type": (b"".join([*lines_of(lone_text())[:5], b"{}\n"]), 6, "`type`"),
    "unknown field": (changed(5, colour="red"), 6, "unknown field `colour`"),
    "wrong type": (changed(5, block_ids=["1"]), 6, "Expected `int`"),
    "fraction": (changed(5, block_ids=[1.5]), 6, "Expected `int`"),
    "missing field": (
        b"".join([*lines_of(lone_text())[:5], b'{"type": "BlocksTaken"}\n']),
        6,
        "missing required field",
    ),
    "not JSON": (b"".join([*lines_of(lone_text())[:5], b"nonsense\n"]), 6, "malformed"),
    "not UTF-8": (b"".join([*lines_of(lone_text())[:5], b'"\xff"\n']), 6, ""),
    "block that is not the head": (
        changed(5, block_ids=[3, 4]),
        6,
        "free queue begins with (1, 2)",
    ),
    "unknown request": (changed(5, request_id="Z"), 6, "(Z)"),
    "unknown group": (changed(5, group_id=7), 6, "no cache group 7"),
    "negative group": (changed(5, group_id=-1), 6, "no cache group -1"),
    "absurd number of tokens": (
        changed(8, num_scheduled_tokens=10**15),
        10,
        "got 1000000000000000",
    ),
    "step that was left out": (changed(13, step=4), 14, "step 4 began where step 1 was expected"),
    "step that ended twice": (changed(12, step=1), 13, "step 1 ended, but step 0"),
    "texts of another number": (changed(11, token_bytes=["eA==", "eA=="]), 12, "another number"),
}


@pytest.mark.parametrize(("content", "line", "reason"), WRONG_LINES.values(), ids=WRONG_LINES)
def test_a_wrong_line_is_named_and_what_stands_before_it_is_kept(
    content: bytes, line: int, reason: str
) -> None:
    loaded = read_trace(content)
    assert line_number(loaded.problem) == line
    assert reason in (loaded.problem or "")
    assert "what stands before it can be opened" in (loaded.problem or "")
    assert kept(loaded) == [*LONE][: line - 2] or line == 10


def test_empty_lines_count_as_lines() -> None:
    lines = lines_of(changed(5, block_ids=[3]))
    assert line_number(read_trace(b"".join([*lines[:3], b"\n\n", *lines[3:]])).problem) == 8


def test_a_file_that_ends_in_the_middle_of_a_step_says_so() -> None:
    loaded = read_trace(b"".join(lines_of(lone_text())[:8]))
    assert line_number(loaded.problem) == 9
    assert "ends in the middle of step 0" in (loaded.problem or "")
    assert kept(loaded) == LONE[:7]


@pytest.mark.parametrize("num_events", [0, 2, 12, 19])
def test_a_file_may_end_between_two_steps(num_events: int) -> None:
    loaded = read_trace(b"".join(lines_of(lone_text())[: num_events + 1]))
    assert loaded.problem is None
    assert kept(loaded) == LONE[:num_events]


def test_a_file_cut_anywhere_keeps_all_whole_lines() -> None:
    text = lone_text()
    for size in range(len(text)):
        whole = text[:size].count(b"\n")
        loaded = read_trace(text[:size])
        if whole == 0 and text[:size] != lines_of(text)[0][:-1]:
            assert loaded.trace is None
            assert line_number(loaded.problem) == 1
            continue
        is_whole_line = text[size : size + 1] == b"\n"
        assert kept(loaded) == LONE[: max(0, whole - 1 + is_whole_line)]
        if loaded.problem is not None:
            assert line_number(loaded.problem) == whole + 1 + is_whole_line
        else:
            assert kept(loaded) in ([], LONE[:2], LONE[:12], LONE[:19], LONE)


def test_gzip_cut_anywhere_keeps_what_can_be_unfolded() -> None:
    packed = gzip.compress(lone_text())
    best = -1
    for size in range(len(packed)):
        loaded = read_trace(packed[:size])
        line_number(loaded.problem)
        count = -1 if loaded.trace is None else len(kept(loaded))
        assert count >= best
        best = count
        assert loaded.trace is None or kept(loaded) == LONE[:count]
    assert best == len(LONE)


def test_gzip_with_a_wrong_checksum_keeps_everything_and_says_so() -> None:
    packed = bytearray(gzip.compress(lone_text()))
    packed[-5] ^= 0xFF
    loaded = read_trace(bytes(packed))
    assert kept(loaded) == LONE
    assert "corrupt gzip data" in (loaded.problem or "")


def test_flipped_bytes_never_raise_and_never_show_what_cannot_be() -> None:
    rng = random.Random(0)
    text = lone_text()
    packed = gzip.compress(text)
    for content in [text] * 300 + [packed] * 200:
        damaged = bytearray(content)
        for _ in range(rng.randint(1, 3)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        loaded = read_trace(bytes(damaged))
        if loaded.problem is not None and "binary file" not in loaded.problem:
            line_number(loaded.problem)
        if loaded.trace is not None:
            kept(loaded)


def test_a_file_longer_than_allowed_is_read_up_to_there(tmp_path: Path) -> None:
    text = lone_text()
    limit = len(b"".join(lines_of(text)[:3])) + 5
    for content in (text, gzip.compress(text)):
        loaded = read_trace(content, max_bytes=limit)
        assert kept(loaded) == LONE[:2]
        assert f"unpacks to more than {limit} B, which" in (loaded.problem or "")
    (tmp_path / "long.jsonl").write_bytes(text)
    assert "are allowed" in (read_trace(tmp_path / "long.jsonl", max_bytes=limit).problem or "")


def test_two_gzip_members_are_one_file() -> None:
    lines = lines_of(lone_text())
    packed = gzip.compress(b"".join(lines[:9])) + gzip.compress(b"".join(lines[9:]))
    loaded = read_trace(packed)
    assert loaded.problem is None
    assert kept(loaded) == LONE


def test_the_story_stands_where_these_tests_expect_it() -> None:
    assert isinstance(LONE[4], BlocksTaken)
    assert isinstance(LONE[10], TokensSampled)
    assert isinstance(LONE[11], StepEnded)
    assert isinstance(LONE[12], StepBegan)
    assert LONE[0].prompt_token_ids == LONE_PROMPT  # type: ignore[attr-defined]


def test_a_small_file_of_millions_of_short_lines_is_refused_at_once():
    header = old_file(Trace(build_header()))
    for filling in (b"\n", b" \n", b"{}\n"):
        bomb = gzip.compress(header + filling * 3_000_000)
        loaded = read_trace(bomb, max_bytes=48 << 20)
        assert loaded.trace is not None
        assert loaded.trace.num_events == 0
        assert "line 2" in (loaded.problem or "")


def test_a_byte_order_mark_is_no_damage():
    content = lone_text()
    loaded = read_trace(b"\xef\xbb\xbf" + content)
    assert loaded.problem is None
    assert loaded.trace is not None
