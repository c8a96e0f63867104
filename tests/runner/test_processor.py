"""A processor is told by its model and its instructions, not by its speed of the moment."""

import platform
from pathlib import Path

import pytest

from engine.runner import processor as module
from engine.runner.processor import processor

CORE = "processor\t: 0\nmodel name\t: A7\nstepping\t: 1\ncpu MHz\t: {}\nflags\t: sse avx2\n"


@pytest.fixture
def cpuinfo(tmp_path, monkeypatch) -> Path:
    file = tmp_path / "cpuinfo"
    monkeypatch.setattr(module, "Path", lambda name: file)
    return file


@pytest.mark.parametrize("end", ["\n" + CORE.format(2000), "\n", ""])
def test_the_first_core_is_read_to_its_end_or_that_of_the_file(cpuinfo, end):
    cpuinfo.write_text(CORE.format(1800) + end)
    expected = f"{platform.machine()} {platform.processor()} model name\t: A7 flags\t: sse avx2"
    assert processor() == expected


def test_other_instructions_are_another_processor(cpuinfo):
    cpuinfo.write_text(CORE.format(1800))
    before = processor()
    cpuinfo.write_text(CORE.format(2000))
    assert processor() == before
    cpuinfo.write_text(CORE.format(2000).replace("avx2", "avx2 avx512_bf16"))
    assert processor() != before


def test_a_system_without_that_file_says_what_it_can(cpuinfo):
    assert processor().startswith(platform.machine())
