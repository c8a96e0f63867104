"""How much memory is free, where a container has less than its machine."""

import pytest
import torch

from engine.runner import memory
from engine.runner.memory import free_bytes

CPU = torch.device("cpu")
GB = 1 << 30
V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
V2 = ("memory.max", "memory.current", "inactive_file")


@pytest.fixture
def groups(tmp_path, monkeypatch):
    """A machine with 8 GiB free, and no control group yet."""
    monkeypatch.setattr(memory, "CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(memory, "OWN_CGROUPS", tmp_path / "own")
    monkeypatch.setattr(memory, "_free_host_bytes", lambda: 8 * GB)
    return tmp_path


def limit(folder, names, *, most, held, files=0):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / names[0]).write_text(f"{most}\n")
    (folder / names[1]).write_text(f"{held}\n")
    (folder / "memory.stat").write_text(f"anon {held}\n{names[2]} {files}\n")


def test_without_control_groups_it_is_what_the_machine_has(groups):
    assert free_bytes(CPU) == 8 * GB


@pytest.mark.parametrize(("names", "line"), [(V1, "4:memory:/docker/ab"), (V2, "0::/")])
def test_a_container_has_what_its_limit_leaves_and_its_files_count_as_free(groups, names, line):
    (groups / "own").write_text(f"5:cpu:/docker/ab\n{line}\n")
    root = groups / "cgroup" / ("memory" if names is V1 else "")
    limit(root, names, most=2 * GB, held=GB, files=GB // 4)
    assert free_bytes(CPU) == GB + GB // 4
    limit(root, names, most=2 * GB, held=2 * GB + 1)
    assert free_bytes(CPU) == 0
    limit(root, names, most=64 * GB, held=GB)
    assert free_bytes(CPU) == 8 * GB


def test_the_tightest_group_around_the_process_decides(groups):
    (groups / "own").write_text("0::/user/app\n")
    limit(groups / "cgroup/user/app", V2, most="max", held=GB)
    assert free_bytes(CPU) == 8 * GB
    limit(groups / "cgroup/user", V2, most=3 * GB, held=GB)
    assert free_bytes(CPU) == 2 * GB
    limit(groups / "cgroup/user/app", V2, most=GB, held=GB // 2)
    assert free_bytes(CPU) == GB // 2
