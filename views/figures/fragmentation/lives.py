"""Real lengths of requests, for allocators that never served them: from a trace, or from a table.

A request's life is how many of its tokens had K and V in the cache after each step in which it ran.
The last sampled token has none, so a life ends at prompt + outputs - 1 (drafts may leave a few more).
What a preemption threw away and computed again is told once.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from engine.core.contiguous import Life
from engine.trace import events
from engine.trace.per_trace import PerTrace
from engine.trace.trace import Trace

MAX_MODEL_LEN, ASKED = "max_model_len", "asked"
RESERVATIONS = (MAX_MODEL_LEN, ASKED)


class Recorded(NamedTuple):
    """One request as it was: `lengths[k]` tokens in the cache after its k-th step."""

    request_id: str
    arrival_step: int
    num_prompt_tokens: int
    max_tokens: int
    lengths: tuple[int, ...]
    is_finished: bool = True


class Lengths(NamedTuple):
    """Requests and the memory that they meet."""

    requests: tuple[Recorded, ...]
    capacity: int  # slots
    block_size: int
    max_model_len: int
    num_left_out: int = 0  # never ran in the record, so that nobody knows their lengths

    def best_reservation(self) -> str:
        """What can be reserved at all: the greatest length, if the memory holds that once."""
        return MAX_MODEL_LEN if self.max_model_len <= self.capacity else ASKED

    def most_tokens(self, request: Recorded, reservation: str) -> int:
        """The most tokens that a server could expect of the request when it comes."""
        asked = min(self.max_model_len, request.num_prompt_tokens + request.max_tokens)
        wanted = self.max_model_len if reservation == MAX_MODEL_LEN else asked
        return max(wanted, request.lengths[-1])

    def lives(self, reservation: str) -> tuple[Life, ...]:
        return tuple(
            Life(
                request.request_id,
                request.arrival_step,
                request.lengths,
                self.most_tokens(request, reservation),
                request.is_finished,
            )
            for request in self.requests
        )


# From a table -----------------------------------------------------------------------------------


def _served(
    number: int, arrival_step: int, num_prompt_tokens: int, num_output_tokens: int
) -> Recorded:
    lengths = range(num_prompt_tokens, num_prompt_tokens + num_output_tokens)
    return Recorded(f"r{number}", arrival_step, num_prompt_tokens, 512, tuple(lengths))


# Arrival step, prompt, output: drawn once from log-normal distributions (medians 81 and 73 tokens).
_MIXED = (
    *((0, 98, 179), (10, 229, 39), (11, 174, 105), (17, 173, 139), (27, 27, 315), (28, 59, 289)),
    *((34, 21, 34), (37, 29, 277), (38, 17, 193), (38, 43, 57), (38, 430, 125), (41, 180, 19)),
    *((51, 115, 44), (57, 158, 50), (57, 128, 94), (63, 406, 130), (66, 85, 42), (66, 84, 43)),
    *((66, 48, 95), (72, 376, 32), (78, 20, 67), (78, 64, 42), (84, 53, 400), (84, 53, 25)),
)
_THREE = ((0, 289, 32), (0, 65, 32), (0, 1149, 32))  # 320, 96 and 1,180 tokens at the end

TABLES: dict[str, Lengths] = {
    "mixed": Lengths(
        tuple(_served(number, *row) for number, row in enumerate(_MIXED)), 4_096, 16, 1_024
    ),
    "three": Lengths(
        tuple(_served(number, *row) for number, row in enumerate(_THREE)), 6_144, 16, 2_048
    ),
}


# From a trace -----------------------------------------------------------------------------------


class _Seen:
    """One request of the trace, as far as it was read."""

    __slots__ = ("added", "is_finished", "lengths")

    def __init__(self, added: events.RequestAdded) -> None:
        self.added = added
        self.lengths: list[int] = []
        self.is_finished = False

    def recorded(self, name: str) -> Recorded:
        added = self.added
        num_prompt_tokens, lengths = len(added.prompt_token_ids), tuple(self.lengths)
        return Recorded(
            name, added.step, num_prompt_tokens, added.max_tokens, lengths, self.is_finished
        )


class _Log:
    """The lives of a trace, as far as it was read; it never reads an event twice."""

    def __init__(self) -> None:
        self.num_events = 0
        self.requests: list[_Seen] = []  # in order of arrival
        self._latest: dict[str, _Seen] = {}  # an id may come again
        self._computed: dict[str, int] = {}  # those that hold blocks -> tokens in the cache
        self._ended: list[str] = []  # in this step

    def extend(self, new: Sequence[Any]) -> None:
        for event in new:
            note = _NOTES.get(type(event))
            if note is not None:
                note(self, event)
        self.num_events += len(new)

    def added(self, event: events.RequestAdded) -> None:
        seen = self._latest[event.request_id] = _Seen(event)
        self.requests.append(seen)

    def admitted(self, event: events.RequestAdmitted) -> None:
        self._computed[event.request_id] = event.num_hit_tokens

    def scheduled(self, event: events.RequestScheduled) -> None:
        self._computed[event.request_id] = event.num_computed_tokens + event.num_scheduled_tokens

    def unscheduled(self, event: events.RequestUnscheduled) -> None:
        self._computed[event.request_id] -= event.num_tokens_given_back

    def preempted(self, event: events.RequestPreempted) -> None:
        self._computed.pop(event.request_id, None)

    def sampled(self, event: events.TokensSampled) -> None:
        if event.request_id in self._computed:
            self._computed[event.request_id] -= event.num_rejected_tokens

    def finished(self, event: events.RequestFinished) -> None:
        self._ended.append(event.request_id)

    def aborted(self, event: events.RequestAborted) -> None:
        if event.ok:
            self._end(event.request_id)

    def step_ended(self, _: events.StepEnded) -> None:
        for request_id, num_tokens in self._computed.items():
            lengths = self._latest[request_id].lengths
            if num_tokens >= (lengths[-1] if lengths else 1):
                lengths.append(num_tokens)
        for request_id in self._ended:
            self._end(request_id)
        self._ended.clear()

    def _end(self, request_id: str) -> None:
        self._computed.pop(request_id, None)
        self._latest[request_id].is_finished = True


_NOTES: dict[type[events.Event], Callable[[_Log, Any], None]] = {
    events.RequestAdded: _Log.added,
    events.RequestAdmitted: _Log.admitted,
    events.RequestScheduled: _Log.scheduled,
    events.RequestUnscheduled: _Log.unscheduled,
    events.RequestPreempted: _Log.preempted,
    events.TokensSampled: _Log.sampled,
    events.RequestFinished: _Log.finished,
    events.RequestAborted: _Log.aborted,
    events.StepEnded: _Log.step_ended,
}

_LOGS = PerTrace(lambda _: _Log())


def recorded_lengths(trace: Trace) -> Lengths:
    """What this run's requests held, and the slots of its pool. Block 0 never holds a token."""
    log = _LOGS.of(trace)
    ran = [seen for seen in log.requests if seen.lengths]
    names = _names([seen.added.request_id for seen in ran])
    requests = tuple(seen.recorded(name) for seen, name in zip(ran, names, strict=True))
    num_left_out = len(log.requests) - len(ran)
    config = trace.header.config
    block_size = config["block_size"]
    capacity = (config["num_blocks"] - 1) * block_size
    return Lengths(requests, capacity, block_size, config["max_model_len"], num_left_out)


def _names(request_ids: list[str]) -> list[str]:
    """An id that a later request used again gets a number."""
    seen: dict[str, int] = {}
    names = []
    for request_id in request_ids:
        seen[request_id] = seen.get(request_id, 0) + 1
        number = seen[request_id]
        names.append(request_id if number == 1 else f"{request_id} ({number})")
    return names
