"""The moving picture of the first page."""

from itertools import pairwise

from views import beginning
from views.examples import DOC_EXAMPLE
from views.figures.moving import moving
from views.text import Text

FILM = moving(beginning.recorded(DOC_EXAMPLE).trace, Text("en"))


def frame_of(sentence: str):
    return next(frame for frame in FILM["frames"] if frame["sentence"].startswith(sentence))


def test_whoever_hits_holds_the_blocks_of_another_before_it_computes_anything():
    frame = frame_of("request1 takes part in blocks 1, 2")
    _, (status, word, table) = frame["requests"]
    assert (status, word) == ("WAITING", "waiting")
    assert [block for block, *_ in table] == [1, 2, None, None]
    assert table[0] == [1, ["A", "B", "C", "D"], ["hit"] * 4, 0]
    assert table[3] == [None, ["m", "n"], ["pending"] * 2, 0]
    assert frame["touched"] == [1, 2]
    assert [state for state, _ in frame["blocks"]][1:4] == ["shared", "shared", "used"]


def test_a_finished_request_has_no_table_any_more():
    status, word, table = FILM["frames"][-1]["requests"][0]
    assert (status, word, table) == ("FINISHED_LENGTH_CAPPED", "finished: length", [])


def test_rows_keep_their_places_whoever_has_come_yet():
    assert FILM["names"] == ["request0", "request1", "request2"]
    assert len(FILM["frames"][0]["requests"]) == 1


def test_each_frame_shows_a_change():
    shown = [(f["requests"], f["blocks"], f["queue"]) for f in FILM["frames"]]
    assert all(one != two for one, two in pairwise(shown))
