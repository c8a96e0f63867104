"""What of a body of lines can be shown: the events before a damage, and those behind it where they
still follow when the broken line is left out.

Nothing is shown that cannot have happened: if what stands behind a broken line does not fit
without it, the run ends before that line.
"""

import itertools
from typing import NamedTuple

import msgspec

from engine.errors import Sentence, TraceError
from engine.malformed import reason_of
from engine.trace.entries import RequestState
from engine.trace.events import AnyEvent, StepEnded
from engine.trace.header import UNREADABLE, TraceHeader
from engine.trace.invariants import violations
from engine.trace.seal import CHANGED, holds_seal, unsealed
from engine.trace.state import State
from engine.trace.trace import EventRefusedError, Trace

MAX_CHECKED = 64  # steps
GOT_TOKENS = ("RUNNING", "FINISHED_STOPPED", "FINISHED_LENGTH_CAPPED")
MAX_BROKEN = 20  # lines; a file with more is something else
CUT = Sentence.of("trace.cut", "the line is cut off")
_decoder: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)


class Broken(NamedTuple):
    """A line that is left out."""

    line: int
    place: int  # of the event that would stand there, counted from 0
    reason: str


class Body(NamedTuple):
    """The lines behind the header. `lines`: of each event, where it is not simply place + 2."""

    events: list[AnyEvent]
    lines: list[int] | None = None
    broken: tuple[Broken, ...] = ()
    end: Broken | None = None  # why the file ends there; nothing can be behind it
    num_written: int | None = None  # events of the file when it was whole; None: it says nothing

    def line(self, place: int) -> int:
        return place + 2 if self.lines is None else self.lines[place]

    @property
    def last_line(self) -> int:
        """The header's, where no event is there."""
        return self.line(len(self.events) - 1) if self.events else 1

    def without(self, place: int, reason: str) -> "Body":
        """An event is left out as well."""
        lines = self.lines or [self.line(i) for i in range(len(self.events))]
        return self._replace(
            events=self.events[:place] + self.events[place + 1 :],
            lines=lines[:place] + lines[place + 1 :],
            broken=(Broken(lines[place], place, reason),),
        )


def decode_body(text: bytes, damage: str | None, *, is_sealed: bool) -> Body:
    """`damage` is why the body stops before its end, where gzip had to give up."""
    given = text.split(b"\n")
    if damage is None:
        try:
            events = _decode_whole(text, given, is_sealed)
        except UNREADABLE:
            events = []  # found again below, with its line
        if len(events) == len(given) - (given[-1] == b""):  # else empty lines are among them
            return Body(events)
    return _line_by_line(given, damage, is_sealed)


def _decode_whole(text: bytes, given: list[bytes], is_sealed: bool) -> list[AnyEvent]:
    """Empty if a checksum does not match."""
    if not is_sealed:
        return _decoder.decode_lines(text)
    lines = given[:-1] if given[-1] == b"" else given
    plain = [line for line in map(unsealed, lines, itertools.count(2)) if line is not None]
    return _decoder.decode_lines(b"\n".join(plain)) if len(plain) == len(lines) else []


def _decode(line: bytes, number: int, is_sealed: bool) -> AnyEvent | None:
    """None for an empty line; UNREADABLE or TraceError where there is no event."""
    if not line.strip():
        return None
    plain = unsealed(line, number) if is_sealed else line
    if plain is None:
        msgspec.json.decode(line)  # what is no JSON at all has its own reason
        raise TraceError(CHANGED)
    return _decoder.decode(plain)


def _line_by_line(given: list[bytes], damage: str | None, is_sealed: bool) -> Body:
    events: list[AnyEvent] = []
    lines: list[int] = []
    broken: list[Broken] = []
    end = None
    for number, line in enumerate(given, 2):
        is_last = number == len(given) + 1
        if is_last and damage is not None:
            end = Broken(number, len(events), damage)
            break
        try:
            event = _decode(line, number, is_sealed)
            if event is not None:
                events.append(event)
                lines.append(number)
        except (*UNREADABLE, TraceError) as error:
            if is_last and not (is_sealed and holds_seal(line)):
                end = Broken(number, len(events), CUT)
            else:
                broken.append(Broken(number, len(events), reason_of(error)))
        if len(broken) > MAX_BROKEN:
            first = broken[0]
            return Body(events[: first.place], lines[: first.place], (), first)
    behind = [other for other in broken if other.place == len(events)]
    if behind:  # nothing that can be read follows
        end, broken = behind[0], [other for other in broken if other.place < len(events)]
    return Body(events, lines, tuple(broken), end)


class Shown(NamedTuple):
    """As much of a body as can be shown. `problem`: one sentence, None if that is all of it."""

    trace: Trace
    problem: str | None


def show(header: TraceHeader, body: Body) -> Shown:
    trace, refused = _folded(header, body)
    if refused is None:
        return Shown(trace, _joined(left_out(body.broken), _ending(trace, body)))
    at = refused.place
    if not body.broken and at < len(body.events) - 1:
        shorter = body.without(at, refused.reason)
        trace, again = _folded(header, shorter)
        if again is None:
            problem = left_out(shorter.broken)
            return Shown(trace, _joined(problem, _ending(trace, shorter)))
        return _before(header, shorter, again)
    if not body.broken:
        return Shown(_beginning(header, body, at), at_line(body.line(at), refused.reason))
    return _before(header, body, refused)


def _folded(header: TraceHeader, body: Body) -> tuple[Trace, EventRefusedError | None]:
    """Every event must follow from those before it; with lines left out also the end must hold."""
    trace = _beginning(header, body, len(body.events))
    try:
        end = trace.at(trace.last)
    except EventRefusedError as refused:
        return trace, refused
    if body.broken and _contradicts(trace, body.broken[0].place):
        last = len(body.events) - 1
        reason = Sentence.of(
            "trace.contradiction", "then something is missing that must have happened"
        )
        return trace, EventRefusedError(last, body.events[last], end.step, reason)
    return trace, None


def _contradicts(trace: Trace, place: int) -> bool:
    """Whether what must hold after every step does not, in the steps from a left-out line on."""
    first = sum(isinstance(event, StepEnded) for event in trace.events_from(0)[:place])
    last = trace.num_steps - 1
    states = [trace.at(trace.after_update(step)) for step in range(first, last)[:MAX_CHECKED]]
    end = trace.at(trace.last)
    return any(
        violations(state)
        or (not state.in_step and (is_midway(state) or any(map(_lacks_token, _known(state)))))
        for state in [*states, end]
    )


def _known(state: State) -> list[RequestState]:
    return [request for request in state.requests.values() if request.status in GOT_TOKENS]


def _lacks_token(request: RequestState) -> bool:
    """The model has seen all its tokens and drawn no other: not after a step, nor at the end."""
    return request.num_computed_tokens >= request.num_tokens


def _before(header: TraceHeader, body: Body, refused: EventRefusedError) -> Shown:
    """Up to the first line that is left out, or refused."""
    first = body.broken[0]
    if refused.place < first.place:
        place = refused.place
        return Shown(_beginning(header, body, place), at_line(body.line(place), refused.reason))
    problem = Sentence.of(
        "trace.not_behind",
        "line {line}: {reason}; what stands before it can be opened. What stands behind it does "
        "not follow without it (line {next}: {why})",
        line=first.line,
        reason=first.reason,
        next=body.line(refused.place),
        why=refused.reason,
    )
    return Shown(_beginning(header, body, first.place), problem)


def _beginning(header: TraceHeader, body: Body, num_events: int) -> Trace:
    trace = Trace(header)
    trace.extend(body.events[:num_events])
    return trace


def _ending(trace: Trace, body: Body) -> str | None:
    """What is to be said about the end of the file."""
    if body.end is not None:
        return at_line(body.end.line, body.end.reason)
    reason = _early_end(trace.at(trace.last), body)
    return None if reason is None else at_line(body.last_line + 1, reason)


def _early_end(end: State, body: Body) -> Sentence | None:
    if is_midway(end):
        return Sentence.of(
            "trace.ends_midway", "the file ends in the middle of step {step}", step=end.step
        )
    written = body.num_written or 0
    missing = written - len(body.events) - len(body.broken)
    if missing <= 0:
        return None
    return Sentence.of(
        "trace.ends_early",
        "the file ends here, and {missing:,} of its {written:,} events are missing",
        missing=missing,
        written=written,
    )


def left_out(broken: tuple[Broken, ...]) -> Sentence | None:
    if not broken:
        return None
    first = broken[0]
    if len(broken) == 1:
        return Sentence.of(
            "trace.left_out",
            "line {line}: {reason}. This line is left out; what stands behind it still follows and is "
            "shown, without what this line said",
            line=first.line,
            reason=first.reason,
        )
    return Sentence.of(
        "trace.left_out_more",
        "line {line}: {reason}. This line and lines {others} are left out; what stands behind them "
        "still follows and is shown, without what they said",
        line=first.line,
        reason=first.reason,
        others=", ".join(str(other.line) for other in broken[1:]),
    )


def at_line(number: int, reason: str) -> Sentence:
    return Sentence.of(
        "trace.line",
        "line {line}: {reason}; what stands before it can be opened",
        line=number,
        reason=reason,
    )


def _joined(first: str | None, second: str | None) -> str | None:
    if first and second:
        return Sentence.of("trace.both", "{first}. {second}", first=first, second=second)
    return first or second


def is_midway(state: State) -> bool:
    """Whether a run cannot rest here: in a step, or with a request half added or half freed."""
    queued = {*state.waiting, *state.running}
    return state.in_step or any(
        any(request.block_tables) if request.is_finished else id_ not in queued
        for id_, request in state.requests.items()
    )
