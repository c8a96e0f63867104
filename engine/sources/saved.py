"""Runs that outlive their page: each an append-only trace file in a folder, and a record beside it.

    ID.jsonl        the trace, as any trace file
    ID.about.json   what its page wants back besides (`About`), sealed as a line, replaced as a whole

Every write is handed to the operating system before it returns, so a killed server loses nothing
of what was kept. There is no fsync: a machine that loses its power may lose the latest seconds.
An id is drawn at random and is the only key to its run; whoever has it may look, and goes on in a
run of their own (`Saved` is never written to). One server a folder: the sweep spares what is in
use in this process.
"""

import os
import re
import secrets
import threading
import time
from pathlib import Path
from typing import NamedTuple
from weakref import WeakSet

import msgspec

from engine.errors import Sentence, SourceError
from engine.sources.recorded import last_whole
from engine.sources.recording import ABOUT, PART, TRACE, About, Recording, Stop
from engine.system import refusal_of
from engine.trace.codec import read_trace
from engine.trace.header import UNREADABLE
from engine.trace.seal import holds_seal, unsealed
from engine.trace.trace import Trace

__all__ = ["About", "Recording", "RunNotFoundError", "Saved", "SavedRuns", "Space", "Stop"]

ID_BYTES = 16  # of randomness
ID = re.compile(r"[A-Za-z0-9_-]{22}")  # what secrets.token_urlsafe makes of them
DAY_S = 86_400
SWEEP_EVERY_S = 60
SWEEP_AGAIN_S = 5  # where there is too much
ABOUT_LOST = Sentence.of(
    "saved.about_lost",
    "the record beside it is damaged or gone, with what was typed for its prompts and what a branch "
    "had still to repeat",
)


class Space(NamedTuple):
    """How much saved runs may take."""

    run_bytes: int = 32 << 20  # of one run: then its recording stops
    total_bytes: int = 2 << 30  # of all: then the oldest go
    days: int = 30  # without a change: then a run goes


class RunNotFoundError(SourceError):
    """No run is saved under an id, or what was given is no id."""


class Saved:
    """A run from its files, up to its last finished step. `problem`: what is lost before that."""

    def __init__(self, run_id: str, trace: Trace, about: About, problem: str | None) -> None:
        self.run_id, self.trace, self.about, self.problem = run_id, trace, about, problem


class SavedRuns:
    """The folder. Safe to be used from many threads; one recording is written by one at a time."""

    def __init__(self, folder: Path, space: Space | None = None) -> None:
        self.folder = folder
        self.space = space or Space()
        self._in_use: WeakSet[Recording | Saved] = WeakSet()
        self._lock = threading.Lock()
        self._num_bytes = 0  # about what the folder holds
        self._swept_at = -float("inf")

    def record(self, trace: Trace, *, num_known: int = 0) -> Recording:
        """A new recording of a run. Nothing is written before its first `keep`.

        `num_known`: of a run that was brought back, the events that its old files still hold. The
        new ones begin with a copy, once there is more.
        """
        recording = Recording(
            self.path(secrets.token_urlsafe(ID_BYTES)),
            trace,
            most_bytes=self.space.run_bytes,
            grew_by=self.grew_by,
            num_known=num_known,
        )
        self._use(recording)
        return recording

    def open(self, run_id: object) -> Saved:
        """RunNotFoundError, or SourceError with a sentence if nothing of it can be read."""
        path = self.path(run_id)
        try:
            content = path.read_bytes()
        except FileNotFoundError as error:
            raise RunNotFoundError("no run is saved under this link any more") from error
        except OSError as error:
            raise SourceError.of(
                "saved.unreadable",
                "the saved run cannot be read: {reason}",
                reason=refusal_of(error),
            ) from error
        loaded = read_trace(content)
        if loaded.trace is None:
            raise SourceError.of(
                "saved.damaged", "the saved run is damaged: {problem}", problem=loaded.problem
            )
        is_whole = loaded.trace.num_events >= _num_whole_lines(content) - 1
        about, lost = self._about(path.stem)
        problem = lost if is_whole else loaded.problem
        saved = Saved(path.stem, last_whole(loaded.trace), about, problem)
        self._use(saved)
        return saved

    def path(self, run_id: object) -> Path:
        """The trace file of an id. What is no id never becomes a path: RunNotFoundError."""
        if not isinstance(run_id, str) or ID.fullmatch(run_id) is None:
            raise RunNotFoundError("this link names no saved run: it is cut off or mistyped")
        return self.folder / f"{run_id}{TRACE}"

    def _about(self, run_id: str) -> tuple[About, Sentence | None]:
        """Empty where it is missing or damaged: the trace can be looked at without it."""
        try:
            content = (self.folder / f"{run_id}{ABOUT}").read_bytes()
            plain = unsealed(content.removesuffix(b"\n"), 1) if holds_seal(content) else content
            if plain is not None:
                return msgspec.json.decode(plain, type=About), None
        except (OSError, *UNREADABLE):
            pass
        return About(), ABOUT_LOST

    def _use(self, user: Recording | Saved) -> None:
        with self._lock:
            self._in_use.add(user)

    # Room -------------------------------------------------------------------------------------

    def grew_by(self, num_bytes: int) -> None:
        """Sweep now and then, and soon where there is too much."""
        with self._lock:
            self._num_bytes += num_bytes
            is_full = self._num_bytes > self.space.total_bytes
            pause = SWEEP_AGAIN_S if is_full else SWEEP_EVERY_S
            is_due = time.monotonic() > self._swept_at + pause
        if is_due:
            self.sweep()

    def sweep(self) -> list[str]:
        """Remove old runs, and the oldest while there are too many bytes; the ids that went.

        Runs that are in use stay, and files that are none of ours are not touched.
        """
        with self._lock:
            self._swept_at = time.monotonic()
            spared = {user.run_id for user in self._in_use}
            runs = sorted(self._sizes().items(), key=lambda run: run[1].changed_at)
            left = sum(size.num_bytes for _, size in runs)
            gone = []
            for run_id, size in runs:
                is_old = size.changed_at < time.time() - self.space.days * DAY_S
                if run_id not in spared and (is_old or left > self.space.total_bytes):
                    self._remove(run_id)
                    gone.append(run_id)
                    left -= size.num_bytes
            self._num_bytes = left
            return gone

    def _sizes(self) -> dict[str, "_Size"]:
        """Id -> bytes of all its files, and when the latest of them changed (seconds of 1970)."""
        sizes: dict[str, _Size] = {}
        for entry in os.scandir(self.folder) if self.folder.is_dir() else ():
            run_id, dot, end = entry.name.partition(".")
            if f"{dot}{end}" not in (TRACE, ABOUT, ABOUT + PART) or not ID.fullmatch(run_id):
                continue
            try:
                stat = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            known = sizes.get(run_id, _Size(0, 0.0))
            latest = max(known.changed_at, stat.st_mtime)
            sizes[run_id] = _Size(known.num_bytes + stat.st_size, latest)
        return sizes

    def _remove(self, run_id: str) -> None:
        for end in (TRACE, ABOUT, ABOUT + PART):
            try:
                (self.folder / f"{run_id}{end}").unlink(missing_ok=True)
            except OSError:  # it stays: somebody else has it open, or the folder is read-only
                continue


def _num_whole_lines(content: bytes) -> int:
    """The last line may be cut off, as the server was killed, and that is normal."""
    cut = content[content.rfind(b"\n") + 1 :]
    return content.count(b"\n") + holds_seal(cut)


class _Size(NamedTuple):
    num_bytes: int
    changed_at: float
