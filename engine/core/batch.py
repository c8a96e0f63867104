"""The batch of a step while it is being put together."""

from engine.core.output import ScheduledRequest
from engine.core.request import Request


class Batch:
    """Rows in scheduling order, and what is left of the token budget."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.rows: dict[str, ScheduledRequest] = {}
        self.preempted: list[str] = []
        self.given_back = 0

    def unschedule(self, request: Request) -> bool:
        """Take a victim's row and tokens back, if it has any in this step."""
        row = self.rows.pop(request.request_id, None)
        if row is None:
            return False
        self.given_back = row.num_scheduled_tokens
        self.budget += row.num_scheduled_tokens
        return True
