"""A whole recorded run in a few letters, so that many can be kept."""

import hashlib
import json
from collections.abc import Iterable
from typing import Any


def digest_of(lines: Iterable[dict[str, Any]]) -> str:
    """Of all steps and all their fields, also of the order of `requests`; the header is left out."""
    steps = [_in_order(line) for line in lines if line["type"] != "header"]
    content = json.dumps(steps, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def _in_order(line: dict[str, Any]) -> dict[str, Any]:
    pictures = {
        when: line[when] | {"requests": list(line[when]["requests"].items())}
        for when in ("after_schedule", "after_update")
    }
    return line | pictures
