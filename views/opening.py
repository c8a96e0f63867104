"""What a visitor's file becomes: a run to look at, and a sentence about what of it could not be read.

The bytes come from the browser in one message, packed where they were not. They are never written
to a disk, and nothing unfolds to more than the server allows (`Limits.max_trace_bytes`).
"""

import base64
from typing import Any, NamedTuple

import msgspec

from engine.config import EngineConfig
from engine.errors import ConfigError, Sentence, SourceError
from engine.sources.mooncake import (
    BLOCK_SIZE,
    BLOCK_TOKENS,
    MAX_ROWS,
    is_mooncake,
    read_mooncake,
)
from engine.sources.recorded import open_recorded
from engine.trace.codec import encode_trace
from engine.trace.header import TraceHeader
from engine.trace.packed import unpack
from engine.trace.perfetto import encode_perfetto
from engine.trace.trace import Trace
from engine.workload import ScriptedRun
from views.branching import scripted_run
from views.examples import DOC_EXAMPLE, EXAMPLES
from views.figures.opened import in_units
from views.limits import server_limits
from views.runs import Run
from views.text import Text

MAX_NAME = 120  # characters
MAX_DRAWN_BLOCKS = 1 << 20
EXAMPLE_NAME = "doc_example.jsonl"


class Upload(NamedTuple):
    """A file as the browser sent it: perhaps its beginning alone."""

    name: str
    num_bytes: int  # of the whole file
    content: bytes
    is_cut: bool = False

    @classmethod
    def from_browser(cls, sent: Any, text: Text) -> "Upload":
        """SourceError if it is not what the page sends, ConfigError if it is too much."""
        fields = sent if isinstance(sent, dict) else {}
        name, coded = str(fields.get("name", ""))[:MAX_NAME], fields.get("content")
        num_bytes, is_cut = fields.get("num_bytes"), fields.get("is_cut") is True
        if not isinstance(coded, str) or not isinstance(num_bytes, int):
            raise SourceError(text("inspect.not_sent"))
        server_limits().check_upload(len(coded) // 4 * 3 - coded[-2:].count("="), text)
        try:
            content = base64.b64decode(coded, validate=True)
        except ValueError as error:  # also binascii.Error
            raise SourceError(text("inspect.not_sent")) from error
        return cls(name, max(0, num_bytes), content, is_cut)


class OpenedRun(Run):
    """A run from a file. `problem`: what could not be read; `remark`: what was made of the file."""

    def __init__(
        self,
        trace: Trace,
        config: EngineConfig,
        *,
        name: str,
        problem: str | None,
        remark: str = "",
    ) -> None:
        super().__init__(trace, config)
        self.name = name
        self.problem = problem
        self.remark = remark
        self.link = {"file": name}


def open_upload(upload: Upload, text: Text) -> OpenedRun:
    """SourceError, one sentence, where nothing of the file can be looked at."""
    if not upload.is_cut:
        return _opened(upload, text)
    beginning, cut = _beginning(upload, text)
    try:
        run = _opened(upload._replace(content=beginning), text)
    except SourceError as error:
        raise SourceError(text.told((cut, text.sentence(text.error(error))))) from error
    problem = text.sentence(text.said(run.problem)) if run.problem else ""
    run.problem = text.told((*filter(None, (cut, problem)),))
    return run


def _beginning(upload: Upload, text: Text) -> tuple[bytes, str]:
    """What arrived of a file, unfolded, and which limit kept its rest away.

    The page packs what is plain, so that gzip data that ends is its own doing and not the file's.
    """
    limits = server_limits()
    unfolded, damage = unpack(upload.content, limits.max_trace_bytes)
    ends = isinstance(damage, Sentence) and damage.code == "trace.gzip_ends"
    key, most = "inspect.cut_unfolded", limits.max_trace_bytes
    if ends or len(unfolded) < limits.max_trace_bytes:
        key, most = "inspect.cut", limits.max_upload_bytes
    content = unfolded if ends else upload.content
    return content, text(key, size=upload.num_bytes, most=in_units(most))


def _opened(upload: Upload, text: Text) -> OpenedRun:
    if is_mooncake(upload.content):
        return _replayed(upload, text)
    opened = open_recorded(upload.content, max_bytes=server_limits().max_trace_bytes)
    try:
        trace, config = _complete(opened.trace), opened.config
    except ConfigError as error:
        raise SourceError(text("inspect.settings", problem=text.error(error))) from error
    if config.num_blocks > MAX_DRAWN_BLOCKS:
        raise SourceError(
            text("inspect.too_many_blocks", n=config.num_blocks, most=MAX_DRAWN_BLOCKS)
        )
    return OpenedRun(trace, config, name=upload.name, problem=opened.problem)


def open_example() -> OpenedRun:
    """The documentation's example, as if its file had been opened."""
    run = scripted_run(EXAMPLES[DOC_EXAMPLE], EXAMPLES[DOC_EXAMPLE].config)
    return OpenedRun(run.trace, run.config, name=EXAMPLE_NAME, problem=None)


def _complete(trace: Trace) -> Trace:
    """The same trace with every setting in its header, as the pictures expect it."""
    config = EngineConfig.from_mapping(trace.header.config).to_mapping()
    header = msgspec.structs.replace(trace.header, config=config)
    if header.config == trace.header.config:
        return trace
    complete = Trace(header)
    complete.extend(trace.events_from(0))
    return complete


def _replayed(upload: Upload, text: Text) -> OpenedRun:
    """A Mooncake trace on the scripted engine."""
    found = read_mooncake(upload.content, max_bytes=server_limits().max_trace_bytes)
    workload = found.workload
    trace = Trace(TraceHeader(config=workload.config.to_mapping(), title="Mooncake"))
    try:
        for _ in ScriptedRun(workload, emit=trace.append).run():
            pass
    except ConfigError as error:
        raise SourceError(text("inspect.settings", problem=text.error(error))) from error
    remark = text(
        "inspect.mooncake",
        run=len(workload.requests),
        rows=found.num_rows,
        most=MAX_ROWS,
        tokens=BLOCK_TOKENS,
        block_size=BLOCK_SIZE,
        num_blocks=workload.config.num_blocks,
    )
    problem = None
    if found.problem:
        problem = text("inspect.rows_refused", problem=text.said(found.problem))
    return OpenedRun(trace, workload.config, name=upload.name, problem=problem, remark=remark)


def trace_file(trace: Trace) -> bytes:
    """For a download: the run as far as it has come, packed."""
    return encode_trace(trace, compress=True)


def perfetto_file(trace: Trace) -> bytes:
    return encode_perfetto(trace)
