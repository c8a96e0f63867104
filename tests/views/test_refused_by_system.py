"""What the operating system refuses is said in our words, with the name and number of its error."""

import errno
import re
from pathlib import Path

import pytest

from engine.sources.saved import SavedRuns, Space
from engine.system import REASONS, refusal_of
from tests.test_saved_runs import about, lone
from tests.views.page import load, notice
from tests.views.survival import begun, desk, step_to
from views.loading import Loader
from views.text import LANGUAGES, Text

NATIVE = {"ja": r"[\u3040-\u30ff]", "zh": r"[\u4e00-\u9fff]"}


def test_a_full_disk_has_one_sentence_in_each_language():
    refused = refusal_of(OSError(errno.ENOSPC, "No space left on device", "/srv/secret/runs"))
    assert [Text(language).said(refused) for language in LANGUAGES] == [
        f"the disk is full (ENOSPC, errno {errno.ENOSPC})",
        f"ディスクに空きがありません（ENOSPC, errno {errno.ENOSPC}）",
        f"磁盘已满（ENOSPC, errno {errno.ENOSPC}）",
    ]


@pytest.mark.parametrize("number", [*REASONS, errno.EXDEV, 99_999], ids=str)
@pytest.mark.parametrize("language", ["ja", "zh"])
def test_no_path_and_no_word_of_the_system_is_in_it(number, language):
    error = OSError(number, "The system's own words", "/srv/secret")
    said = Text(language).said(refusal_of(error))
    assert re.search(NATIVE[language], said)
    assert f"errno {number}" in said
    assert "secret" not in said
    assert "own words" not in said


def test_an_error_without_a_number_says_its_kind():
    assert refusal_of(OSError("some text with /a/path")) == "the system says OSError"
    assert refusal_of(PermissionError(errno.EACCES, "x")) == (
        f"that is not permitted (EACCES, errno {errno.EACCES})"
    )


def test_a_run_that_cannot_be_written_says_so_in_every_language(app, monkeypatch):
    step_to(begun(app, "Hello"), 0)
    monkeypatch.setattr("engine.sources.recording.Recording._append", full_disk)
    step_to(app, 2)
    saving = desk(app).run.saving
    assert "磁盘已满（ENOSPC, errno 28）" in saving.complaint(Text("zh"))
    assert "the disk is full (ENOSPC, errno 28)" in notice(load(app), "unsaved")


def full_disk(*_: object) -> int:
    raise OSError(errno.ENOSPC, "No space left on device", "/srv/secret")


def test_a_file_that_cannot_be_opened_says_so_without_a_path(tmp_path: Path, monkeypatch):
    runs = SavedRuns(tmp_path, Space())
    recording = runs.record(lone())
    recording.keep(about)
    monkeypatch.setattr("pathlib.Path.read_bytes", full_disk)
    with pytest.raises(Exception, match="the saved run cannot be read: the disk is full") as told:
        runs.open(recording.run_id)
    assert "secret" not in str(told.value)


def test_a_model_that_the_disk_refuses_says_so():
    def load_model(_: object) -> None:
        raise OSError(errno.EIO, "Input/output error", "/srv/models")

    loader = Loader(load_model)
    loader.start()
    assert loader._future is not None
    loader._future.exception(timeout=60)
    assert loader.failure == f"the disk reports a failure (EIO, errno {errno.EIO})"
