"""Each line of a trace file has a checksum, and a whole file the number of its events."""

import gzip
import re
import zlib

import pytest

from engine.trace.codec import encode_header, encode_lines, encode_trace, read_trace
from engine.trace.events import PrefixLookedUp, StepEnded
from engine.trace.seal import NUM_BYTES, holds_seal, seal, unsealed
from tests.trace.stories import LONE, build_header, build_trace, old_file
from tests.trace.test_damaged_files import kept, line_number, lines_of

STEP_ENDS = [place + 1 for place, event in enumerate(LONE) if isinstance(event, StepEnded)]


def whole_file() -> bytes:
    return encode_trace(build_trace(LONE))


def growing_file(num_events: int = len(LONE)) -> bytes:
    return encode_header(build_header()) + encode_lines(LONE[:num_events], 0)


def flipped(content: bytes, place: int, bit: int = 0) -> bytes:
    return content[:place] + bytes([content[place] ^ 1 << bit]) + content[place + 1 :]


def test_a_checksum_is_crc_32_of_the_line_without_it_begun_with_the_line_s_number() -> None:
    plain = b'{"type":"StepBegan","step":0,"token_budget":64}'
    crc = b"%08x" % zlib.crc32(plain, 4)
    assert lines_of(whole_file())[3] == plain[:-1] + b',"crc":"' + crc + b'"}\n'
    assert unsealed(lines_of(whole_file())[3][:-1], 4) == plain
    assert unsealed(lines_of(whole_file())[3][:-1], 5) is None


def test_a_checksum_costs_17_bytes_a_line() -> None:
    assert NUM_BYTES - 1 == 17
    header = len(encode_header(build_header())) - len(lines_of(old_file(build_trace([])))[0])
    grown = len(growing_file()) - len(old_file(build_trace(LONE)))
    assert grown - header == 17 * len(LONE)


@pytest.mark.parametrize("bit", [0, 3, 5, 7])
def test_a_byte_that_was_changed_anywhere_is_told_with_its_line(bit: int) -> None:
    """What stands before its line can be looked at, whatever the byte and wherever it is."""
    text = whole_file()
    for place in range(len(text)):
        loaded = read_trace(flipped(text, place, bit))
        line = text[:place].count(b"\n") + 1
        if line == 1:
            assert loaded.trace is None
            assert "line 1: " in (loaded.problem or "") or "binary file" in (loaded.problem or "")
            continue
        assert line_number(loaded.problem) == line, place
        events = kept(loaded)
        assert events[: line - 2] == LONE[: line - 2]
        assert all(event in LONE for event in events)


@pytest.mark.parametrize("bit", [0, 6])
def test_a_growing_file_tells_a_changed_byte_as_well(bit: int) -> None:
    text = growing_file()
    assert read_trace(text).problem is None
    for place in range(text.index(b"\n") + 1, len(text), 3):
        line = text[:place].count(b"\n") + 1
        assert line_number(read_trace(flipped(text, place, bit)).problem) == line


def test_a_digit_that_still_reads_is_no_longer_believed() -> None:
    text = whole_file().replace(b'"token_budget":64', b'"token_budget":65', 1)
    assert read_trace(text).problem == (
        "line 4: this line is not as it was written, or not in its place (its checksum does not "
        "match); what stands before it can be opened. What stands behind it does not follow "
        "without it (line 9: RequestScheduled of step 0: request A cannot be given 6 tokens "
        "after 0: it has computed 0)"
    )
    without = read_trace(
        old_file(build_trace(LONE)).replace(b'"token_budget":64', b'"token_budget":65', 1)
    )
    assert without.problem is None, "an older file has nothing to find it by"


def test_what_stands_behind_a_changed_line_is_shown_where_it_still_follows() -> None:
    place = next(place for place, event in enumerate(LONE) if isinstance(event, PrefixLookedUp))
    lines = lines_of(whole_file())
    lines[place + 1] = lines[place + 1].replace(b'"num_tokens":', b'"num_tokens":1')
    loaded = read_trace(b"".join(lines))
    assert kept(loaded) == [*LONE[:place], *LONE[place + 1 :]]
    assert line_number(loaded.problem) == place + 2
    assert "left out" in (loaded.problem or "")


def test_a_line_that_is_gone_or_stands_elsewhere_is_missed() -> None:
    lines = lines_of(whole_file())
    gone = read_trace(b"".join([*lines[:9], *lines[10:]]))
    assert (line_number(gone.problem), kept(gone)) == (10, LONE[:8])
    lines[5], lines[6] = lines[6], lines[5]
    assert line_number(read_trace(b"".join(lines)).problem) == 6


def test_a_cut_of_a_whole_file_between_two_steps_is_told() -> None:
    for end in STEP_ENDS[:-1]:
        loaded = read_trace(b"".join(lines_of(whole_file())[: end + 1]))
        assert kept(loaded) == LONE[:end]
        assert loaded.problem == (
            f"line {end + 2}: the file ends here, and {len(LONE) - end} of its {len(LONE)} events "
            "are missing; what stands before it can be opened"
        )
    header = read_trace(lines_of(whole_file())[0])
    assert (line_number(header.problem), kept(header)) == (2, [])


def test_a_run_that_goes_on_ends_nowhere_too_early() -> None:
    for end in STEP_ENDS:
        loaded = read_trace(growing_file(end))
        assert (loaded.problem, kept(loaded)) == (None, LONE[:end])


def test_a_file_cut_anywhere_keeps_all_whole_lines_and_says_so() -> None:
    text = whole_file()
    first = len(lines_of(text)[0])
    for size in range(first, len(text) - 1):
        loaded = read_trace(text[:size])
        num_whole = text[: size + 1].count(b"\n")  # the end of the last line may be missing
        assert kept(loaded) == LONE[: num_whole - 1]
        assert line_number(loaded.problem) == num_whole + 1
    assert read_trace(text[:-1]).problem is None


def test_a_line_that_was_cut_off_is_told_from_one_whose_end_was_changed() -> None:
    text = whole_file()
    assert "is cut off" in (read_trace(text[:-3]).problem or "")
    assert "does not match" in (read_trace(text[:-1] + b"}").problem or "") or "malformed" in (
        read_trace(text[:-1] + b"}").problem or ""
    )
    assert holds_seal(text[:-1])
    assert not holds_seal(text[:-2])


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_ends_of_line_of_windows_change_nothing(pack: type[bytes]) -> None:
    loaded = read_trace(pack(whole_file().replace(b"\n", b"\r\n")))
    assert (loaded.problem, kept(loaded)) == (None, LONE)


def test_an_older_file_opens_as_ever_and_is_written_anew_with_checksums() -> None:
    old = old_file(build_trace(LONE))
    assert b'"version":1' in old
    assert b'"crc"' not in old
    loaded = read_trace(old)
    assert (loaded.problem, kept(loaded)) == (None, LONE)
    assert loaded.trace is not None
    assert encode_trace(loaded.trace) == whole_file()


def test_what_a_user_typed_is_no_checksum() -> None:
    typed = b'{"text":"x,\\"crc\\":\\"00000000\\"}"}'
    [line, _] = seal([typed], 7).split(b"\n")
    assert unsealed(line, 7) == typed
    assert re.fullmatch(rb'.*,"crc":"[0-9a-f]{8}"\}', line)
