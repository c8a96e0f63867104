"""The files of one run that goes on: appended to after each step, and never in its way."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from engine.sources.resume import Rest
from engine.system import refusal_of
from engine.trace.codec import encode_header, encode_lines
from engine.trace.events import INPUT_EVENTS, StepEnded
from engine.trace.seal import seal
from engine.trace.trace import Trace

TRACE, ABOUT, PART = ".jsonl", ".about.json", ".part"
_BINARY = getattr(os, "O_BINARY", 0)  # Windows would write other ends of line


class About(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a run is brought back with besides its events."""

    example: str = ""  # under which it was begun
    typed: dict[str, dict[str, Any]] = {}  # request id -> the fields of its form
    origin: dict[str, Any] | None = None  # of a branch: what its page says about it
    rest: Rest | None = None
    awaited: dict[str, str] | None = None  # what it was on its way to when this was written
    number: int = 0  # under which its page knew it; 0: under none
    num_numbers: int = 0  # how many that page had given: none of them is given again


class Stop(NamedTuple):
    """Why a run is saved no further. `kind`: "full" (`most_bytes`) or "disk"."""

    kind: str
    num_steps: int  # finished steps that are saved
    reason: str  # "disk": what the operating system refused, without a path


class Recording:
    """The files of one run that goes on. `stopped` says why no more of it is saved."""

    def __init__(
        self,
        path: Path,
        trace: Trace,
        *,
        most_bytes: int,
        grew_by: Callable[[int], None],
        num_known: int = 0,
    ) -> None:
        """`path`: of the trace file, named by the run's id; `grew_by` hears of the bytes of both
        files; `num_known`: events that are kept elsewhere."""
        self.run_id = path.stem
        self.stopped: Stop | None = None
        self.num_bytes = 0
        self._path, self._most_bytes, self._grew_by = path, most_bytes, grew_by
        self._trace = trace
        self._num_known = num_known
        self._num_written = 0  # events
        self._num_about_bytes = 0
        self._is_begun = False

    @property
    def is_begun(self) -> bool:
        """Whether something of this run can be brought back."""
        return self._is_begun

    def keep(self, about: Callable[[], About]) -> None:
        """Append what the trace has gained; for after each finished step and each input.

        Only new events are encoded. `about` is asked at the start and after an input: nothing else
        changes it. Never raises for the disk: the run goes on, unsaved.
        """
        if self.stopped is not None or self._trace.num_events <= self._num_known:
            return
        events = self._trace.events_from(self._num_written)
        begin = b"" if self._is_begun else encode_header(self._trace.header)
        lines = begin + encode_lines(events, self._num_written)
        is_told = self._is_begun and not any(isinstance(event, INPUT_EVENTS) for event in events)
        record = None if is_told else _sealed(about())
        about_bytes = self._num_about_bytes if record is None else len(record)
        before = self.num_bytes + self._num_about_bytes
        after = self.num_bytes + len(lines) + about_bytes
        if after > self._most_bytes:
            self._stop("full")
            return
        try:
            if record is not None:
                self._write_about(record)
            self._append(lines)
        except OSError as error:
            self._stop("disk", refusal_of(error))
            return
        self._num_written += len(events)
        self._num_known = self._num_written
        self.num_bytes, self._num_about_bytes = self.num_bytes + len(lines), about_bytes
        self._grew_by(after - before)

    def tell(self, about: Callable[[], About]) -> None:
        """The record anew, where something in it has changed that is no event. Never raises."""
        if not self._is_begun or self.stopped is not None:
            return
        record = _sealed(about())
        try:
            self._write_about(record)
        except OSError as error:
            self._stop("disk", refusal_of(error))
            return
        self._grew_by(len(record) - self._num_about_bytes)
        self._num_about_bytes = len(record)

    def _write_about(self, record: bytes) -> None:
        """Before the events, so that no request is saved without what was typed for it."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._path.with_name(f"{self.run_id}{ABOUT}")
        part = path.with_name(path.name + PART)
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _BINARY, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(record)
        part.replace(path)

    def _append(self, lines: bytes) -> None:
        """Nothing stays open between two writes: many runs would use up the file descriptors.

        A file that has gone is not made again, as it would lack its beginning.
        """
        new = 0 if self._is_begun else os.O_CREAT | os.O_EXCL
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | new | _BINARY, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(lines)
        self._is_begun = True

    def _stop(self, kind: str, reason: str = "") -> None:
        saved = self._trace.events_from(0)[: self._num_written]
        num_steps = sum(isinstance(event, StepEnded) for event in saved)
        self.stopped = Stop(kind, num_steps, reason)


def _sealed(about: About) -> bytes:
    return seal([msgspec.json.encode(about)], 1)
