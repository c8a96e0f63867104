"""Where a branch came from: shown beside its name, and saved with it."""

from typing import Any, NamedTuple


class Origin(NamedTuple):
    """The run and the step that a branch left, and what is different in it."""

    number: int  # of the run that it left
    step: int
    settings: dict[str, Any]
    redone: bool = False  # its past was done again under these settings
    request_id: str | None = None  # the prompt that came in there
