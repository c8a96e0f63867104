"""A trace as Chrome-trace JSON, which ui.perfetto.dev and chrome://tracing open.

The format: "Trace Event Format" of the Chromium project, its JSON object form. Times are
microseconds. Everything is made step by step, so that a long run needs no more than one step at once.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from engine.trace import events
from engine.trace.events import Event
from engine.trace.perfetto_entries import Entry, introduction
from engine.trace.perfetto_tracks import Tracks
from engine.trace.step_clock import REAL, SCHEDULER, StepClock, batches, which_times
from engine.trace.trace import Trace

MAX_BLOCK_TRACKS = 512  # where more blocks were used, the counters tell of them
VLLM = "bookkeeping of vLLM 0.17.1"

_encode = msgspec.json.Encoder().encode


def encode_perfetto(trace: Trace) -> bytes:
    """The whole file; the same trace gives the same bytes."""
    return b"".join(perfetto_pieces(trace))


def perfetto_pieces(trace: Trace) -> Iterator[bytes]:
    """The file in pieces of one step each, as far as the trace has come by now."""
    happened = trace.events_before(trace.last)
    times, num_used = which_times(happened), _num_used_blocks(happened)
    has_blocks = num_used <= MAX_BLOCK_TRACKS
    said = SCHEDULER if times == REAL and trace.header.model is None else times
    about = _encode(_about(trace, said, num_used))
    yield b'{"displayTimeUnit":"ms","otherData":' + about + b',"traceEvents":[\n'
    yield _encode(introduction(said))[1:-1]
    clock = StepClock(is_real=times == REAL)
    tracks = Tracks(
        num_usable_blocks=trace.header.config["num_blocks"] - 1,
        has_parts=clock.is_real,
        has_blocks=has_blocks,
    )
    for batch in batches(happened):
        yield _more(tracks.step(batch, clock.times(batch)))
    yield _more(tracks.close())
    yield b"\n]}\n"


def _more(entries: list[Entry]) -> bytes:
    return b",\n" + _encode(entries)[1:-1] if entries else b""


def _num_used_blocks(happened: list[Event]) -> int:
    """Blocks are taken in the order of their ids until all were used once."""
    taken = (event.block_ids for event in happened if isinstance(event, events.BlocksTaken))
    return max((max(block_ids, default=0) for block_ids in taken), default=0)


def _about(trace: Trace, times: str, num_used: int) -> dict[str, Any]:
    header = trace.header
    shown = {
        "title": header.title,
        "model": header.model,
        "dtype": header.dtype,
        "device": header.device,
        "times": times,
        "engine": header.engine_version or VLLM,
        "config": header.config,
    }
    if num_used > MAX_BLOCK_TRACKS:
        shown["blocks"] = (
            f"{num_used} blocks were used, more than the {MAX_BLOCK_TRACKS} that get a track each: "
            f"see the counters"
        )
    return {name: value for name, value in shown.items() if value is not None}
