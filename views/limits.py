"""What one visitor may take of a server. Each limit is a setting of the server: `VARIABLES`.

Read once, when the server starts. What is wrong there is said there, in one sentence for each.
"""

import functools
import os
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from engine.config import EngineConfig
from engine.errors import ConfigError
from engine.sources.saved import Space
from views.text import Text, quoted

BEGINNING, LIMIT = "PAGEWALK_", "PAGEWALK_MAX_"
UNITS = {"": 1, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30}
MOST = 1 << 50
LEAST_OF = {"max_known_steps_bytes": 0}  # of all others: 1
MOST_OF = {"max_upload_bytes": 32 << 20}  # server.maxMessageSize takes no more, as base64
MIN_BLOCKS = 2  # the null block and one more


@dataclass(frozen=True)
class Limits:
    """The variable of a field is its name in capitals, after PAGEWALK_."""

    data: Path = Path(__file__).parents[1] / "data"
    max_sessions: int = 100  # at the same time
    max_pool_bytes: int = 512 << 20  # K and V of all runs of a session
    max_prompt_bytes: int = 64 << 10  # of one prompt, in UTF-8
    max_upload_bytes: int = 16 << 20  # of a trace file as it travels, packed
    max_trace_bytes: int = 48 << 20  # of the same file, unfolded
    max_run_bytes: int = Space().run_bytes  # of one saved run
    max_saved_bytes: int = Space().total_bytes  # of all saved runs
    max_saved_days: int = Space().days
    max_known_steps_bytes: int = 64 << 20  # of computed steps that all sessions share; 0: of none

    @property
    def runs(self) -> Path:
        """The folder of the saved runs."""
        return self.data / "runs"

    @property
    def space(self) -> Space:
        return Space(self.max_run_bytes, self.max_saved_bytes, self.max_saved_days)

    def check_prompt(self, given: str, text: Text) -> None:
        num_bytes = len(given.encode("utf-8", "surrogatepass"))
        if num_bytes > self.max_prompt_bytes:
            raise ConfigError(text("limit.prompt", n=num_bytes, most=self.max_prompt_bytes))

    def check_upload(self, num_bytes: int, text: Text) -> None:
        """Of a trace file, as it travels."""
        if num_bytes > self.max_upload_bytes:
            raise ConfigError(text("limit.upload", n=num_bytes, most=self.max_upload_bytes))

    def num_blocks_that_fit(self, bytes_per_block: int, held: int = 0) -> int:
        """The largest pool beside what the session's other runs hold."""
        return max(0, self.max_pool_bytes - held) // bytes_per_block

    def check_pool(
        self, config: EngineConfig, bytes_per_block: int, text: Text, *, held: int = 0
    ) -> None:
        """`bytes_per_block`: of one block in all layers; `held`: by the session's other runs."""
        needed = config.num_blocks * bytes_per_block
        if needed + held <= self.max_pool_bytes:
            return
        fits = self.num_blocks_that_fit(bytes_per_block, held)
        key = "limit.pool_held" if held else "limit.pool"
        if fits < MIN_BLOCKS:
            key = "limit.pool_none" if held else "limit.pool_small"
        values = {"needed": needed, "held": held, "most": self.max_pool_bytes, "fits": fits}
        size, num = config.block_size, config.num_blocks
        raise ConfigError(text(key, block_size=size, num_blocks=num, **values))


VARIABLES: dict[str, str] = {
    f"{BEGINNING}{field.name.upper()}": field.name for field in fields(Limits)
}


def read_limits(environ: Mapping[str, str] = os.environ) -> Limits:
    """The limits of this server. ConfigError with a sentence for every variable that is wrong."""
    given = {name: environ[name].strip() for name in VARIABLES if environ.get(name, "").strip()}
    read: dict[str, Path | int] = {}
    known = [name for name in VARIABLES if name.startswith(LIMIT)]
    wrong = [
        f"{name} is no setting of Pagewalk: the limits are {', '.join(known)}."
        for name in sorted(environ)
        if name.startswith(LIMIT) and name not in known
    ]
    for name, value in given.items():
        try:
            read[VARIABLES[name]] = (
                _folder(name, value) if name.endswith("DATA") else _number(name, value)
            )
        except ConfigError as error:
            wrong.append(str(error))
    if wrong:
        raise ConfigError(" ".join(wrong))
    return Limits(**read)  # type: ignore[arg-type]


@functools.cache
def server_limits() -> Limits:
    """The limits of this process, read when somebody asks for the first time."""
    return read_limits()


def _number(name: str, given: str) -> int:
    """A whole number; with KiB, MiB or GiB behind it for bytes."""
    found = re.fullmatch(r"([0-9]{1,16}) ?([KMG]iB)?", given, re.IGNORECASE | re.ASCII)
    units = UNITS if name.endswith("BYTES") else {"": 1}
    unit = (found[2] or "").upper() if found else ""
    number = int(found[1]) * units.get(unit, 0) if found else 0
    least, most = LEAST_OF.get(VARIABLES[name], 1), MOST_OF.get(VARIABLES[name], MOST)
    if found is None or not least <= number <= most:
        bound = "" if most == MOST else f" up to {most >> 20}MiB"
        such = f"64000 or {min(64, most >> 20)}MiB" if name.endswith("BYTES") else "30"
        raise ConfigError(
            f"{name}={quoted(given)} is out of range: give a whole number{bound} such as {such}."
        )
    return number


def _folder(name: str, given: str) -> Path:
    path = Path(given).expanduser().absolute()
    if path.exists() and not path.is_dir():
        raise ConfigError(f"{name}={quoted(given)} is a file: name a folder.")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigError(
            f"{name}={quoted(given)} cannot be made ({reason}): name a folder that can be written to."
        ) from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise ConfigError(f"{name}={quoted(given)} cannot be written to: name another folder.")
    return path


class Sessions:
    """Who is there. Safe to be asked from many threads.

    A session that has left makes room when the next one comes; nobody has to say goodbye.
    """

    def __init__(self, most: int, is_there: Callable[[str], bool]) -> None:
        """`is_there`: whether a browser is still connected to the session of an id."""
        self.most = most
        self._is_there = is_there
        self._entered: set[str] = set()
        self._lock = threading.Lock()

    def enter(self, session_id: str) -> bool:
        """Whether there is room for this session; once it is in it stays in."""
        with self._lock:
            if session_id not in self._entered and len(self._entered) >= self.most:
                self._entered = {other for other in self._entered if self._is_there(other)}
            if session_id not in self._entered and len(self._entered) >= self.most:
                return False
            self._entered.add(session_id)
            return True

    def check(self, session_id: str, text: Text) -> None:
        """ConfigError with a sentence if this session finds no room."""
        if not self.enter(session_id):
            raise ConfigError(text.count("limit.sessions", self.most))
