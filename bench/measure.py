"""How a time is taken: alternating rounds, medians, and what machine it was."""

import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple


class Timing(NamedTuple):
    """When a batch was handed over, and when each token of each request was there, in seconds."""

    start_s: float
    token_times_s: list[list[float]]

    @property
    def total_s(self) -> float:
        return max(times[-1] for times in self.token_times_s) - self.start_s

    @property
    def decode_tok_s(self) -> float:
        """Tokens a second from the moment at which every request has its first token."""
        begin = max(times[0] for times in self.token_times_s)
        end = max(times[-1] for times in self.token_times_s)
        num_tokens = sum(time > begin for times in self.token_times_s for time in times)
        return num_tokens / (end - begin)

    @property
    def first_token_s(self) -> float:
        return max(times[0] for times in self.token_times_s) - self.start_s


def alternating_medians(
    contenders: Mapping[str, Callable[[], float]], *, num_rounds: int
) -> dict[str, float]:
    """Every contender once a round, the order turned by one each round, so that what slows the
    machine for a while slows them all; then the median of each."""
    names = list(contenders)
    found: dict[str, list[float]] = {name: [] for name in names}
    for number in range(num_rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            found[name].append(contenders[name]())
    return {name: statistics.median(values) for name, values in found.items()}


def cpu_name() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def machine() -> str:
    return (
        f"{cpu_name()}, {os.cpu_count()} cores; {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}"
    )


class OtherLoad:
    """How busy the rest of the machine was since this was made: what spoils a benchmark."""

    def __init__(self) -> None:
        self._began = self._busy_s()

    @staticmethod
    def _busy_s() -> tuple[float, float, float]:
        """Wall clock, CPU seconds of all processes, and of this one with its children."""
        stat = Path("/proc/stat")
        if not stat.exists():
            return time.monotonic(), 0.0, 0.0
        user, nice, system, *_ = stat.read_text(encoding="utf-8").split()[1:4]
        ticks = os.sysconf("SC_CLK_TCK")
        everyone = (int(user) + int(nice) + int(system)) / ticks
        return time.monotonic(), everyone, sum(os.times()[:4])

    def sentence(self) -> str:
        wall, everyone, ours = (
            now - then for now, then in zip(self._busy_s(), self._began, strict=True)
        )
        if everyone == 0:
            return f"{wall:.0f} s; what other processes did is not known here"
        others = max(0.0, everyone - ours) / wall
        return f"{wall:.0f} s, in which other processes used {others:.2f} cores on average"


def print_table(
    title: str, method: str, header: Sequence[str], rows: Sequence[Sequence[object]]
) -> None:
    """A title, how it was measured, and aligned columns."""
    cells = [[str(cell) for cell in row] for row in [header, *rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    print(f"\n{title}\n  {method}")
    for row in cells:
        first, *others = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  " + "  ".join([first, *others]).rstrip())


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which this share of them lies, the nearest one that was measured."""
    ordered = sorted(values)
    return ordered[round(share * (len(ordered) - 1))]


def rounded(value: float) -> float:
    """Three digits that mean something."""
    return float(f"{value:.3g}") if value < 1000 else float(round(value))
