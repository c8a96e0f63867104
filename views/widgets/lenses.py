"""The lenses: one closer look at a time under the requests. More would push each other off the screen."""

from collections.abc import Callable
from functools import partial

from views import session
from views.choices import LENSES, NO_DRAFT
from views.components.piece import piece
from views.figures.batch.batch import batch
from views.figures.block.block import block_page
from views.figures.moment import Moment
from views.figures.selection import block_of
from views.figures.time.timeline import timeline
from views.figures.tree.tree import tree
from views.runs import Run
from views.text import Text
from views.widgets.kv import kv_of
from views.widgets.linked import linked
from views.widgets.why import why_lens


def lens(run: Run, moment: Moment, text: Text) -> None:
    """The chooser, and what is seen through the lens that is open."""
    name = session.choices().lens
    payload = {
        "title": text("lens.title"),
        "open": name,
        "lenses": [
            [each, text.named("lens", each), text.named("lens_hint", each)] for each in LENSES
        ],
    }
    piece("lenses", payload, on_lens_change=partial(session.note, "lenses", "lens"))
    LOOKS[name](run, moment, text)


def _tree(run: Run, moment: Moment, text: Text) -> None:
    payload = tree(moment, text, trace=run.trace, selection=session.choices().selection)
    linked("tree", payload, moment)


def _batch(run: Run, moment: Moment, text: Text) -> None:
    chosen = session.choices()
    payload = batch(
        run.trace,
        chosen.cursor,
        text,
        selection=chosen.selection,
        group_id=min(chosen.group_id, len(moment.state.groups) - 1),
    )
    linked("batch", payload, moment, "group")


def _timeline(run: Run, moment: Moment, text: Text) -> None:
    chosen = session.choices()
    selected = chosen.selection.block_id
    payload = timeline(run.trace, chosen.cursor, text, zoom=chosen.zoom, selected=selected)
    linked("timeline", payload, moment, "chosen", "zoom")


def _why(run: Run, moment: Moment, text: Text) -> None:
    chosen = session.choices()
    why_lens(run, moment, text, chosen.questions.get(chosen.example, NO_DRAFT))


def _block(run: Run, moment: Moment, text: Text) -> None:
    chosen = session.choices()
    selected = block_of(moment.state, chosen.selection)
    kv = kv_of(run, chosen.cursor, text, selected=selected, place=chosen.place)
    payload = block_page(
        run.trace, chosen.cursor, text, selected=selected, kv=kv, selection=chosen.selection
    )
    linked("block", payload, moment, "chosen", "kv")


LOOKS: dict[str, Callable[[Run, Moment, Text], None]] = {
    "tree": _tree,
    "batch": _batch,
    "timeline": _timeline,
    "why": _why,
    "block": _block,
}
