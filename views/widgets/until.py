"""Run until something happens: a choice, and the way there while the engine runs."""

from functools import partial

from views import session
from views.components.piece import piece
from views.figures.time.until import until_form
from views.runs import Run

SENT = ("until", "pursued", "stopped")


def until(run: Run) -> None:
    """While the run is on its way, the browser asks for the next share once it has drawn this one."""
    chosen = session.choices()
    payload = until_form(
        run.trace,
        chosen.cursor,
        session.text(),
        request_id=chosen.selection.request_id,
        running=chosen.pursuit and chosen.pursuit.until,
    )
    payload["share"] = chosen.num_shares
    sent = {f"on_{what}_change": partial(session.note, "until", what) for what in SENT}
    piece("until", payload, **sent)
