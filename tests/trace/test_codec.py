"""Traces as files: what is written is read, and what is wrong is told in one sentence."""

import json
import re
from pathlib import Path

import pytest

from engine.trace.codec import (
    Loaded,
    encode_trace,
    read_trace,
    without_times,
    write_trace,
)
from engine.trace.events import (
    CacheReset,
    Event,
    RequestAdded,
    RequestQueued,
    StepBegan,
    StepEnded,
    TokensSampled,
)
from engine.trace.header import TraceHeader
from tests.trace.stories import LONE, build_header, build_trace

FULL_HEADER = TraceHeader(
    config=build_header().config,
    engine_version="0.1",
    model="tiny",
    dtype="float32",
    device="cpu",
    kernel="reference",
    tokenizer_id="tiny-tokenizer",
    eos_token_ids=(0, 2),
    departs_from_vllm=("recompute_invalid_hits",),
)


def lone_text() -> bytes:
    return encode_trace(build_trace(LONE))


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


@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.gz"])
def test_what_is_written_is_read(tmp_path: Path, name: str) -> None:
    trace = build_trace(LONE)
    trace.header = FULL_HEADER
    write_trace(tmp_path / name, trace)
    loaded = read_trace(tmp_path / name)
    assert loaded.problem is None
    assert kept(loaded) == LONE
    assert loaded.trace is not None
    assert loaded.trace.header == FULL_HEADER
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_bytes().startswith(b"\x1f\x8b") == name.endswith(".gz")


def test_every_field_of_an_event_survives() -> None:
    events: list[Event] = [
        RequestAdded(
            "ü-1",
            0,
            (1, 2),
            max_tokens=5,
            arrival_time=0.1,
            priority=-3,
            cache_salt="",
            lora_name="l",
            stop=("\n", "\u2028"),
            prompt_text="שלום 🙂\x00\n",
            prompt_mode="raw",
            prompt_token_bytes=(b"\xf0\x9f", b"\x99\x82"),
            special_token_ids=(1,),
        ),
        RequestQueued("ü-1", 0),
        CacheReset(0, ok=True, reset_running_requests=True),
    ]
    assert kept(read_trace(encode_trace(build_trace(events)))) == events


def test_a_line_is_short_and_names_its_type() -> None:
    line = json.loads(lines_of(lone_text())[3])
    assert line == {"type": "StepBegan", "step": 0, "token_budget": 64, "crc": "bf7717ea"}


def test_equal_traces_make_equal_files() -> None:
    trace = build_trace(LONE)
    assert encode_trace(trace, compress=True) == encode_trace(trace, compress=True)


def test_times_are_left_out_of_comparisons() -> None:
    assert without_times(StepBegan(3, 64, time_s=1.5)) == StepBegan(3, 64)
    timed = StepEnded(3, queries=5, schedule_s=0.1, run_s=0.2, update_s=0.3)
    assert without_times(timed) == StepEnded(3, queries=5)
    sampled = TokensSampled("A", (1,), text="x")
    assert without_times(sampled) is sampled
