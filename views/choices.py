"""What one visitor has chosen: `session.py` keeps it, the trace holds the facts."""

from dataclasses import dataclass, field
from typing import Any

from engine.trace.state import Cursor
from views.examples import DOC_EXAMPLE
from views.figures.selection import NOTHING, Selection
from views.runs import Draft, Left, Restart

START, NO_DRAFT = Cursor(0, 0), Draft()
LENSES = ("tree", "batch", "timeline", "why", "block")


@dataclass
class Choices:
    """Plain values; whoever changes them is a function of `session.py`."""

    language: str = "en"
    example: str = DOC_EXAMPLE
    cursor: Cursor = START
    selection: Selection = NOTHING
    lens: str = LENSES[0]
    panel_is_open: bool = False
    draft: Draft = NO_DRAFT
    typed: dict[str, Any] = field(default_factory=dict)  # settings in the form, not applied yet
    left: dict[str, Left] = field(default_factory=dict)  # example -> the run that waits there
    asked: dict[str, Any] = field(default_factory=dict)  # by the browser, not done yet
    sequence: int = 0  # of the latest target that was reached
    num_cleared: int = 0  # prompts that were added, so that the form empties itself
    notices: dict[str, str] = field(default_factory=dict)  # kind -> sentence
    refused: Restart | None = None  # where waiting for ever is a way out of the error
    address_is_read: bool = False
    num_looks: int = 0  # at how far the model is
    model_is_seen: bool = False  # ready or failed, and the page was drawn with that

    def say(self, kind: str, sentence: str) -> None:
        """A new sentence takes the place of all that were said before."""
        self.notices = {kind: sentence}
