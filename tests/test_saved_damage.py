"""A saved run whose files were damaged: what is wrong is told, and what is whole comes back."""

import msgspec
import pytest

from engine.errors import SourceError
from engine.sources.saved import ABOUT_LOST, About
from engine.trace.events import StepEnded
from tests.test_saved_runs import ABOUT, keep, lone, runs
from tests.trace.stories import LONE, old_file

__all__ = ["runs"]  # the fixture


def damage(runs, change):
    recording = keep(runs)
    path = runs.path(recording.run_id)
    path.write_bytes(change(path.read_bytes()))
    return recording.run_id


@pytest.mark.parametrize("size", [1, 2, 20, 60])
def test_a_last_line_that_was_cut_off_is_normal(runs, size):
    back = runs.open(damage(runs, lambda content: content[:-size]))
    assert back.problem is None
    assert back.trace.events_from(0) == (LONE if size == 1 else LONE[:19])


def test_a_line_that_is_damaged_inside_is_told_and_what_is_before_it_is_there(runs):
    def overwrite(content):
        lines = content.splitlines(keepends=True)
        return b"".join([*lines[:14], b"x" * 20 + b"\n", *lines[15:]])

    back = runs.open(damage(runs, overwrite))
    assert back.problem is not None
    assert back.problem.startswith("line 15: ")
    assert back.trace.events_from(0) == LONE[:12]


def test_a_byte_that_was_changed_is_told_and_every_step_before_it_is_there(runs):
    """One that still reads, in every line: the digits of its checksum and the end of the line."""
    recording = keep(runs)
    path = runs.path(recording.run_id)
    whole = path.read_bytes()
    ends = [place + 1 for place, event in enumerate(LONE) if isinstance(event, StepEnded)]
    place = whole.index(b"\n") + 1
    for number, line in enumerate(whole.splitlines(keepends=True)[1:], 2):
        for at in (place + 12, place + len(line) - 5, place + len(line) - 1):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            back = runs.open(recording.run_id)
            assert back.problem is not None, (number, at - place)
            assert back.problem.startswith(f"line {number}: ")
            whole_steps = max((end for end in ends if end <= number - 2), default=0)
            assert back.trace.events_from(0)[:whole_steps] == LONE[:whole_steps]
        place += len(line)


def test_a_byte_of_the_record_that_was_changed_costs_the_record_and_is_told(runs):
    recording = keep(runs)
    path = runs.folder / f"{recording.run_id}.about.json"
    whole = path.read_bytes()
    for at in range(len(whole) - 1):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        back = runs.open(recording.run_id)
        assert (back.about, back.problem) == (About(), ABOUT_LOST), whole[at : at + 1]
        assert back.trace.events_from(0) == LONE


def test_what_an_older_server_saved_is_opened_without_a_word(runs):
    recording = keep(runs)
    runs.path(recording.run_id).write_bytes(old_file(lone()))
    path = runs.folder / f"{recording.run_id}.about.json"
    path.write_bytes(msgspec.json.encode(ABOUT))
    back = runs.open(recording.run_id)
    assert (back.about, back.problem) == (ABOUT, None)
    assert back.trace.events_from(0) == LONE


@pytest.mark.parametrize("content", [b"", b"x", b'{"format": "other"}\n'])
def test_a_file_without_a_header_gives_one_sentence_without_a_path(runs, content):
    run_id = damage(runs, lambda _: content)
    with pytest.raises(SourceError, match="the saved run is damaged: line 1: ") as refused:
        runs.open(run_id)
    assert str(runs.folder) not in str(refused.value)


def test_a_folder_in_the_place_of_a_file_gives_one_sentence_without_a_path(runs):
    run_id = "b" * 22
    runs.path(run_id).mkdir(parents=True)
    with pytest.raises(SourceError, match="the saved run cannot be read") as refused:
        runs.open(run_id)
    assert str(runs.folder) not in str(refused.value)


@pytest.mark.parametrize("record", [None, b"", b"{", b"[]", b'{"typed": 5}', b"\xff", b"[" * 9999])
def test_a_record_that_is_lost_costs_only_itself(runs, record):
    recording = keep(runs)
    path = runs.folder / f"{recording.run_id}.about.json"
    if record is None:
        path.unlink()
    else:
        path.write_bytes(record)
    back = runs.open(recording.run_id)
    assert (back.about, back.problem) == (About(), ABOUT_LOST)
    assert back.trace.events_from(0) == LONE
