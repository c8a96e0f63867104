"""A server of the app on a free port, for what measures it from outside."""

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

ROOT = Path(__file__).parents[1]
APP, WITH_POOL = "views/serve.py", "bench/ui_serve.py"
SECONDS_TO_START = 60
MB = 2**20


class Served(NamedTuple):
    """Where it answers, and the process that does."""

    url: str
    pid: int

    @property
    def resident_mb(self) -> float:
        """What of the process lies in memory; 0 where the system does not say (all but Linux)."""
        status = Path(f"/proc/{self.pid}/status")
        if not status.exists():
            return 0.0
        fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(fields["VmRSS"].split()[0]) * 1024 / MB


@contextmanager
def server(app: str, *args: str, log: IO[bytes] | None = None) -> Iterator[Served]:
    """Freshly started, and its health check has been answered. `args` are the app's own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "views", app]
    options = [f"--server.port={port}", "--server.address=127.0.0.1", "--server.headless=true"]
    out = subprocess.DEVNULL if log is None else log
    process = subprocess.Popen([*command, *options, "--", *args], cwd=ROOT, stdout=out, stderr=out)
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_for(url)
        yield Served(url, process.pid)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:  # a machine that does other things as well
            process.kill()
            process.wait()


def _wait_for(url: str) -> None:
    until = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=1):
                return
        except OSError:
            time.sleep(0.02)
    raise SystemExit(f"the server did not answer in {SECONDS_TO_START} s")
