"""What tells this processor from another: what was built or measured for one is not for the other."""

import platform
from itertools import takewhile
from pathlib import Path

TELLING = ("model", "flags", "Features")  # lines of /proc/cpuinfo


def processor() -> str:
    """Its model and its instructions, as far as the system says them."""
    names = [platform.machine(), platform.processor()]
    try:
        with Path("/proc/cpuinfo").open(encoding="ascii", errors="replace") as lines:
            first_core = takewhile(str.strip, lines)
            names += [line.strip() for line in first_core if line.startswith(TELLING)]
    except OSError:
        pass
    return " ".join(names)
