"""Short runs written by hand, for claims about the trace alone."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from engine.trace.events import (
    BlockHashed,
    BlocksCached,
    BlocksFreed,
    BlocksTaken,
    Event,
    PrefixLookedUp,
    RequestAdded,
    RequestAdmitted,
    RequestFinished,
    RequestQueued,
    RequestScheduled,
    SlotsWritten,
    StepBegan,
    StepEnded,
    StepScheduled,
    TokensSampled,
)
from engine.trace.header import TraceHeader
from engine.trace.reducer import apply
from engine.trace.state import State
from engine.trace.trace import Trace


def build_header(**settings: Any) -> TraceHeader:
    config = {"block_size": 4, "num_blocks": 8, "max_num_batched_tokens": 64, **settings}
    return TraceHeader(config=config)


def build_trace(events: Iterable[Event], **settings: Any) -> Trace:
    trace = Trace(build_header(**settings))
    for event in events:
        trace.append(event)
    return trace


def old_file(trace: Trace) -> bytes:
    """As it was written before lines had checksums: version 1."""
    header = msgspec.to_builtins(msgspec.structs.replace(trace.header, version=1))
    del header["num_events"]
    return msgspec.json.Encoder().encode_lines([header, *trace.events_from(0)])


def fold(events: Iterable[Event], state: State | None = None, **settings: Any) -> State:
    state = State(build_header(**settings).config) if state is None else state
    for event in events:
        apply(state, event)
    return state


def added(request_id: str, token_ids: Sequence[int], step: int = 0, index: int = 0) -> list[Event]:
    """The request comes in and waits; the hash of its block i is "id.i"."""
    hashes = tuple(f"{request_id}.{block}" for block in range(len(token_ids) // 4))
    return [
        RequestAdded(
            request_id,
            step,
            tuple(token_ids),
            max_tokens=3,
            arrival_time=float(step),
            block_hashes=hashes,
        ),
        RequestQueued(request_id, index),
    ]


def prefill(request_id: str, token_ids: Sequence[int], block_ids: tuple[int, ...]) -> list[Event]:
    """The waiting request is admitted without a hit and computes its whole prompt."""
    num_full = len(token_ids) // 4
    hashes = tuple(f"{request_id}.{block}" for block in range(num_full))
    return [
        PrefixLookedUp(request_id, len(token_ids), 0, ((),), "miss", f"{request_id}.0"),
        BlocksTaken(request_id, 0, block_ids),
        BlocksCached(
            request_id, 0, 0, block_ids[:num_full], hashes, None, tuple(token_ids[: 4 * num_full])
        ),
        RequestAdmitted(request_id, 0),
        RequestScheduled(request_id, len(token_ids), 0),
    ]


# A, with six tokens in blocks 1 and 2, samples three tokens in three steps and is done.
#   step 0: 10 11 12 13 | 14 15          samples 16
#   step 1:               14 15 16       samples 17: block 2 is full and gets a hash on paper
#   step 2:               14 15 16 17    block 2 is cached; samples 18, which is never computed
LONE_PROMPT = (10, 11, 12, 13, 14, 15)
LONE: list[Event] = [
    *added("A", LONE_PROMPT),
    StepBegan(0, 64),
    *prefill("A", LONE_PROMPT, (1, 2)),
    StepScheduled(0, 6, (2,)),
    SlotsWritten(6, (1,)),
    TokensSampled("A", (16,), text="six", token_bytes=(b"six",), logprobs=(-0.5,)),
    StepEnded(0, requests=1, queries=6),
    StepBegan(1, 64),
    RequestScheduled("A", 1, 6),
    StepScheduled(1, 1, (2,)),
    SlotsWritten(1),
    TokensSampled("A", (17,), text="teen", token_bytes=(b"teen",), logprobs=(-0.25,)),
    BlockHashed("A", ("A.1",)),
    StepEnded(1),
    StepBegan(2, 64),
    BlocksCached("A", 0, 1, (2,), ("A.1",), "A.0", (14, 15, 16, 17)),
    RequestScheduled("A", 1, 7),
    StepScheduled(2, 1, (2,)),
    SlotsWritten(1, (2,)),
    TokensSampled("A", (18,)),
    RequestFinished("A", "length"),
    BlocksFreed("A", (2, 1)),
    StepEnded(2),
]
