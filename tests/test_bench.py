"""What the benchmark works out from what it measured."""

from bench.classroom import Room
from bench.floor import Floor, read_bandwidth_gb_s
from bench.typed import typed_by


def test_the_floor_is_the_weights_over_the_bandwidth():
    assert Floor(weight_mb=250.0, bandwidth_gb_s=30.0).tok_s == 120.0


def test_a_bandwidth_is_measured_in_gigabytes_a_second(monkeypatch):
    monkeypatch.setattr("bench.floor.READ_BYTES", 64 << 20)
    monkeypatch.setattr("bench.floor.READING_S", 0.1)
    assert 0.1 < read_bandwidth_gb_s() < 10_000


def test_no_two_visitors_of_a_classroom_type_the_same():
    typed = [typed_by(number) for number in range(90)]
    assert len(set(typed)) == 90
    assert typed[0] in typed[30], "who comes later asks for another time"


def test_the_last_line_names_the_figures_of_each_room_in_which_the_model_computes():
    room = Room()
    room.times_ms, room.mb_per_session = [float(n) for n in range(1, 102)], 12.34
    assert room.figures("own") == {
        "own_p50_ms": 51.0,
        "own_p95_ms": 96.0,
        "own_clicks": 101,
        "own_mb_per_session_with_cache": 12.3,
    }
    assert room.row == (101, 51.0, 96.0, 12.3, 0)
