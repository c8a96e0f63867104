"""What the weights in a second dtype take beside the first: anonymous memory of a process of its own.

    python -m bench.other_form

Linux alone: read from /proc/self/smaps_rollup, ten times a second while the second form loads.
"""

import json
import re
import subprocess
import sys
import threading
from pathlib import Path

PAIRS = (("bfloat16", "4bit"), ("4bit", "bfloat16"))
SECONDS_BETWEEN = 0.1


def anonymous_mib() -> float:
    text = Path("/proc/self/smaps_rollup").read_text(encoding="ascii")
    return int(re.search(r"^Anonymous:\s+(\d+) kB", text, re.MULTILINE)[1]) / 1024


def measure(first: str, second: str) -> dict[str, float | str]:
    """In this process, which must be new."""
    from engine.sources.live import load_beside, load_model

    loaded = load_model(dtype=first)
    before, most, is_over = anonymous_mib(), [0.0], threading.Event()

    def watch() -> None:
        while not is_over.wait(SECONDS_BETWEEN):
            most[0] = max(most[0], anonymous_mib())

    watcher = threading.Thread(target=watch)
    watcher.start()
    other = load_beside(loaded, None, dtype=second, progress=lambda stage, share: None)
    is_over.set()
    watcher.join()
    steady = anonymous_mib() - before
    return {
        "first": first,
        "second": other.dtype_name,
        "steady_mib": round(steady),
        "most_mib": round(most[0] - before),
    }


def main() -> None:
    if len(sys.argv) == 3:
        print(json.dumps(measure(*sys.argv[1:])))
        return
    for pair in PAIRS:
        subprocess.run([sys.executable, "-m", "bench.other_form", *pair], check=True)


if __name__ == "__main__":
    main()
