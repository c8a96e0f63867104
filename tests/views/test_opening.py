"""A visitor's file: what becomes of it, and the one sentence about what cannot be read."""

import gzip
import io
import json
import os
import tempfile

import pytest

from engine.errors import ConfigError, SourceError
from engine.trace.codec import read_trace, without_times
from engine.trace.header import FORMAT_VERSION
from engine.trace.state import Cursor
from tests.trace.perfetto import read
from tests.views.runs import NAMES, WORKLOADS, golden_trace
from tests.views.uploads import TEXT, doc_file, old_doc_file, open_bytes, rows, sent
from views import opening
from views.limits import Limits
from views.opening import Upload, open_upload, perfetto_file, trace_file

GOLDEN = WORKLOADS.parent / "traces"


def lines_of(content):
    return content.splitlines(keepends=True)


def timeless(trace):
    return [without_times(event) for event in trace.events_from(0)]


def with_header(content, **fields):
    header, *rest = lines_of(content)
    return b"".join([json.dumps({**json.loads(header), **fields}).encode() + b"\n", *rest])


def with_config(content, **fields):
    config = json.loads(lines_of(content)[0])["config"]
    return with_header(content, config={**config, **fields})


def bomb(num_bytes):
    """Gzip data that unfolds to a valid header and then to blanks, a thousand times its size."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as file:
        file.write(lines_of(doc_file())[0])
        for _ in range(num_bytes >> 20):
            file.write(b" " * (1 << 20))
    return packed.getvalue()


# What a file becomes ----------------------------------------------------------------------------


@pytest.mark.parametrize("compress", [False, True], ids=["plain", "gzip"])
def test_a_whole_trace_opens_without_a_word(compress):
    run = open_bytes(doc_file(compress=compress))
    assert run.problem is None
    assert run.remark == ""
    assert run.trace.events_from(0) == golden_trace("doc_example").events_from(0)
    assert run.link == {"file": "run.jsonl"}
    assert run.live is None
    assert not run.can_go_on


@pytest.mark.parametrize("name", NAMES)
def test_what_is_downloaded_opens_again_as_it_was(name):
    trace = golden_trace(name)
    run = open_bytes(trace_file(trace))
    assert run.problem is None
    assert trace_file(run.trace) == trace_file(trace)


REFUSED = {
    "empty": (b"", "the file is empty"),
    "junk": (bytes(range(256)) * 40, "this is a binary file"),
    "foreign": (b'{"name": "x"}\n', 'its first line has no field "format"'),
    "newer": (with_header(old_doc_file(), version=FORMAT_VERSION + 1), "a newer Pagewalk"),
    "snapshots": ((GOLDEN / "doc_example.jsonl.gz").read_bytes(), "a recorded run of snapshots"),
    "unknown setting": (with_config(old_doc_file(), block_sise=4), "block_sise"),
    "wrong setting": (with_config(old_doc_file(), policy="lifo"), "fcfs, priority"),
    "huge pool": (with_config(old_doc_file(), num_blocks=3_000_000), "3,000,000 blocks"),
    "short gzip": (doc_file(compress=True)[:15], "ends too early"),
}


@pytest.mark.parametrize(("content", "says"), REFUSED.values(), ids=REFUSED)
def test_a_file_of_which_nothing_can_be_shown_gets_one_sentence(content, says):
    with pytest.raises(SourceError) as refusal:
        open_bytes(content)
    assert says in str(refusal.value)
    assert "\n" not in str(refusal.value)


PARTLY = {
    "cut": (doc_file()[:-40], "the line is cut off"),
    "cut gzip": (doc_file(compress=True)[:-200], "ends too early"),
    "ends in a step": (b"".join(lines_of(doc_file())[:20]), "ends in the middle of step 1"),
    "wrong line": (doc_file() + b"nonsense\n{}\n", "malformed"),
    "impossible": (
        b"".join(lines_of(old_doc_file())[:6]) + lines_of(old_doc_file())[5],
        "free queue",
    ),
    "bomb": (bomb(Limits().max_trace_bytes + (2 << 20)), "unpacks to more than 48 MiB"),
}


@pytest.mark.parametrize(("content", "says"), PARTLY.values(), ids=PARTLY)
def test_a_broken_file_opens_up_to_there_and_says_so(content, says):
    run = open_bytes(content)
    assert says in run.problem
    assert "\n" not in run.problem
    whole = timeless(golden_trace("doc_example"))
    assert timeless(run.trace)[: len(whole)] == whole[: run.trace.num_events]
    run.trace.at(run.trace.last)


def test_a_file_without_a_step_opens_at_its_beginning():
    run = open_bytes(lines_of(doc_file())[0])
    assert run.trace.num_steps == 0
    assert run.first_sight() == Cursor(0, 0)


def test_settings_that_a_file_leaves_out_have_vllm_s_defaults():
    few = {"block_size": 4, "num_blocks": 11, "max_num_batched_tokens": 64}
    run = open_bytes(with_header(old_doc_file(), config=few))
    assert run.trace.header.config["max_num_seqs"] == run.config.max_num_seqs
    assert run.trace.num_events == golden_trace("doc_example").num_events


def cut(content, num_bytes):
    return open_upload(Upload("run.jsonl", num_bytes, content, is_cut=True), TEXT)


def allow(monkeypatch, **limits):
    monkeypatch.setattr(opening, "server_limits", lambda: Limits(**limits))


def test_a_file_too_long_to_be_sent_says_how_long_it_is_and_what_the_server_takes(monkeypatch):
    allow(monkeypatch, max_upload_bytes=2 << 10)
    run = cut(doc_file()[:2_000], 298_124)
    assert run.problem.startswith(
        "The file has 298,124 bytes, and this server takes 2 KiB of one as it travels, packed with "
        "gzip (its PAGEWALK_MAX_UPLOAD_BYTES), so only the beginning was read. Line "
    )


def test_what_the_page_packed_and_cut_is_no_damaged_gzip(monkeypatch):
    allow(monkeypatch, max_upload_bytes=2 << 10)
    content = doc_file(compress=True)
    run = cut(content[:1_500], 298_124)
    assert run.trace.num_events > 20
    _, found = run.problem.split("so only the beginning was read. ")
    assert "gzip" not in found
    assert found.startswith("Line ")


def test_a_file_of_which_not_even_the_beginning_arrived_names_the_limit(monkeypatch):
    allow(monkeypatch, max_upload_bytes=100)
    with pytest.raises(SourceError) as refused:
        cut(doc_file(compress=True)[:100], 298_124)
    said = str(refused.value)
    assert "this server takes 100 B of one as it travels" in said
    assert "Nothing of this file can be opened" in said


def test_a_file_that_unfolds_to_too_much_names_that_limit(monkeypatch):
    allow(monkeypatch, max_trace_bytes=1536)
    run = cut(gzip.compress(doc_file()[:1536]), 298_124)
    assert (
        "this server reads 1.5 KiB of one, unpacked (its PAGEWALK_MAX_TRACE_BYTES)" in run.problem
    )


# What the browser sends -------------------------------------------------------------------------


def test_an_upload_comes_back_byte_for_byte():
    upload = Upload.from_browser(sent(bytes(range(256))), TEXT)
    assert upload == Upload("run.jsonl", 256, bytes(range(256)))


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [],
        {},
        {"content": 7, "num_bytes": 1},
        {"content": "QUJD"},
        {"content": "§§§§", "num_bytes": 4},
        {"content": "QUJ", "num_bytes": 3},
    ],
)
def test_what_no_page_sends_is_refused(wrong):
    with pytest.raises(SourceError, match="did not arrive"):
        Upload.from_browser(wrong, TEXT)


def test_more_than_may_travel_is_refused_before_it_is_decoded(monkeypatch):
    monkeypatch.setattr(opening, "server_limits", lambda: Limits(max_upload_bytes=300))
    Upload.from_browser(sent(bytes(300)), TEXT)
    with pytest.raises(
        ConfigError, match="takes 301 bytes as it travels, and this server takes 300"
    ):
        Upload.from_browser(sent(bytes(301)), TEXT)


def test_nothing_of_an_upload_is_written_to_a_disk(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    opened_for_writing = []
    real = os.open
    monkeypatch.setattr(
        os, "open", lambda *given, **more: opened_for_writing.append(given) or real(*given, **more)
    )
    open_bytes(doc_file(compress=True))
    open_bytes(rows({}))
    assert opened_for_writing == []
    assert list(tmp_path.iterdir()) == []


def test_the_downloads_are_what_their_names_say():
    trace = golden_trace("doc_example")
    assert read_trace(trace_file(trace)).trace.events_from(0) == trace.events_from(0)
    steps = [s for s in read(perfetto_file(trace)).tracks["Engine", "steps"] if s.depth == 0]
    assert [slice_.name for slice_ in steps] == [f"step {number}" for number in range(8)]
