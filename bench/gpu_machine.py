"""What a figure of a GPU needs beside it: the card, its driver, the versions, the date."""

import datetime
import importlib
import platform
import subprocess
from typing import Any

import torch

PACKAGES = ("torch", "triton", "transformers")
ASK_DRIVER = ("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0")


def facts(*, dry: bool) -> dict[str, Any]:
    now = datetime.datetime.now(datetime.UTC)
    found: dict[str, Any] = {
        "date": now.isoformat(timespec="seconds"),
        "dry": dry,
        "card": None,
        "driver": driver_version(),
        "cuda": torch.version.cuda,
        "python": platform.python_version(),
    }
    found |= {name: str(importlib.import_module(name).__version__) for name in PACKAGES}
    if not dry:
        card = torch.cuda.get_device_properties(0)
        found |= {
            "card": card.name,
            "sm": f"sm_{card.major}{card.minor}",
            "processors": card.multi_processor_count,
            "memory_gib": round(card.total_memory / 2**30, 1),
        }
    return found


def driver_version() -> str | None:
    """As the driver's own tool says it; None where there is none."""
    try:
        done = subprocess.run(ASK_DRIVER, capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def sentence(found: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {found[name]}" for name in PACKAGES)
    if found["dry"]:
        return f"a dry run on the CPU: its times mean nothing; {versions}"
    return (
        f"{found['card']} ({found['sm']}, {found['processors']} processors, {found['memory_gib']} "
        f"GiB), driver {found['driver'] or 'unknown'}, CUDA {found['cuda']}; {versions}; "
        f"{found['date']}"
    )
