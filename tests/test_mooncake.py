"""Published Mooncake traces (B32): read line by line, made small, and run on the scripted engine."""

import gzip
import json

import pytest

from engine.errors import SourceError
from engine.sources import mooncake
from tests.hand_over import INPUTS
from tests.views.uploads import open_bytes, rows


def test_a_mooncake_trace_is_run_and_the_last_block_of_a_row_is_no_hit():
    run = open_bytes(rows({}, {"timestamp": 5_000}, {"timestamp": 9_000, "hash_ids": [0, 1, 7]}))
    requests = run.trace.at(run.trace.last).requests
    assert [request.num_prompt_tokens for request in requests.values()] == [34, 34, 34]
    assert [request.num_cached_tokens for request in requests.values()] == [0, 32, 32]
    assert all(request.is_finished for request in requests.values())
    assert "3 of its 3 requests" in run.remark
    assert run.problem is None


def test_a_partial_block_never_becomes_a_full_one():
    for length in (1, 31, 32, 511, 512, 513, 1_023, 1_024):
        ids = list(range(-(-length // 512)))
        run = open_bytes(rows({"input_length": length, "hash_ids": ids}))
        (request,) = run.trace.at(run.trace.last).requests.values()
        assert request.num_prompt_tokens // 16 == length // 512
        assert request.num_prompt_tokens == max(1, length % 512 // 32) * (length % 512 > 0) + (
            length // 512 * 16
        )


@pytest.mark.parametrize(
    ("case_id", "says"),
    [
        ("file_mooncake_ids", "line 1: 1100 tokens need 3 ids of 512, there are 2"),
        ("file_mooncake_zero", "line 1: input_length=0: an empty prompt cannot run"),
    ],
)
def test_a_row_that_cannot_be_is_refused_with_its_line(case_id, says):
    wrong = json.dumps(INPUTS[case_id]["given"]).encode()
    with pytest.raises(SourceError, match=says):
        open_bytes(wrong)
    run = open_bytes(rows({}) + wrong + b"\n" + rows({}))
    assert run.problem == (
        f"{says.replace('line 1', 'line 2')}. Everything that could be read was run."
    )
    assert len(run.trace.at(run.trace.last).requests) == 2


def test_a_trace_whose_first_row_is_broken_is_still_one():
    run = open_bytes(b"{broken\n" + rows({}, {"input_length": 0}, {}))
    assert run.problem == (
        "line 1: JSON is malformed at byte 1 (others that cannot be read: 1). "
        "Everything that could be read was run."
    )
    assert len(run.trace.at(run.trace.last).requests) == 2


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"hash_ids": [0, 1, -1]}, "hash_ids must be from 0"),
        ({"hash_ids": [0, 1, 10**12]}, "hash_ids must be from 0"),
        ({"hash_ids": [0, 1, "2"]}, "Expected `int`"),
        ({"output_length": 0}, "output_length=0 must be from 1"),
        ({"input_length": 10**9}, "input_length=1000000000 may be at most 262144"),
        ({"timestamp": -1}, "timestamp=-1"),
        ({"timestamp": 1e300}, "no number of milliseconds"),
    ],
)
def test_every_field_of_a_row_has_bounds(change, says):
    with pytest.raises(SourceError) as refusal:
        open_bytes(rows(change))
    assert says in str(refusal.value)


def test_only_the_first_rows_of_a_long_trace_are_run_and_the_page_says_so():
    run = open_bytes(gzip.compress(rows(*({"timestamp": 100 * n} for n in range(200)))))
    assert len(run.trace.at(run.trace.last).requests) == mooncake.MAX_ROWS
    assert "64 of its 200 requests" in run.remark


def test_the_longest_prompt_fits_the_pool_that_is_chosen():
    long = {"input_length": 262_144, "hash_ids": list(range(512))}
    run = open_bytes(rows(long, {}))
    assert all(r.is_finished for r in run.trace.at(run.trace.last).requests.values())
