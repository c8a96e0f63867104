"""The runs that a visitor has side by side; a bar that hides itself while there is only one."""

from functools import partial

from views import session, weights
from views.components.piece import piece
from views.examples import EXAMPLES
from views.figures.runs_bar import RunLine
from views.figures.runs_bar import runs_bar as payload_of
from views.shelf import Kept
from views.widgets.settings import FIXED, MOVING

SENT = ("switched", "dropped", "revisited")


def runs_bar() -> None:
    """Each with a name that says what is different in it; a click turns to it.

    After a reload the browser adds those that stood there before: it has kept their links, in its tab
    alone, so that whoever is given the link of one run is not given those of the others. Of another
    example it adds the last run, for whoever came here without its link.
    """
    chosen, run = session.choices(), session.run()
    kept = chosen.shelf.kept
    sent = {f"on_{what}_change": partial(session.note, "runs", what) for what in SENT}
    lines = [_line(one) for one in kept] if run is not None else []
    payload = payload_of(lines, 0 if run is None else run.run_id, session.text())
    examples = {name: session.text().named("example", name) for name in EXAMPLES}
    about = {"example": chosen.example, "visitor": chosen.share.name, "examples": examples}
    piece("runs", payload | about, **sent)


def _line(kept: Kept) -> RunLine:
    run, origin, chosen = kept.run, kept.origin, session.choices()
    line = RunLine(run.run_id, kept.number, link=run.link)
    if origin is None:
        example, asked = session.example().config, run.asked
        own = {
            name: getattr(run.config, name)
            for name in (*MOVING, *FIXED)
            if getattr(run.config, name) != getattr(example, name)
        }
        dtype, dtypes = run.trace.header.dtype, chosen.share.loader.dtypes
        own |= {weights.FIELD: dtype} if dtype in dtypes[1:] else {}
        return line._replace(prompt=asked[0].text if asked else "", own=own)
    return line._replace(
        from_number=origin.number,
        step=origin.step,
        settings=origin.settings,
        redone=origin.redone,
        request_id=origin.request_id,
    )
