"""What the benchmark works out from what it measured."""

from bench.floor import Floor, read_bandwidth_gb_s


def test_the_floor_is_the_weights_over_the_bandwidth():
    assert Floor(weight_mb=250.0, bandwidth_gb_s=30.0).tok_s == 120.0


def test_a_bandwidth_is_measured_in_gigabytes_a_second(monkeypatch):
    monkeypatch.setattr("bench.floor.READ_BYTES", 64 << 20)
    monkeypatch.setattr("bench.floor.READING_S", 0.1)
    assert 0.1 < read_bandwidth_gb_s() < 10_000
