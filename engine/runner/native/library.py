"""The C sources beside this file, compiled for this processor and loaded.

python -m engine.runner.native.library     compile now (at set-up), and say what came of it

What is compiled stands in `build/`, under a name made of the sources, the flags and the processor:
another version or another machine compiles anew. Without a compiler nothing is lost but speed.
"""

import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from engine.runner.native.structures import INTERFACE, Likeliest, Model, Step
from engine.runner.processor import processor

SOURCES = Path(__file__).parent
BUILD = SOURCES / "build"
COMPILERS = ("cc", "gcc", "clang")
FLAGS = (
    *("-std=gnu11", "-O3", "-march=native", "-pthread", "-fPIC", "-shared"),
    *("-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast"),
)
PATIENCE_S = 120


class Library(NamedTuple):
    """Loaded, or why not: one of the two is None."""

    loaded: ctypes.CDLL | None
    reason: str | None


@functools.cache
def library() -> Library:
    """Compiled on the first call if it is not there yet; a few seconds."""
    if sys.platform == "win32":
        return Library(None, "On Windows decode steps run in torch.")
    place = BUILD / f"decode-{_identity()}.so"
    reason = None if place.is_file() else _compile(place)
    if reason is not None:
        return Library(None, reason)
    try:
        loaded = ctypes.CDLL(str(place))
        version = int(loaded.interface_version())
    except (OSError, AttributeError) as error:
        return Library(None, f"Decode steps run in torch: {place.name} cannot be loaded ({error}).")
    assert version == INTERFACE, f"decode.h says {version}, structures.py {INTERFACE}"
    loaded.decode_step.argtypes = (ctypes.POINTER(Model), ctypes.POINTER(Step))
    loaded.decode_step.restype = ctypes.c_int
    loaded.likeliest.argtypes = (ctypes.POINTER(Likeliest),)
    loaded.likeliest.restype = ctypes.c_int
    return Library(loaded, None)


def _compile(place: Path) -> str | None:
    """None, or one sentence. Whole or not at all: compiled beside its place and renamed."""
    compiler = _compiler()
    if compiler is None:
        return (
            "Decode steps run in torch: there is no C compiler (cc, gcc or clang) for faster ones."
        )
    try:
        place.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent) as folder:
            found = Path(folder) / place.name
            files = [str(file) for file in _files() if file.suffix == ".c"]
            command = [compiler, *FLAGS, *files, "-o", str(found), "-lm"]
            subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE_S)
            found.replace(place)
    except subprocess.CalledProcessError as error:
        lines = [line for line in error.stderr.splitlines() if "error" in line] or ["no message"]
        return (
            f"Decode steps run in torch: {compiler} did not compile the faster ones ({lines[0]})."
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"Decode steps run in torch: the faster ones were not compiled ({error})."
    return None


def _compiler() -> str | None:
    """$CC, else the first that is there."""
    named = os.environ.get("CC")
    return next(filter(None, map(shutil.which, [named] if named else COMPILERS)), None)


def _files() -> list[Path]:
    return sorted([*SOURCES.glob("*.c"), *SOURCES.glob("*.h")])


def _identity() -> str:
    digest = hashlib.sha256()
    for file in _files():
        digest.update(file.read_bytes())
    digest.update(" ".join((*FLAGS, processor())).encode())
    return digest.hexdigest()[:16]


def main() -> int:
    found = library()
    print(found.reason or "Decode steps are compiled for this processor.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
