"""Where converted models live, and how one gets there: whole or not at all.

A model is built in a temporary folder beside its place and renamed into it, so a folder with a
stamp is complete. Of two processes that convert at once the first to rename wins, and the other
uses what it finds.
"""

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from engine.errors import SourceError
from engine.system import refusal_of

Progress = Callable[[str, float], None]  # what is going on, and how much of it is done (0 to 1)
STAMP = "pagewalk.json"
MODELS_VARIABLE = "PAGEWALK_MODELS"


def say_nothing(stage: str, fraction: float) -> None:
    """The progress of somebody who does not look."""


def models_root() -> Path:
    """The folder of converted models: $PAGEWALK_MODELS, or `models` under the repository root."""
    named = os.environ.get(MODELS_VARIABLE)
    return Path(named) if named else Path(__file__).resolve().parents[2] / "models"


def is_complete(folder: Path, stamp: dict[str, str]) -> bool:
    """Whether `folder` holds a model that was finished under the same stamp."""
    try:
        found = json.loads((folder / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(found == stamp)


def build_once(folder: Path, stamp: dict[str, str], build: Callable[[Path], None]) -> Path:
    """`folder`, after `build` has filled it if it was not complete. Raises SourceError."""
    if is_complete(folder, stamp):
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise SourceError.of(
            "model.folder",
            "the model folder {folder} cannot be written ({reason}): name another one in {variable}",
            folder=folder.parent,
            reason=refusal_of(error),
            variable=MODELS_VARIABLE,
        ) from error
    try:
        build(temporary)
        temporary.chmod(0o755)  # mkdtemp makes it private
        (temporary / STAMP).write_text(json.dumps(stamp), encoding="utf-8")
        _move_into_place(temporary, folder, stamp)
    except OSError as error:
        raise SourceError.of(
            "model.not_written",
            "the model could not be written to {folder}: {reason}",
            folder=folder,
            reason=refusal_of(error),
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return folder


def _move_into_place(temporary: Path, folder: Path, stamp: dict[str, str]) -> None:
    """Rename `temporary` to `folder`; a complete folder that another process made stays."""
    for _ in range(3):
        with contextlib.suppress(OSError):
            temporary.rename(folder)
        if is_complete(folder, stamp):
            return
        if folder.exists():  # an older conversion, or the remains of one
            outdated = Path(tempfile.mkdtemp(prefix=f".{folder.name}-old-", dir=folder.parent))
            with contextlib.suppress(OSError):
                folder.rename(outdated / folder.name)
            shutil.rmtree(outdated, ignore_errors=True)
    temporary.rename(folder)
